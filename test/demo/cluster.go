package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

const (
	clusterName = "demo"
	// clusterTimeout bounds each part of a cluster's life: its networks, its machines, its end.
	clusterTimeout = 2 * time.Minute
)

// member is a Machine of the cluster.
type member struct {
	name, version, domain string
	controlPlane          bool
}

func members() []member {
	return []member{
		{name: "demo-control-plane", version: "v1.34.2", domain: "kvm", controlPlane: true},
		{name: "demo-worker-1", version: "v1.34.2", domain: "vmware"},
		{name: "demo-worker-2", version: "v1.33.1", domain: "xenserver"},
	}
}

// domains are where machines can be: a zone of each hypervisor, with a network that the cluster makes.
func domains() []infrav1.FailureDomainSpec {
	var out []infrav1.FailureDomainSpec
	for _, name := range []string{"kvm", "vmware", "xenserver"} {
		zone := infrav1.FailureDomainZone{Name: "zone-" + name, Network: infrav1.Network{Name: clusterName + "-" + name}}
		out = append(out, infrav1.FailureDomainSpec{Name: name, Zone: zone})
	}
	return out
}

// trial is the cluster of the demo. Cluster API's own controllers do not run here: what they would write is written by the demo.
type trial struct {
	owner *clusterv1.Cluster
	infra *infrav1.CloudStackCluster
	// before is what CloudStack had before it.
	before cloudsim.Inventory
}

// applyCluster makes a cluster without machines: its networks come while the images do.
func (d *demo) applyCluster(ctx context.Context) (_ string, err error) {
	if d.trial.before, err = d.inventory(ctx); err != nil {
		return "", err
	}
	if d.trial.owner, d.trial.infra, err = d.makeCluster(ctx); err != nil {
		return "", err
	}
	var names []string
	for _, domain := range domains() {
		names = append(names, domain.Zone.Name)
	}
	return clusterName + " in " + strings.Join(names, ", "), nil
}

// cluster makes machines from the images, shows what they got, and deletes everything again.
func (d *demo) cluster(ctx context.Context) error {
	fmt.Fprintln(d.out, "\nMachines are made of them:")
	began := time.Now()
	if err := d.until(ctx, "the cluster's networks and address", d.lookAtCluster(d.trial.infra, began)); err != nil {
		return err
	}
	if err := d.provisioned(ctx, d.trial.owner, d.trial.infra); err != nil {
		return err
	}
	for _, m := range members() {
		if err := d.makeMachine(ctx, d.trial.owner, m); err != nil {
			return err
		}
	}
	if err := d.until(ctx, "the machines", d.lookAtMachines(began)); err != nil {
		return err
	}
	if err := d.tabulate(ctx); err != nil {
		return err
	}
	if d.keep {
		return nil
	}
	return d.deleteCluster(ctx, d.trial)
}

// makeCluster makes the Cluster and its infrastructure.
func (d *demo) makeCluster(ctx context.Context) (*clusterv1.Cluster, *infrav1.CloudStackCluster, error) {
	owner := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName},
		Spec: clusterv1.ClusterSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackCluster", Name: clusterName},
		},
	}
	if err := d.client.Create(ctx, owner); err != nil {
		return nil, nil, fmt.Errorf("making the Cluster: %w", err)
	}
	infra := &infrav1.CloudStackCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: clusterName, Labels: map[string]string{clusterv1.ClusterNameLabel: clusterName},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: owner.Name, UID: owner.UID}},
		},
		Spec: infrav1.CloudStackClusterSpec{IdentityRef: infrav1.IdentityReference{Name: secretName}, FailureDomains: domains()},
	}
	if err := d.client.Create(ctx, infra); err != nil {
		return nil, nil, fmt.Errorf("making the CloudStackCluster: %w", err)
	}
	return owner, infra, nil
}

// provisioned writes into the Cluster what its controller would: where the API is, and that machines may come.
func (d *demo) provisioned(ctx context.Context, owner *clusterv1.Cluster, infra *infrav1.CloudStackCluster) error {
	endpoint := infra.Spec.ControlPlaneEndpoint
	owner.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: endpoint.Host, Port: endpoint.Port}
	if err := d.client.Update(ctx, owner); err != nil {
		return fmt.Errorf("writing the endpoint into the Cluster: %w", err)
	}
	yes := true
	owner.Status.Initialization.InfrastructureProvisioned = &yes
	if err := d.client.Status().Update(ctx, owner); err != nil {
		return fmt.Errorf("writing the status of the Cluster: %w", err)
	}
	return nil
}

