package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capcat/capcat/test/stage"
)

// upgrade changes the version of the cluster, and nothing else.
func (d *demo) upgrade(ctx context.Context) error {
	_, err := d.stage.Management.Kubectl(ctx, "patch", "cluster", clusterName, "-n", namespace, "--type", "merge",
		"-p", fmt.Sprintf(`{"spec":{"topology":{"version":%q}}}`, nextVersion))
	return err
}

// tabulate prints what became of each Machine.
func (d *demo) tabulate(ctx context.Context) error {
	s, err := d.look(ctx)
	if err != nil {
		return err
	}
	nodes := map[string]*clusterv1.Machine{}
	for i := range s.machines {
		nodes[s.machines[i].Name] = &s.machines[i]
	}
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nMACHINE\tVERSION\tKUBELET\tTEMPLATE\tOFFERING\tZONE")
	for i := range s.vms {
		vm := &s.vms[i]
		node, chosen := nodes[vm.Name], vm.Status.Resolved
		if chosen == nil || node == nil || node.Status.NodeInfo == nil {
			return fmt.Errorf("%s is ready without a node, or without having resolved anything", vm.Name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", vm.Name, chosen.KubernetesVersion, node.Status.NodeInfo.KubeletVersion, chosen.TemplateName,
			chosen.OfferingName, "zone-"+vm.Status.FailureDomain)
	}
	return w.Flush()
}

// end deletes the cluster and wants CloudStack to have what it had before, but for the templates.
func (d *demo) end(ctx context.Context) error {
	fmt.Fprintln(d.out, "\nThe cluster is deleted:")
	doomed := &clusterv1.Cluster{}
	doomed.Namespace, doomed.Name = namespace, clusterName
	if err := d.stage.Client.Delete(ctx, doomed); err != nil {
		return fmt.Errorf("deleting the cluster: %w", err)
	}
	over := func(s *scene) (bool, error) { return len(s.clusters)+len(s.machines)+len(s.vms)+len(s.infra) == 0, nil }
	if err := d.watch.until(ctx, "the cluster to go", over); err != nil {
		return err
	}
	after, err := d.stage.Cloud.Inventory(ctx)
	if err != nil {
		return err
	}
	if leaks := stage.Leaks(d.before, after); leaks != "" {
		return fmt.Errorf("CloudStack has not what it had before the cluster (-), but (+):\n%s", leaks)
	}
	fmt.Fprintf(d.out, "\nCloudStack has %d machines, %d volumes, %d networks, %d public addresses and %d rules, and its %d templates.\n",
		len(after.Machines), len(after.Volumes), len(after.Networks), len(after.Addresses), len(after.Rules), len(after.Templates))
	return nil
}

// explain adds to an error what a person needs to find the cause.
func (d *demo) explain(err error) error {
	if errors.Is(err, context.Canceled) || d.stage == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	text := ""
	if s, lookErr := d.look(ctx); lookErr == nil {
		for i := range s.images {
			text += fmt.Sprintf("\n  %s: %s: %s", s.images[i].Name, phaseOf(&s.images[i]), verdict(&s.images[i]))
		}
	}
	var list clusterv1.ClusterList
	if d.stage.Client.List(ctx, &list, client.InNamespace(namespace)) == nil && len(list.Items) > 0 {
		tree, _ := d.stage.Management.Clusterctl(ctx, "describe", "cluster", clusterName, "-n", namespace, "--show-conditions", "all")
		text += "\n\n" + tree
	}
	return fmt.Errorf("%w%s\n\nThe manager's log is %s, all others are in %s", err, text, d.stage.Management.Log(stage.ManagerNamespace, stage.ManagerName), d.dir)
}
