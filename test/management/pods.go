package management

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/capcat/capcat/test/process"
)

const (
	defaultGrace = 30 * time.Second
	// firstRestart doubles with each failure up to lastRestart; a process that lived for a while starts anew at once.
	firstRestart = 500 * time.Millisecond
	lastRestart  = 10 * time.Second
	livedLong    = 30 * time.Second
	probeTimeout = time.Second
	// failureThreshold is how many probes must fail in a row.
	failureThreshold = 3
)

// pods are the processes of all Deployments.
type pods struct {
	cluster  *Cluster
	programs map[string]Program
	address  string // of this machine, where Services lead to
	proxy    string // URL of what leads to Services
	ended    chan event.GenericEvent
	closed   chan struct{}
	mu       sync.Mutex
	all      map[client.ObjectKey]*pod
}

func newPods(c *Cluster, programs map[string]Program, address, proxy string) *pods {
	return &pods{
		cluster: c, programs: programs, address: address, proxy: proxy, all: map[client.ObjectKey]*pod{},
		ended: make(chan event.GenericEvent), closed: make(chan struct{}),
	}
}

// pod is the process of one Deployment. Its reconciler alone changes it; the process may be killed by others.
type pod struct {
	key     client.ObjectKey
	dir     string
	program Program
	// ports are those of this machine by those of the container, and named are the latter by name.
	ports map[int32]int32
	named map[string]int32
	// mounts are folders of this machine by paths of the container.
	mounts map[string]string
	probe  string // URL that answers 200 when the pod is ready
	renew  time.Time

	process    atomic.Pointer[process.Process]
	uid        types.UID
	generation int64
	since      time.Time // start or end of the process
	failures   int
	counted    bool // the end of the process is among the failures
	misses     int  // probes that failed in a row since the process was ready; negative before that
}

// program returns what to run for which container.
func (p *pods) program(containers []corev1.Container) (Program, *corev1.Container, error) {
	for i := range containers {
		c := &containers[i]
		if c.Name != containerName {
			continue
		}
		name, _, _ := strings.Cut(c.Image[strings.LastIndex(c.Image, "/")+1:], ":")
		name, _, _ = strings.Cut(name, "@")
		program, ok := p.programs[name]
		if !ok {
			return Program{}, nil, fmt.Errorf("no program stands in for the image %q", c.Image)
		}
		return program, c, nil
	}
	return Program{}, nil, fmt.Errorf("no container is named %q", containerName)
}

// of returns the pod of a Deployment with the ports and mounts that its container has now.
func (p *pods) of(d *appsv1.Deployment, c *corev1.Container, program Program) (*pod, error) {
	key := client.ObjectKeyFromObject(d)
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[key]
	if one == nil {
		one = &pod{key: key, dir: filepath.Join(p.cluster.Dir, "pods", fileName(key)), ports: map[int32]int32{}}
		p.all[key] = one
	}
	one.program, one.named, one.mounts = program, map[string]int32{}, map[string]string{}
	for _, port := range c.Ports {
		one.named[port.Name] = port.ContainerPort
		if one.ports[port.ContainerPort] == 0 {
			free, err := program.port(port.Name)
			if err != nil {
				return nil, err
			}
			one.ports[port.ContainerPort] = free
		}
	}
	for _, m := range c.VolumeMounts {
		one.mounts[filepath.Clean(m.MountPath)] = filepath.Join(one.volume(m.Name), m.SubPath)
	}
	one.probe = one.readiness(c)
	return one, nil
}

func (p Program) port(name string) (int32, error) {
	if fixed := p.Ports[name]; fixed != 0 {
		return fixed, nil
	}
	port, err := process.FreePort()
	return int32(port), err
}

func (p *pods) find(key client.ObjectKey) *pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[key]
}

// launch starts the process, and has the reconciler woken when it ends.
func (p *pods) launch(ctx context.Context, one *pod, d *appsv1.Deployment, c *corev1.Container, env map[string]string) error {
	grace := defaultGrace
	if s := d.Spec.Template.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	started, err := process.Start(ctx, process.Spec{
		Name: one.key.String(), Path: one.program.Path, Args: append(one.arguments(c, env), one.program.Args...),
		Env: slices.Concat(proxied(p.proxy), assignments(env), one.program.Env), Log: p.cluster.log(fileName(one.key)), Append: true, Grace: grace,
	})
	if err != nil {
		return err
	}
	one.process.Store(started)
	one.uid, one.generation, one.since, one.counted = d.UID, d.Generation, time.Now(), false
	one.misses = -1
	go func() {
		<-started.Done()
		select {
		case p.ended <- event.GenericEvent{Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}}:
		case <-p.closed:
		}
	}()
	return nil
}

func fileName(key client.ObjectKey) string { return key.Namespace + "." + key.Name }

// remove stops the process of a Deployment that is gone or scaled to nothing.
func (p *pods) remove(key client.ObjectKey) error {
	p.mu.Lock()
	one := p.all[key]
	delete(p.all, key)
	p.mu.Unlock()
	if one == nil {
		return nil
	}
	return errors.Join(one.process.Load().Stop(), os.RemoveAll(one.dir))
}

// stop ends all processes at once, and waits for them.
func (p *pods) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		return nil
	}
	errs := make([]error, len(p.all))
	var all sync.WaitGroup
	i := 0
	for _, one := range p.all {
		slot := &errs[i]
		i++
		all.Go(func() { *slot = one.process.Load().Stop() })
	}
	all.Wait()
	close(p.closed)
	p.all = nil
	return errors.Join(errs...)
}

func (p *pod) volume(name string) string { return filepath.Join(p.dir, "volumes", name) }

func (p *pod) alive() bool {
	running := p.process.Load()
	if running == nil {
		return false
	}
	select {
	case <-running.Done():
		return false
	default:
		return true
	}
}

// replaceIfStale stops a process that another template, or another Deployment of the name, asked for.
func (p *pod) replaceIfStale(d *appsv1.Deployment) error {
	if p.process.Load() == nil || (p.uid == d.UID && p.generation == d.Generation) {
		return nil
	}
	err := p.process.Load().Stop()
	p.process.Store(nil)
	p.failures = 0
	return err
}

// bury counts the end of a process that nobody asked for. The next one gets other ports: where they cannot be kept, somebody may have
// taken one.
func (p *pod) bury() {
	if p.process.Load() == nil || p.counted {
		return
	}
	if time.Since(p.since) > livedLong {
		p.failures = 0
	}
	p.failures++
	p.since, p.counted = time.Now(), true
	clear(p.ports)
}

// restartIn is how long to wait before a process that ended is started again.
func (p *pod) restartIn() time.Duration {
	if p.failures == 0 {
		return 0
	}
	pause := min(firstRestart<<min(p.failures-1, 10), lastRestart)
	return pause - time.Since(p.since)
}

func (p *pod) lastWords() string {
	return fmt.Sprintf("the container ended: %v; it is started again", p.process.Load().Err())
}

// ready tells whether the process is ready. One that was is forgiven some late answers, as by the kubelet.
func (p *pod) ready(ctx context.Context) bool {
	switch {
	case p.ask(ctx):
		p.misses = 0
	case p.misses >= 0:
		p.misses++
	}
	return p.misses >= 0 && p.misses < failureThreshold
}

// ask tells whether the process says that it is ready.
func (p *pod) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.probe, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