// makeMachine makes a Machine, its bootstrap data and its infrastructure.
func (d *demo) makeMachine(ctx context.Context, owner *clusterv1.Cluster, m member) error {
	labels := map[string]string{clusterv1.ClusterNameLabel: owner.Name}
	if m.controlPlane {
		labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	bootstrap := m.name + "-bootstrap"
	data := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: bootstrap, Labels: map[string]string{clusterv1.ClusterNameLabel: owner.Name}},
		StringData: map[string]string{"value": "#cloud-config\nhostname: " + m.name + "\n", "format": "cloud-config"},
	}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: m.name, Labels: labels},
		Spec: clusterv1.MachineSpec{
			ClusterName: owner.Name, Version: m.version, FailureDomain: m.domain, Bootstrap: clusterv1.Bootstrap{DataSecretName: &bootstrap},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "CloudStackMachine", Name: m.name},
		},
	}
	for _, o := range []client.Object{data, machine} {
		if err := d.client.Create(ctx, o); err != nil {
			return fmt.Errorf("making machine %s: %w", m.name, err)
		}
	}
	infra := &infrav1.CloudStackMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: m.name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: m.name, UID: machine.UID}},
		},
		Spec: infrav1.CloudStackMachineSpec{Offering: infrav1.OfferingReference{Minimum: &infrav1.OfferingMinimum{CPU: 1}}},
	}
	if err := d.client.Create(ctx, infra); err != nil {
		return fmt.Errorf("making the CloudStackMachine %s: %w", m.name, err)
	}
	return nil
}

// tabulate prints what became of each Machine.
func (d *demo) tabulate(ctx context.Context) error {
	machines, err := d.machines(ctx)
	if err != nil {
		return err
	}
	zones := map[string]string{}
	for _, domain := range domains() {
		zones[domain.Name] = domain.Zone.Name
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nMACHINE\tVERSION\tTEMPLATE\tOFFERING\tZONE\tVM\tADDRESS")
	for i := range machines {
		m := &machines[i]
		chosen := m.Status.Resolved
		if chosen == nil {
			return fmt.Errorf("%s is ready without having resolved anything", m.Name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, chosen.KubernetesVersion, chosen.TemplateName, chosen.OfferingName, zones[m.Status.FailureDomain],
			m.Status.InstanceID, internalIP(m))
	}
	return w.Flush()
}

func internalIP(m *infrav1.CloudStackMachine) string {
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineInternalIP {
			return a.Address
		}
	}
	return ""
}

func (d *demo) machines(ctx context.Context) ([]infrav1.CloudStackMachine, error) {
	var list infrav1.CloudStackMachineList
	if err := d.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("listing machines: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b infrav1.CloudStackMachine) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// until looks again and again until what is looked for is there. The error says what the last look saw.
func (d *demo) until(ctx context.Context, what string, look func(context.Context) (done bool, saw string, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTimeout, fmt.Errorf("waited for %s for %s", what, clusterTimeout))
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	saw := "nothing was seen yet"
	for {
		done, now, err := look(ctx)
		switch {
		case done:
			return nil
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil:
			saw = now
		}
		select {
		case <-ctx.Done():
			return d.lastWords(context.Cause(ctx), saw)
		case <-d.manager.Done():
			return fmt.Errorf("the manager ended by itself: %w", errors.Join(d.manager.Err(), errors.New(d.manager.Tail())))
		case <-tick.C:
		}
	}
}

// lastWords adds to an error what a person needs to find the cause.
func (d *demo) lastWords(err error, saw string) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w\n  %s\n\nEnd of the manager's log (all of it is in %s):\n%s", err, saw, d.dir, d.manager.Tail())
}

// progress prints what happens to objects, once for each change.
type progress struct {
	d     *demo
	began time.Time
	said  map[string]string
}

func (d *demo) progress(began time.Time) *progress {
	return &progress{d: d, began: began, said: map[string]string{}}
}

// say prints the reason of readiness if it is another one than before, and returns it with its message.
func (p *progress) say(kind string, o conditioned) string {
	ready := meta.FindStatusCondition(o.GetConditions(), infrav1.ConditionReady)
	if ready != nil && p.said[o.GetName()] != ready.Reason {
		p.said[o.GetName()] = ready.Reason
		fmt.Fprintf(p.d.out, "%6.1fs  %-18s %-24s %s\n", time.Since(p.began).Seconds(), kind, o.GetName(), ready.Reason)
	}
	return describe(o)
}
