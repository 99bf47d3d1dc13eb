package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/builder"
	"github.com/capcat/capcat/test/process"
	"github.com/capcat/capcat/test/stage"
)

const (
	imageBytes = 64 << 10
	version    = builder.Version
	caller     = "user"
	// makers is how many objects are made or deleted at one time.
	makers = 8
	// rampUp is left to what comes after a crew is complete, before its steady state is watched.
	rampUp = time.Minute
	// patience is how long anything may take, and for each machine.
	patience, patienceEach = 3 * time.Minute, time.Second
)

// site is a simulated CloudStack, a manager, and a namespace with a crew.
type site struct {
	account
	dir, programs, namespace string

	client   client.Client
	cloud    *stage.Cloud
	manager  *process.Process
	unpace   func() error
	complete time.Time // when the last machine was there

	pairs []builder.ClusterPair
}

// start runs the simulator and the manager and waits for the image that machines are made of.
func (s *site) start(ctx context.Context, kube *rest.Config, mirror *stage.Mirror) (err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if s.client, err = stage.NewClient(kube); err != nil {
		return err
	}
	ns := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	if err := s.client.Create(ctx, &ns); err != nil {
		return err
	}
	s.namespace = ns.Name
	if err := s.startCloud(ctx, mirror); err != nil {
		return err
	}
	kubeconfig, err := stage.ManagerAccount(ctx, kube, s.namespace)
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return err
	}
	serve, err := stage.FreeAddr()
	if err != nil {
		return err
	}
	s.manager, err = stage.StartManager(ctx, stage.ManagerOptions{
		Program: filepath.Join(s.programs, "manager"), Dir: s.dir, Kubeconfig: path, Mirror: mirror.Addr, ServeAddr: serve,
		Args: []string{"--namespace=" + s.namespace},
	})
	if err != nil {
		return err
	}
	catalog := builder.Catalog(s.namespace, "nodes", builder.DeliveredBy(infrav1.DeliveryPull))
	if err := s.client.Create(ctx, catalog); err != nil {
		return err
	}
	return s.until(ctx, "the image", func(ctx context.Context) (string, error) {
		images, err := s.images(ctx)
		if err == nil && len(images) == 0 {
			return "there is none", nil
		}
		return lacking(images), err
	})
}

// startCloud runs the simulator, in which an ordinary account may have as much as it likes.
func (s *site) startCloud(ctx context.Context, mirror *stage.Mirror) (err error) {
	s.cloud, err = stage.StartCloud(ctx, stage.CloudOptions{
		Program: filepath.Join(s.programs, "cloudsim"), Dir: s.dir, Resolve: map[string]string{stage.MirrorHost: mirror.Addr},
	})
	if err != nil {
		return err
	}
	if s.size() <= pacedMost {
		if s.cloud.URL, s.unpace, err = pace(ctx, s.cloud.URL); err != nil {
			return err
		}
	}
	settings := map[string]string{"allow.user.expunge.recover.vm": "true"}
	for _, kind := range []string{"user.vms", "volumes", "cpus", "memory", "primary.storage", "networks", "public.ips"} {
		settings["max.account."+kind] = "-1"
	}
	for name, value := range settings {
		if err := s.cloud.Set(ctx, name, value); err != nil {
			return err
		}
	}
	secret, err := s.cloud.Secret(caller, s.namespace, builder.Secret)
	if err != nil {
		return err
	}
	return s.client.Create(ctx, secret)
}

func (s *site) stop() error { return errors.Join(s.manager.Stop(), s.stopCloud()) }

func (s *site) stopCloud() error {
	if s.cloud == nil {
		return nil
	}
	err := s.cloud.Process.Stop()
	if s.unpace != nil {
		err = errors.Join(err, s.unpace())
	}
	return err
}

// create makes the clusters, then their machines, and counts.
func (s *site) create(ctx context.Context) (err error) {
	if s.clusters == 1 && s.controlPlanes == 0 {
		if s.reference, err = s.compare(ctx); err != nil {
			return err
		}
	}
	if s.founding, _, err = s.measure(ctx, s.createClusters); err != nil {
		return err
	}
	creation, calls, err := s.measure(ctx, s.createMachines)
	if err != nil {
		return err
	}
	s.complete = time.Now()
	s.creation, s.parts, s.atOnce = creation, partsOf(creation, calls), atOnce(calls)
	return nil
}

