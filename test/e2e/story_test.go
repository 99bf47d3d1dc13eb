package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/apache/cloudstack-go/v2/cloudstack"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/builder"
	"github.com/capcat/capcat/test/controlplane"
	"github.com/capcat/capcat/test/process"
	"github.com/capcat/capcat/test/scratch"
	"github.com/capcat/capcat/test/stage"
)

var plane controlplane.Shared

// images is how many versions TestManyImages wants in each of three zones.
var images = flag.Int("images", 20, "how many images TestManyImages brings into each zone")

func TestMain(m *testing.M) {
	flag.Parse()
	folder, err := scratch.Take("capcat-catalogs")
	if err == nil {
		err = buildPrograms(folder.Path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The stories wait for others most of the time, so more of them run at once than there are cores.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := plane.Run(m)
	if err := folder.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// buildPrograms builds what the stories run and tells them where it is.
func buildPrograms(dir string) error {
	if err := stage.Build(context.Background(), dir, "manager", "cloudsim"); err != nil {
		return err
	}
	return os.Setenv(programsEnv, dir)
}

const programsEnv = "CAPCAT_E2E_PROGRAMS"

func program(name string) string { return filepath.Join(os.Getenv(programsEnv), name) }

// story is a namespace with a mirror, a cloud and a manager of its own.
type story struct {
	t          *testing.T
	dir        string
	namespace  string
	kubeconfig string
	serveAddr  string
	client     client.Client
	mirror     *stage.Mirror
	cloud      *stage.Cloud
	manager    *process.Process
	caller     string
}

const (
	contentBytes = 64 << 10
	patience     = 5 * time.Minute // how long a story waits for what must come: what was cut by a kill is tried again after pauses
)

// begin sets the stage with the files on the mirror and the keys of a caller of the simulator, and ends everything with the test.
func begin(t *testing.T, caller string, files []stage.File) *story {
	t.Helper()
	t.Parallel()
	s := &story{t: t, caller: caller, dir: t.TempDir(), namespace: plane.Namespace(t)}
	var err error
	s.client, err = stage.NewClient(plane.Config(t))
	s.must(err)
	account, err := stage.ManagerAccount(t.Context(), plane.Config(t), s.namespace)
	s.must(err)
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	s.must(os.WriteFile(s.kubeconfig, account, 0o600))
	www := filepath.Join(s.dir, "images")
	_, err = stage.MakeImages(www, contentBytes, files)
	s.must(err)
	s.mirror, err = stage.StartMirror(www, 0)
	s.must(err)
	t.Cleanup(func() { _ = s.mirror.Stop() })
	s.serveAddr, err = stage.FreeAddr()
	s.must(err)
	s.cloud, err = stage.StartCloud(t.Context(), stage.CloudOptions{
		Program: program("cloudsim"), Dir: s.dir,
		Resolve: map[string]string{stage.MirrorHost: s.mirror.Addr, stage.ServeHost: s.serveAddr},
	})
	s.must(err)
	t.Cleanup(func() { _ = s.cloud.Process.Stop() })
	// As an operator may who has small images: CloudStack looks at uploads every other second, and the manager waits accordingly.
	s.must(s.cloud.Set(t.Context(), "upload.monitoring.interval", "2"))
	s.must(s.cloud.Restart(t.Context()))
	secret, err := s.cloud.Secret(caller, s.namespace, builder.Secret)
	s.must(err)
	s.must(s.client.Create(t.Context(), secret))
	s.startManager()
	t.Cleanup(s.end)
	return s
}

func (s *story) startManager() {
	s.t.Helper()
	var err error
	s.manager, err = stage.StartManager(s.t.Context(), stage.ManagerOptions{
		Program: program("manager"), Dir: s.dir, Kubeconfig: s.kubeconfig, Mirror: s.mirror.Addr, ServeAddr: s.serveAddr,
		Args: []string{"--namespace=" + s.namespace, "--cloudstack-qps=100", "--cloudstack-burst=100", "--image-upload-patience=10s"},
	})
	s.must(err)
}

// kill ends the manager as a power failure would.
func (s *story) kill() {
	s.t.Helper()
	s.must(syscall.Kill(s.manager.PID(), syscall.SIGKILL))
	<-s.manager.Done()
}

func (s *story) end() {
	if s.t.Failed() {
		s.t.Logf("end of the manager's log:\n%s", s.manager.Tail())
		s.t.Logf("end of the simulator's log:\n%s", s.cloud.Process.Tail())
	}
	if err := s.manager.Stop(); err != nil {
		s.t.Errorf("stopping the manager: %v", err)
	}
}

func (s *story) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// eventually looks again and again until nothing is wrong any more.
func (s *story) eventually(what string, wrong func(ctx context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience+time.Duration(*images)*2*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := wrong(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil { // what was cut by the deadline tells nothing
			last = err
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s: %v", what, last)
		case <-s.manager.Done():
			s.t.Fatalf("%s: the manager ended by itself: %v", what, s.manager.Err())
		case <-tick.C:
		}
	}
}

func (s *story) images(ctx context.Context) ([]infrav1.CloudStackImage, error) {
	var list infrav1.CloudStackImageList
	err := s.client.List(ctx, &list, client.InNamespace(s.namespace))
	return list.Items, err
}

// templates are those of the account, as another client than ours sees them.
func (s *story) templates() []*cloudstack.Template {
	s.t.Helper()
	keys := s.cloud.Keys[s.caller]
	cs := cloudstack.NewClient(s.cloud.URL, keys[0], keys[1], true, cloudstack.WithHTTPClient(&http.Client{Timeout: time.Minute}))
	var all []*cloudstack.Template
	for page := 1; ; page++ {
		params := cs.Template.NewListTemplatesParams("self")
		params.SetPagesize(500)
		params.SetPage(page)
		got, err := cs.Template.ListTemplates(params)
		s.must(err)
		all = append(all, got.Templates...)
		if len(got.Templates) < 500 {
			return all
		}
	}
}

// matches tells what is wrong between the ready images and the templates of the account: exactly one ready template for each image,
// and none that no image knows of. What a killed upload has left stays listed until CloudStack gives the upload up after an hour.
func (s *story) matches(ctx context.Context, want int) error {
	imgs, err := s.images(ctx)
	if err != nil {
		return err
	}
	var used, known []string
	for _, img := range imgs {
		if img.Status.Progress == nil || img.Status.Progress.Phase != infrav1.PhaseReady {
			return fmt.Errorf("%s is not ready: %w", img.Name, describe(&img))
		}
		used = append(used, img.Status.TemplateID)
		known = append(known, img.Status.Leftovers...)
	}
	if len(imgs) != want {
		return fmt.Errorf("there are %d images, want %d", len(imgs), want)
	}
	var ready []string
	for _, t := range s.templates() {
		switch {
		case t.Isready:
			ready = append(ready, t.Id)
		case !slices.Contains(known, t.Id):
			return fmt.Errorf("template %s (%s) is not ready, and no image knows of it: %s", t.Id, t.Name, t.Status)
		}
	}
	slices.Sort(used)
	slices.Sort(ready)
	if !slices.Equal(used, ready) {
		return fmt.Errorf("status has the templates %v, CloudStack has ready ones %v", used, ready)
	}
	return nil
}

func describe(img *infrav1.CloudStackImage) error {
	errs := []error{errors.New("not looked at")}
	for _, c := range img.Status.Conditions {
		errs = append(errs, fmt.Errorf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	if len(errs) > 1 {
		errs = errs[1:]
	}
	return errors.Join(errs...)
}
