package cloudstack

import (
	"context"

	sdk "github.com/apache/cloudstack-go/v2/cloudstack"
)

// StartVM begins to start a stopped machine. A job that fails with Conflict says that it runs already.
func (s *Session) StartVM(ctx context.Context, id string) (Job, error) {
	if err := need("startVirtualMachine", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.StartVirtualMachineResponse, error) {
		return c.VirtualMachine.StartVirtualMachine(c.VirtualMachine.NewStartVirtualMachineParams(id))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

// StopVM begins to stop a machine, never by force. While it starts, the job waits for that to end.
func (s *Session) StopVM(ctx context.Context, id string) (Job, error) {
	if err := need("stopVirtualMachine", id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.StopVirtualMachineResponse, error) {
		return c.VirtualMachine.StopVirtualMachine(c.VirtualMachine.NewStopVirtualMachineParams(id))
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}

const commandDestroy = "destroyVirtualMachine"

// DestroyOptions say what goes with a machine.
type DestroyOptions struct {
	// Expunge removes it for good at once. Ask MayExpunge first: without the right the job fails with Forbidden and the
	// machine stays.
	Expunge bool
	// VolumeIDs are data disks of the machine that go with it. All others are detached and stay.
	VolumeIDs []string
}

// DestroyVM begins to destroy a machine in whatever state it is. NotFound, from here or from the job, means that it is gone.
func (s *Session) DestroyVM(ctx context.Context, id string, o DestroyOptions) (Job, error) {
	if err := need(commandDestroy, id); err != nil {
		return "", err
	}
	got, err := invoke(ctx, s, func(c *sdk.CloudStackClient) (*sdk.DestroyVirtualMachineResponse, error) {
		p := c.VirtualMachine.NewDestroyVirtualMachineParams(id)
		if o.Expunge {
			p.SetExpunge(true)
		}
		if len(o.VolumeIDs) > 0 {
			p.SetVolumeids(o.VolumeIDs)
		}
		return c.VirtualMachine.DestroyVirtualMachine(p)
	})
	if err != nil {
		return "", err
	}
	return Job(got.JobID), nil
}