func (s *site) createClusters(ctx context.Context) error {
	for i := range s.clusters {
		p := builder.Cluster(s.namespace, fmt.Sprintf("c%d", i))
		// Its network has room for a thousand machines.
		p.Infra.Spec.Network = &infrav1.Network{Gateway: "10.8.0.1", Netmask: "255.255.252.0"}
		if err := s.client.Create(ctx, p.Owner); err != nil {
			return err
		}
		p.Adopt()
		if err := s.client.Create(ctx, p.Infra); err != nil {
			return err
		}
		s.pairs = append(s.pairs, p)
	}
	for _, p := range s.pairs {
		if err := s.until(ctx, "the cluster "+p.Infra.Name, func(ctx context.Context) (string, error) {
			err := s.client.Get(ctx, client.ObjectKeyFromObject(p.Infra), p.Infra)
			return lacking([]infrav1.CloudStackCluster{*p.Infra}), err
		}); err != nil {
			return err
		}
		yes := true
		p.Owner.Status.Initialization.InfrastructureProvisioned = &yes
		if err := s.client.Status().Update(ctx, p.Owner); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) createMachines(ctx context.Context) error {
	var making errgroup.Group
	making.SetLimit(makers)
	for _, p := range s.pairs {
		for i := range s.controlPlanes + s.workers {
			m := builder.Machine(s.namespace, p.Infra.Name, fmt.Sprintf("%s-w%d", p.Infra.Name, i))
			if i < s.controlPlanes {
				m = builder.Machine(s.namespace, p.Infra.Name, fmt.Sprintf("%s-cp%d", p.Infra.Name, i), builder.ControlPlane)
			}
			making.Go(func() error {
				if err := errors.Join(s.client.Create(ctx, m.Bootstrap), s.client.Create(ctx, m.Owner)); err != nil {
					return err
				}
				m.Adopt()
				return s.client.Create(ctx, m.Infra)
			})
		}
	}
	if err := making.Wait(); err != nil {
		return err
	}
	return s.until(ctx, "the machines", func(ctx context.Context) (string, error) {
		all, err := s.list(ctx)
		return lacking(all), err
	})
}

// rest watches the steady state.
func (s *site) rest(ctx context.Context, d time.Duration) error {
	if err := pause(ctx, min(rampUp, d)-time.Since(s.complete)); err != nil {
		return err
	}
	b, _, err := s.measure(ctx, func(ctx context.Context) error { return pause(ctx, d) })
	s.steady = float64(b.calls) / b.took.Minutes()
	return err
}

// remove deletes the machines, then the clusters, and counts.
func (s *site) remove(ctx context.Context) (err error) {
	s.removal, _, err = s.measure(ctx, func(ctx context.Context) error {
		all, err := s.list(ctx)
		if err != nil {
			return err
		}
		var deleting errgroup.Group
		deleting.SetLimit(makers)
		for i := range all {
			deleting.Go(func() error { return s.client.Delete(ctx, &all[i]) })
		}
		if err := deleting.Wait(); err != nil {
			return err
		}
		return s.until(ctx, "the end of the machines", func(ctx context.Context) (string, error) {
			all, err := s.list(ctx)
			return left(all), err
		})
	})
	if err != nil {
		return err
	}
	s.ending, _, err = s.measure(ctx, func(ctx context.Context) error {
		for _, p := range s.pairs {
			if err := s.client.Delete(ctx, p.Infra); err != nil {
				return err
			}
		}
		return s.until(ctx, "the end of the clusters", func(ctx context.Context) (string, error) {
			var all infrav1.CloudStackClusterList
			err := s.client.List(ctx, &all, client.InNamespace(s.namespace))
			return left(all.Items), err
		})
	})
	s.peak, s.peakKnown = peakMemory(s.manager.PID())
	return err
}

func (s *site) images(ctx context.Context) ([]infrav1.CloudStackImage, error) {
	var list infrav1.CloudStackImageList
	err := s.client.List(ctx, &list, client.InNamespace(s.namespace))
	return list.Items, err
}

func (s *site) list(ctx context.Context) ([]infrav1.CloudStackMachine, error) {
	var list infrav1.CloudStackMachineList
	err := s.client.List(ctx, &list, client.InNamespace(s.namespace))
	return list.Items, err
}

// until looks again and again, more seldom where a look costs more, until nothing is lacking.
func (s *site) until(ctx context.Context, what string, look func(context.Context) (lacking string, err error)) error {
	most := patience + time.Duration(s.size())*patienceEach
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("waited for %s for %s", what, most))
	defer cancel()
	tick := time.NewTicker(min(max(time.Duration(s.size())*time.Millisecond, 100*time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		saw, err := look(ctx)
		if saw == "" || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s\nend of the manager's log:\n%s", context.Cause(ctx), saw, s.manager.Tail())
		case <-s.manager.Done():
			return fmt.Errorf("the manager ended by itself: %w\n%s", s.manager.Err(), s.manager.Tail())
		case <-tick.C:
		}
	}
}

// conditioned is a pointer to an object of ours.
type conditioned[T any] interface {
	*T
	GetName() string
	GetConditions() []metav1.Condition
}

// lacking names an object that is not ready; empty when all are.
func lacking[T any, P conditioned[T]](all []T) string {
	for i := range all {
		o := P(&all[i])
		if !meta.IsStatusConditionTrue(o.GetConditions(), infrav1.ConditionReady) {
			return describe(o)
		}
	}
	return ""
}

// left names an object that is still there; empty when none is.
func left[T any, P conditioned[T]](all []T) string {
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%d are left, one is %s", len(all), describe(P(&all[0])))
}

func describe(o interface {
	GetName() string
	GetConditions() []metav1.Condition
}) string {
	c := meta.FindStatusCondition(o.GetConditions(), infrav1.ConditionReady)
	if c == nil {
		return o.GetName() + ", of which nothing is said"
	}
	return fmt.Sprintf("%s: %s: %s", o.GetName(), c.Reason, c.Message)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// peakMemory is how many MiB a process had resident at most, where the system tells.
func peakMemory(pid int) (float64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib / 1024, err == nil
		}
	}
	return 0, false
}
