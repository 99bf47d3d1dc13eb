package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// maxInventory bounds an answer of the simulator, in bytes.
const maxInventory = 16 << 20

// lookAtCluster waits for the cluster's infrastructure.
func (d *demo) lookAtCluster(infra *infrav1.CloudStackCluster, began time.Time) func(context.Context) (bool, string, error) {
	p := d.progress(began)
	return func(ctx context.Context) (bool, string, error) {
		if err := d.client.Get(ctx, client.ObjectKeyFromObject(infra), infra); err != nil {
			return false, "", fmt.Errorf("reading the CloudStackCluster: %w", err)
		}
		saw := p.say("CloudStackCluster", infra)
		return meta.IsStatusConditionTrue(infra.Status.Conditions, infrav1.ConditionReady) && infra.Spec.ControlPlaneEndpoint.Host != "", saw, nil
	}
}

// lookAtMachines waits for all machines to be ready.
func (d *demo) lookAtMachines(began time.Time) func(context.Context) (bool, string, error) {
	p := d.progress(began)
	return func(ctx context.Context) (bool, string, error) {
		machines, err := d.machines(ctx)
		if err != nil {
			return false, "", err
		}
		var saw []string
		ready := 0
		for i := range machines {
			conditions := machines[i].Status.Conditions
			saw = append(saw, p.say("CloudStackMachine", &machines[i]))
			if meta.IsStatusConditionTrue(conditions, infrav1.ConditionReady) {
				ready++
			}
		}
		return ready == len(members()), strings.Join(saw, "\n  "), nil
	}
}

// deleteCluster deletes in the order of Cluster API, machines first, and looks at what is left.
func (d *demo) deleteCluster(ctx context.Context, t trial) error {
	fmt.Fprintln(d.out, "\nThe cluster is deleted:")
	began := time.Now()
	mine := []client.DeleteAllOfOption{client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: t.owner.Name}}
	if err := d.client.DeleteAllOf(ctx, &infrav1.CloudStackMachine{}, mine...); err != nil {
		return fmt.Errorf("deleting the machines: %w", err)
	}
	if err := d.until(ctx, "the machines to go", d.lookAtEnd(&infrav1.CloudStackMachineList{})); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%6.1fs  the machines are gone\n", time.Since(began).Seconds())
	if err := d.client.DeleteAllOf(ctx, &clusterv1.Machine{}, mine...); err != nil {
		return fmt.Errorf("deleting the Machines: %w", err)
	}
	if err := d.client.Delete(ctx, t.infra); err != nil {
		return fmt.Errorf("deleting the CloudStackCluster: %w", err)
	}
	if err := d.until(ctx, "the cluster to go", d.lookAtEnd(&infrav1.CloudStackClusterList{})); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%6.1fs  the networks are gone\n", time.Since(began).Seconds())
	if err := d.client.Delete(ctx, t.owner); err != nil {
		return fmt.Errorf("deleting the Cluster: %w", err)
	}
	return d.compareInventories(ctx, t.before)
}

// lookAtEnd waits until there are no more objects of a kind.
func (d *demo) lookAtEnd(list client.ObjectList) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		if err := d.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return false, "", fmt.Errorf("listing what is left: %w", err)
		}
		n := meta.LenList(list)
		saw := fmt.Sprintf("%d are left", n)
		err := meta.EachListItem(list, func(o runtime.Object) error {
			if left, ok := o.(conditioned); ok {
				saw += "\n  " + describe(left)
			}
			return nil
		})
		return n == 0, saw, err
	}
}

// conditioned is an object of ours.
type conditioned interface {
	GetName() string
	GetConditions() []metav1.Condition
}

// describe says how ready an object is.
func describe(o conditioned) string {
	ready := meta.FindStatusCondition(o.GetConditions(), infrav1.ConditionReady)
	if ready == nil {
		return o.GetName() + ": nothing has been said about it"
	}
	return o.GetName() + ": " + ready.Reason + ": " + ready.Message
}

// inventory is what the simulator says that its users have.
func (d *demo) inventory(ctx context.Context) (cloudsim.Inventory, error) {
	var in cloudsim.Inventory
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.cloud.Control+"/inventory", nil)
	if err != nil {
		return in, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return in, fmt.Errorf("asking for the inventory: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxInventory)).Decode(&in); err != nil {
		return in, fmt.Errorf("reading the inventory: %w", err)
	}
	return in, nil
}

// compareInventories wants what was there before the cluster, and nothing else but templates.
func (d *demo) compareInventories(ctx context.Context, before cloudsim.Inventory) error {
	after, err := d.inventory(ctx)
	if err != nil {
		return err
	}
	ofTemplates := func(t cloudsim.InventoryTag) bool { return t.ResourceType == "Template" }
	before.Tags, after.Tags = slices.DeleteFunc(before.Tags, ofTemplates), slices.DeleteFunc(after.Tags, ofTemplates)
	if diff := cmp.Diff(before, after, cmpopts.IgnoreFields(cloudsim.Inventory{}, "Now", "Jobs", "Templates"), cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("CloudStack has not what it had before the cluster (-), but (+):\n%s", diff)
	}
	fmt.Fprintf(d.out, "\nCloudStack has %d machines, %d volumes, %d networks, %d public addresses and %d rules, and its %d templates. Done.\n",
		len(after.Machines), len(after.Volumes), len(after.Networks), len(after.Addresses), len(after.Rules), len(after.Templates))
	return nil
}
