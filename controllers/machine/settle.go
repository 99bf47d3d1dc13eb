package machine

import (
	"context"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/internal/step"
)

// settle shows the running VM to Cluster API: providerID first, because provisioned counts only with it.
func (r *Reconciler) settle(ctx context.Context, s *scope) error {
	if err := s.noteDisks(ctx); err != nil {
		return err
	}
	if !s.provisioned() {
		if err := s.saveProviderID(ctx); err != nil {
			return err
		}
	}
	yes := true
	st := &s.m.Status
	st.Initialization.Provisioned, st.Addresses, st.Refusals = &yes, addressesOf(s), nil
	if s.vm.State == "Migrating" {
		return &step.Waiting{Reason: infrav1.ReasonReady, Message: "the VM moves to another host and runs on"}
	}
	return &step.Waiting{Reason: infrav1.ReasonReady, Message: "the VM " + s.vm.ID + " runs"}
}

// saveProviderID writes spec.providerID, the one field of the spec that is ours.
func (s *scope) saveProviderID(ctx context.Context) error {
	return s.saver.Spec(ctx, s.m, func(m *infrav1.CloudStackMachine) { m.Spec.ProviderID = infrav1.ProviderID(s.vm.ID) })
}

// addressesOf lists the addresses of all cards, those of the default card first, and the host name.
func addressesOf(s *scope) []clusterv1.MachineAddress {
	out := []clusterv1.MachineAddress{{Type: clusterv1.MachineHostName, Address: s.vm.Name}}
	for _, ip := range s.vm.Addresses() {
		out = append(out, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: ip})
	}
	return out
}

// ownDiskPrefix begins the names that CloudStack gives to data disks that it makes with a VM.
const ownDiskPrefix = "DATA-"

// noteDisks records the data disk that was made with the VM: it goes with it. Whatever is attached later, such as the volumes
// of a CSI driver, has other names and stays.
func (s *scope) noteDisks(ctx context.Context) error {
	st := &s.m.Status
	if len(st.VolumeIDs) > 0 || isTrue(st.Initialization.Provisioned) {
		return nil // it was looked for once, and somebody may have taken it away
	}
	var err error
	st.VolumeIDs, err = s.ownDisks(ctx, s.vm.ID)
	return err
}

// ownDisks lists the data disks that were made with a VM, of the offering that the machine asks for.
func (s *scope) ownDisks(ctx context.Context, vmID string) ([]string, error) {
	id, name := s.diskOffering()
	if id+name == "" {
		return nil, nil
	}
	volumes, err := s.session.VolumesOf(ctx, s.place.owner, vmID)
	if err != nil {
		return nil, apiFailure("listing the disks of the VM", err)
	}
	var ids []string
	for _, v := range volumes {
		same := id != "" && strings.EqualFold(v.OfferingID, id) || id == "" && v.OfferingName == name
		if !v.Root && same && !v.Removed() && strings.HasPrefix(v.Name, ownDiskPrefix) {
			ids = append(ids, v.ID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// diskOffering is that of the data disk by id, or by name while nothing is resolved; empty when there is to be none.
func (s *scope) diskOffering() (id, name string) {
	if res := s.m.Status.Resolved; res != nil {
		return res.DiskOfferingID, ""
	}
	if ref := s.m.Spec.DataDisk(); ref != nil {
		return ref.ID, ref.Name
	}
	return "", ""
}
