package cloudstack_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capcat/capcat/controllers/cloudstack"
)

func TestMachineLife(t *testing.T) {
	s := newSite(t)
	n := s.vm
	n.UserData = []byte("#cloud-config\n{}\n")
	id, job, err := s.DeployVM(t.Context(), n)
	if err != nil || id == "" || job == "" {
		t.Fatalf("DeployVM() = %q, %q, %v", id, job, err)
	}
	young, err := s.VMsNamed(t.Context(), cloudstack.Owner{}, s.zone, "vm")
	if err != nil || len(young) != 1 || young[0].ID != id || young[0].Details[mark] != "me" || young[0].Job == "" {
		t.Fatalf("right after the call there is %+v, %v, want the machine with its mark and job", young, err)
	}
	s.clock.Step(time.Minute)
	v, err := s.FindVM(t.Context(), cloudstack.Owner{}, id)
	if err != nil || v.State != cloudstack.VMRunning || v.Job != "" || v.DisplayName != "ns/vm" || v.Details[mark] != "me" {
		t.Fatalf("FindVM() = %+v, %v, want it running", v, err)
	}
	if got := v.Addresses(); len(got) != 1 || len(v.NICs) != 1 || v.NICs[0].NetworkID != s.network || !v.NICs[0].Default {
		t.Errorf("addresses %v, cards %+v, want one in the network", got, v.NICs)
	}
	disks, err := s.VolumesOf(t.Context(), cloudstack.Owner{}, id)
	if err != nil || len(disks) != 1 || !disks[0].Root {
		t.Errorf("VolumesOf() = %+v, %v, want the root disk", disks, err)
	}

	job, err = s.StopVM(t.Context(), id)
	s.await(t, job, err)
	if v, err = s.FindVM(t.Context(), cloudstack.Owner{}, id); err != nil || v.State != cloudstack.VMStopped {
		t.Errorf("after a stop it is %s, %v", v.State, err)
	}
	job, err = s.StartVM(t.Context(), id)
	s.await(t, job, err)
	job, err = s.StartVM(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Step(time.Minute)
	if outcome, err := s.JobOutcome(t.Context(), job, ""); err != nil || outcome.Err == nil || outcome.Err.Kind != cloudstack.Conflict {
		t.Errorf("starting it again is %+v, %v, want Conflict", outcome, err)
	}

	job, err = s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{})
	s.await(t, job, err)
	if _, err := s.FindVM(t.Context(), cloudstack.Owner{}, id); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("the destroyed machine: %v, want NotFound", err)
	}
	if _, _, err := s.DeployVM(t.Context(), n); !cloudstack.Is(err, cloudstack.Conflict) {
		t.Errorf("deploying its name again: %v, want Conflict: a destroyed machine holds it unseen", err)
	}
	s.clock.Step(72 * time.Hour)
	if _, err := s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{}); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("destroying the expunged machine: %v, want NotFound", err)
	}
}

func TestExpungeNeedsARight(t *testing.T) {
	s := newSite(t)
	allowed, err := s.Capabilities(t.Context())
	if err != nil || allowed.MayExpunge {
		t.Fatalf("an ordinary account may %+v, %v, want no right to expunge", allowed, err)
	}
	if admin, err := s.as(t, "admin").Capabilities(t.Context()); err != nil || !admin.MayExpunge {
		t.Errorf("an administrator may %+v, %v, want the right to expunge", admin, err)
	}
	id := s.deploy(t, s.vm)
	job, err := s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{Expunge: true})
	if err != nil {
		t.Fatal(err)
	}
	s.clock.Step(time.Minute)
	outcome, err := s.JobOutcome(t.Context(), job, "destroyVirtualMachine")
	if err != nil || outcome.Err == nil || outcome.Err.Kind != cloudstack.Forbidden {
		t.Errorf("expunging without the right is %+v, %v, want Forbidden", outcome, err)
	}
	if v, err := s.FindVM(t.Context(), cloudstack.Owner{}, id); err != nil || v.State != cloudstack.VMRunning {
		t.Errorf("the machine is %s, %v, want it untouched", v.State, err)
	}
}

func TestDeployWithEverything(t *testing.T) {
	s := newSite(t)
	group, job, err := s.CreateAffinityGroup(t.Context(), cloudstack.Owner{}, cloudstack.AffinityGroup{
		Name: "apart", Type: cloudstack.HostAntiAffinity, Description: mark + "=me",
	})
	s.await(t, job, err)
	disks, err := s.DiskOfferings(t.Context(), cloudstack.Owner{}, s.zone)
	if err != nil {
		t.Fatal(err)
	}
	n := s.vm
	for _, d := range disks {
		if d.Custom {
			n.DiskOfferingID, n.DiskGiB = d.ID, 7
		}
	}
	n.Networks = []cloudstack.VMNetwork{{ID: s.network, IP: "10.1.1.77"}}
	n.RootDiskGiB, n.AffinityGroupIDs = 9, []string{group}
	id := s.deploy(t, n)

	v, err := s.FindVM(t.Context(), cloudstack.Owner{}, id)
	if diff := cmp.Diff([]string{"10.1.1.77"}, v.Addresses()); err != nil || diff != "" {
		t.Errorf("addresses: %v (-want +got):\n%s", err, diff)
	}
	volumes, err := s.VolumesOf(t.Context(), cloudstack.Owner{}, id)
	if err != nil || len(volumes) != 2 {
		t.Fatalf("VolumesOf() = %+v, %v, want two", volumes, err)
	}
	sizes := map[bool]int64{}
	var data string
	for _, d := range volumes {
		sizes[d.Root] = d.SizeBytes >> 30
		if !d.Root {
			data = d.ID
		}
	}
	if diff := cmp.Diff(map[bool]int64{true: 9, false: 7}, sizes); diff != "" {
		t.Errorf("sizes of the root disk and the other (-want +got):\n%s", diff)
	}
	members, err := s.FindAffinityGroup(t.Context(), cloudstack.Owner{}, group)
	if err != nil || len(members.VMs) != 1 || members.VMs[0] != id || members.Description != mark+"=me" {
		t.Errorf("the affinity group is %+v, %v, want the machine in it", members, err)
	}

	job, err = s.DestroyVM(t.Context(), id, cloudstack.DestroyOptions{VolumeIDs: []string{data}})
	s.await(t, job, err)
	job, err = s.DeleteAffinityGroup(t.Context(), cloudstack.Owner{}, group)
	s.await(t, job, err)
	if _, err := s.FindAffinityGroup(t.Context(), cloudstack.Owner{}, group); !cloudstack.Is(err, cloudstack.NotFound) {
		t.Errorf("the deleted group: %v, want NotFound", err)
	}
	s.clock.Step(72 * time.Hour)
	if left := s.Inventory(); len(left.Machines)+len(left.Volumes) > 0 {
		t.Errorf("left are %+v and %+v", left.Machines, left.Volumes)
	}
}

func TestTooLongUserDataTellsTheLimit(t *testing.T) {
	s := newSite(t)
	n := s.vm
	n.UserData = make([]byte, 24577)
	_, _, err := s.DeployVM(t.Context(), n)
	limit, ok := cloudstack.UserDataLimit(err)
	if !cloudstack.Is(err, cloudstack.Invalid) || !ok || limit != 32768 {
		t.Errorf("%v, limit %d, %t, want Invalid and 32768", err, limit, ok)
	}
	n.UserData = n.UserData[:24576]
	if _, _, err := s.DeployVM(t.Context(), n); err != nil {
		t.Errorf("the longest user data: %v", err)
	}
}
