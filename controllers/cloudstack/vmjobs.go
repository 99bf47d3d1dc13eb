package cloudstack

import (
	"context"
)

// vmOutcomes tells for jobs that are no longer open how they ended, as far as a listing of the machines shows it. What it
// does not show is left to be asked for job by job.
func (s *Session) vmOutcomes(ctx context.Context, ended map[Job]watch) map[Job]Outcome {
	byOwner := map[Owner][]Job{}
	for job, w := range ended {
		if w.subject != nil {
			byOwner[w.subject.owner] = append(byOwner[w.subject.owner], job)
		}
	}
	out := map[Job]Outcome{}
	for owner, jobs := range byOwner {
		o := s.vms.of(owner)
		if pages := o.pages(); pages > 2*len(jobs) {
			continue
		}
		got, err := s.vms.fresh(ctx, o, func(listing) bool { return false })
		if err != nil {
			continue
		}
		states := make(map[string]VM, len(got.vms))
		for _, v := range got.vms {
			states[v.ID] = v
		}
		for _, job := range jobs {
			v, found := states[ended[job].subject.id]
			if reached(ended[job].command, job, v, found) {
				out[job] = Outcome{State: JobSucceeded}
			}
		}
	}
	return out
}

// pages is how many calls the last listing took.
func (o *ownerVMs) pages() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return 1 + len(o.last.vms)/pageSize
}

// reached tells whether a machine is in the state that a job should bring it to.
func reached(command string, job Job, v VM, found bool) bool {
	if found && v.Job == job {
		return false
	}
	switch command {
	case "deployVirtualMachine", "startVirtualMachine":
		return found && v.State == VMRunning
	case "stopVirtualMachine":
		return found && v.State == VMStopped
	case commandDestroy:
		return !found || v.State.Removed()
	}
	return false
}
