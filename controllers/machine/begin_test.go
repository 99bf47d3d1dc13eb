package machine_test

import (
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

// olderWorld has a worker of an older version in each of two zones, and an image of a newer one in the first zone alone.
func olderWorld(t *testing.T) (*world, *manager) {
	t.Helper()
	w := newWorld(t, "zone-a", "zone-b")
	w.newer("newer-a", "zone-a")
	w.template = w.register("node", w.zones["zone-b"])
	w.image("node-b", "zone-b")
	m := w.start(w.Client)
	for _, name := range []string{"old-1", "old-2"} {
		m.Drive(w.machine(name), ready)
	}
	return w, m
}

const newer = "v1.34.2"

func (w *world) newer(name, zone string) *infrav1.CloudStackImage {
	return w.image(name, zone, func(img *infrav1.CloudStackImage) { img.Spec.KubernetesVersion = newer })
}

func ofNewer(p *pair) { p.machine.Spec.Version = newer }

// TestUpgradeBeginsWhenEveryZoneHasTheImage: the first machine of a new version waits although its own zone has the image.
func TestUpgradeBeginsWhenEveryZoneHasTheImage(t *testing.T) {
	w, m := olderWorld(t)
	cm := w.machine("new-1", ofNewer)
	lacking := m.Drive(cm, because(infrav1.ReasonImageNotFound))
	if c := condition(lacking, infrav1.ConditionLoadBalancerAttached); c.Reason != infrav1.ReasonImageNotFound {
		t.Errorf("what keeps the machine from the load balancer is told as %+v", c)
	}
	if text := condition(w.get(cm), infrav1.ConditionResolved).Message; !strings.Contains(text, "no ready image of "+newer+" in zone-b (workers)") {
		t.Errorf("the message is %q", text)
	}
	w.wantVMs(2)
	w.newer("newer-b", "zone-b")
	m.Drive(cm, ready)
}

func TestUpgradeThatIsNotHeldBack(t *testing.T) {
	for name, prepare := range map[string]func(*world, *manager) change{
		"another group is older": func(*world, *manager) change {
			return func(p *pair) { p.machine.Labels[clusterv1.MachineDeploymentNameLabel] = "md-1"; ofNewer(p) }
		},
		"the machine is bound": func(*world, *manager) change {
			return func(p *pair) { p.infra.Spec.FailureDomainName = "fd-zone-a"; ofNewer(p) }
		},
		"the upgrade is under way": func(w *world, m *manager) change {
			img := w.newer("newer-b", "zone-b")
			first := w.machine("first", ofNewer)
			m.Drive(first, ready)
			w.provisioned("first")
			w.Must(w.Client.Delete(w.T.Context(), img))
			return func(p *pair) { p.machine.Spec.FailureDomain = ""; p.infra.Spec.FailureDomainName = ""; ofNewer(p) }
		},
		"somebody lets it pass": func(w *world, _ *manager) change {
			w.cluster.Annotations = map[string]string{infrav1.AnnotationSkipUpgradeGate: ""}
			w.Must(w.Client.Update(w.T.Context(), w.cluster))
			return ofNewer
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m := olderWorld(t)
			how := prepare(w, m)
			cm := w.machine("new-1", how)
			m.Drive(cm, func(cm *infrav1.CloudStackMachine) bool {
				c := condition(cm, infrav1.ConditionResolved)
				return ready(cm) || c != nil && strings.Contains(c.Message, "not in zone zone-b: it is in zone-a")
			})
			if text := condition(w.get(cm), infrav1.ConditionResolved).Message; strings.Contains(text, "the upgrade begins") {
				t.Errorf("it is held back: %s", text)
			}
		})
	}
}

// provisioned has Cluster API tell that a Machine has its infrastructure.
func (w *world) provisioned(name string) {
	w.T.Helper()
	owner := &clusterv1.Machine{}
	w.Must(w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.NS, Name: name}, owner))
	yes := true
	owner.Status.Initialization.InfrastructureProvisioned = &yes
	w.Must(w.Client.Status().Update(w.T.Context(), owner))
}
