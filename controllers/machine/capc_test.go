package machine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/cloudstack"
)

// specs of machines with the field names of Cluster API Provider CloudStack.
const (
	peerPlain = `
offering: {id: "", name: Small Instance}
template: {id: "", name: node}
sshKey: ""
diskOffering: {customSizeInGB: 0, mountPath: "", device: "", filesystem: "", label: ""}
affinity: ""
failureDomainName: ""
name: anything
id: something
`
	peerEverything = `
offering: {name: Small Instance}
template: {name: node}
sshKey: Admin
diskOffering: {name: Custom, customSizeInGB: 12, mountPath: /data, device: /dev/vdb, filesystem: ext4, label: data}
details: {rootdisksize: "40", memoryOvercommitRatio: "1.2"}
networks:
- name: net-zone-a
- {name: storage, ip: 10.77.0.9}
affinityGroupIDs: [GROUP]
failureDomainName: fd-zone-a
uncompressedUserData: true
`
)

// TestMachinesOfCAPCAreDeployed: the fields mean what they meant there.
func TestMachinesOfCAPCAreDeployed(t *testing.T) {
	rows := map[string]struct {
		text string
		want func(*testing.T, *world, *infrav1.CloudStackMachine, cloudstack.VM)
	}{
		"plain": {peerPlain, func(t *testing.T, w *world, cm *infrav1.CloudStackMachine, vm cloudstack.VM) {
			if vm.Name != "worker" || len(vm.NICs) != 1 || len(cm.Status.VolumeIDs) != 0 || len(w.Sim.Inventory().Volumes) != 1 {
				t.Errorf("VM %+v, volumes %v", vm, w.Sim.Inventory().Volumes)
			}
		}},
		"everything": {peerEverything, func(t *testing.T, w *world, cm *infrav1.CloudStackMachine, vm cloudstack.VM) {
			if len(vm.NICs) != 2 || vm.NICs[0].NetworkName != "net-zone-a" || vm.NICs[1].IP != "10.77.0.9" {
				t.Errorf("cards %+v", vm.NICs)
			}
			if len(cm.Status.VolumeIDs) != 1 {
				t.Errorf("data disks %v, want one", cm.Status.VolumeIDs)
			}
			if vm.Details["SSH.KeyPairNames"] == "" || cm.Status.Resolved.FailureDomain != "fd-zone-a" {
				t.Errorf("details %v, failure domain %s", vm.Details, cm.Status.Resolved.FailureDomain)
			}
			if diff := cmp.Diff(cm.Spec.AffinityGroupIDs, cm.Status.Resolved.AffinityGroupIDs); diff != "" {
				t.Errorf("affinity groups (-asked +resolved):\n%s", diff)
			}
			volumes, err := w.cloud.VolumesOf(t.Context(), cloudstack.Owner{}, vm.ID)
			w.Must(err)
			for _, v := range volumes {
				if want := map[bool]int64{true: 40 << 30, false: 12 << 30}[v.Root]; v.SizeBytes != want {
					t.Errorf("disk %+v, want %d bytes", v, want)
				}
			}
		}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Call(caller, "registerSSHKeyPair", "name", "admin", "publickey", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJq0 me")
			storage := w.networkAt("storage", "10.77.0.1")
			group, _, err := w.cloud.CreateAffinityGroup(t.Context(), cloudstack.Owner{}, cloudstack.AffinityGroup{Name: "mine", Type: cloudstack.HostAntiAffinity})
			w.Must(err)
			w.Clock.Step(time.Minute)
			m := w.start(w.Client)
			cm := w.machine("worker", infra(func(s *infrav1.CloudStackMachineSpec) {
				*s = infrav1.CloudStackMachineSpec{}
				w.Must(yaml.UnmarshalStrict([]byte(strings.ReplaceAll(row.text, "GROUP", group)), s))
			}))
			got := m.Drive(cm, ready)
			vm, err := w.cloud.FindVM(t.Context(), cloudstack.Owner{}, got.Status.InstanceID)
			w.Must(err)
			row.want(t, w, got, vm)
			m.delete(cm)
			w.wantVMs(0)
			if _, err := w.cloud.FindAffinityGroup(t.Context(), cloudstack.Owner{}, group); err != nil {
				t.Errorf("the group of others: %v", err)
			}
			if _, err := w.cloud.FindNetwork(t.Context(), cloudstack.Owner{}, storage); err != nil {
				t.Errorf("the network of others: %v", err)
			}
		})
	}
}

// networkAt makes a network with a gateway.
func (w *world) networkAt(name, gateway string) string {
	w.T.Helper()
	all, err := w.cloud.NetworkOfferings(w.T.Context(), w.zones["zone-a"])
	w.Must(err)
	at := slices.IndexFunc(all, func(o cloudstack.NetworkOffering) bool {
		return o.Name == "DefaultIsolatedNetworkOfferingWithSourceNatService"
	})
	id, err := w.cloud.CreateNetwork(w.T.Context(), cloudstack.NewNetwork{
		Name: name, DisplayText: name, ZoneID: w.zones["zone-a"], OfferingID: all[at].ID, Gateway: gateway, Netmask: "255.255.255.0",
	})
	w.Must(err)
	return id
}
