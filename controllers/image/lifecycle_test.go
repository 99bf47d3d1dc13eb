package image_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/cloudsim"
)

// fails drives an image until it fails for the reason, whether it will be tried again or not.
func (m *manager) fails(img *infrav1.CloudStackImage, reason string) *infrav1.CloudStackImage {
	m.T.Helper()
	return m.drive(img, because(reason))
}

func TestRefusedImages(t *testing.T) {
	tests := map[string]struct {
		file   string
		change func(*infrav1.CloudStackImage)
		reason string
		code   string
		phase  infrav1.ImagePhase
	}{
		"a backing file": {file: "qcow2-backing-v3.qcow2", reason: infrav1.ReasonContentRejected, code: "BackingFile", phase: infrav1.PhaseFailed},
		"another digest": {
			file: "qcow2-v3.qcow2", reason: infrav1.ReasonChecksumMismatch, phase: infrav1.PhaseFailed,
			change: func(i *infrav1.CloudStackImage) { i.Spec.Source.Checksum.Value = strings.Repeat("0", 64) },
		},
		"no such file": {
			file: "qcow2-v3.qcow2", reason: infrav1.ReasonSourceMissing, phase: infrav1.PhaseFailed,
			change: func(i *infrav1.CloudStackImage) { i.Spec.Source.URLs[0] += ".missing" },
		},
		"no such zone": {
			file: "qcow2-v3.qcow2", reason: infrav1.ReasonZoneNotFound, phase: infrav1.PhasePending, change: inZone("zone-none"),
		},
		"a hypervisor that the zone lacks": {
			file: "ova-good.ova", reason: infrav1.ReasonHypervisorNotInZone, phase: infrav1.PhasePending,
			change: func(i *infrav1.CloudStackImage) { i.Spec.Hypervisor = infrav1.HypervisorVMware },
		},
		"no such OS type": {
			file: "qcow2-v3.qcow2", reason: infrav1.ReasonOSTypeNotFound, phase: infrav1.PhasePending,
			change: func(i *infrav1.CloudStackImage) { i.Spec.Template.OSType = "BeOS" },
		},
		"no such project": {
			file: "qcow2-v3.qcow2", reason: infrav1.ReasonOwnerNotFound, phase: infrav1.PhasePending,
			change: func(i *infrav1.CloudStackImage) { i.Spec.Owner.Project = "nobody" },
		},
		"no such secret": {
			file: "qcow2-v3.qcow2", reason: infrav1.ReasonSecretNotFound, phase: infrav1.PhasePending,
			change: func(i *infrav1.CloudStackImage) { i.Spec.IdentityRef.Name = "nobody" },
		},
		"pulling from a host that is not public": {
			file: "qcow2-v3.qcow2", reason: infrav1.ReasonDeliveryImpossible, phase: infrav1.PhaseFailed, change: by(infrav1.DeliveryPull),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client)
			img := w.image("node", tc.file, func(i *infrav1.CloudStackImage) {
				if tc.change != nil {
					tc.change(i)
				}
			})
			got := m.fails(img, tc.reason)
			if got.Status.ContentCode != tc.code || got.Status.Progress.Phase != tc.phase {
				t.Errorf("code %q in phase %s, want %q in %s", got.Status.ContentCode, got.Status.Progress.Phase, tc.code, tc.phase)
			}
			if n := w.calls("registerTemplate"); n != 0 {
				t.Errorf("%d calls of registerTemplate, want none", n)
			}
			m.delete(img)
		})
	}
}

func TestRejectedContentIsNotFetchedAgain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-backing-v3.qcow2")
	m.fails(img, infrav1.ReasonContentRejected)
	before := w.mirror.count("manager")
	m.stop()
	second := w.start(w.Client)
	for range 3 {
		if _, err := second.once(img); err == nil {
			t.Error("no terminal error")
		}
	}
	if got := w.mirror.count("manager"); got != before {
		t.Errorf("%d more fetches after a restart, want none", got-before)
	}
	now, _ := w.get(img)
	if !because(infrav1.ReasonContentRejected)(now) {
		t.Errorf("conditions after the restart: %+v", now.Status.Conditions)
	}
}

func (m *mirror) count(who string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fetches[who]
}

func (m *mirror) answerStorage(h http.HandlerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.storage = h
}

func TestAutoFollowsAFailedPull(t *testing.T) {
	tests := map[string]http.HandlerFunc{
		"a redirect":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"403":           func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"503":           func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusServiceUnavailable) },
		"another image": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("QFI\xfb something else")) },
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mirror.answerStorage(answer)
			m := w.start(w.Client)
			img := w.image("node", "qcow2-v3.qcow2", public)
			got := m.drive(img, ready)
			if got.Status.Delivery != infrav1.DeliveryServe {
				t.Errorf("delivered by %s, want by Serve", got.Status.Delivery)
			}
			if diff := cmp.Diff([]infrav1.DeliveryMode{infrav1.DeliveryPull}, got.Status.FailedDeliveries); diff != "" {
				t.Errorf("failed deliveries (-want +got):\n%s", diff)
			}
			m.drive(img, func(i *infrav1.CloudStackImage) bool { return len(i.Status.Leftovers) == 0 })
			w.wantTemplates(1)
		})
	}
}

func TestExplicitPullDoesNotFollow(t *testing.T) {
	w := newWorld(t)
	w.mirror.answerStorage(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) })
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2", public, by(infrav1.DeliveryPull))
	m.fails(img, infrav1.ReasonSourceMissing)
	m.drive(img, func(i *infrav1.CloudStackImage) bool { return len(i.Status.Leftovers) == 0 })
	w.wantTemplates(0)
	w.mirror.answerStorage(nil)
	m.drive(img, ready)
	w.wantTemplates(1)
}

func TestLostTemplateIsRegisteredAgain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	first := m.drive(img, ready)
	w.call("user", "deleteTemplate", "id", first.Status.TemplateID, "zoneid", first.Status.ZoneID)
	second := m.drive(img, func(i *infrav1.CloudStackImage) bool {
		return ready(i) && i.Status.TemplateID != first.Status.TemplateID
	})
	w.wantTemplates(1)
	if n := w.calls("registerTemplate"); n != 2 {
		t.Errorf("%d calls of registerTemplate, want 2", n)
	}
	if second.Status.ContentDigest != first.Status.ContentDigest {
		t.Error("the content changed")
	}
	m.wantEvent(infrav1.ReasonTemplateLost)
}

func (m *manager) wantEvent(reason string) {
	m.T.Helper()
	var seen []string
	for {
		select {
		case e := <-m.events.Events:
			seen = append(seen, e)
			if strings.Contains(e, reason) {
				return
			}
		default:
			m.T.Errorf("no event %s among %q", reason, seen)
			return
		}
	}
}

// call sends one call to the cloud as a caller.
func (w *world) call(caller, command string, pairs ...string) string {
	w.T.Helper()
	keys := w.Sim.Keys()[caller]
	params := map[string]string{"command": command, "response": "json", "apiKey": keys.APIKey}
	for i := 0; i+1 < len(pairs); i += 2 {
		params[pairs[i]] = pairs[i+1]
	}
	params["signature"] = cloudsim.Sign(params, keys.SecretKey)
	return post(w.T, w.API.URL+"/client/api", params)
}

func TestRetainedTemplateStaysAndIsUsedAgain(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	retain := func(i *infrav1.CloudStackImage) { i.Spec.DeletePolicy = infrav1.DeletePolicyRetain }
	img := w.image("node", "qcow2-v3.qcow2", retain)
	first := m.drive(img, ready)
	m.delete(img)
	w.wantTemplates(1)

	again := w.image("node", "qcow2-v3.qcow2")
	got := m.drive(again, ready)
	if got.Status.TemplateID != first.Status.TemplateID {
		t.Errorf("template %s, want the retained %s", got.Status.TemplateID, first.Status.TemplateID)
	}
	if !is(got, metav1.ConditionTrue, infrav1.ReasonAdopted) {
		t.Errorf("conditions %+v, want Ready because Adopted", got.Status.Conditions)
	}
	m.delete(again)
	w.wantTemplates(1)
}

func TestNamedTemplateIsUsedAsItIs(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	owned := m.drive(w.image("mine", "qcow2-v3.qcow2"), ready)
	for name, ref := range map[string]infrav1.TemplateReference{
		"by-id": {ID: owned.Status.TemplateID}, "by-name": {Name: owned.Status.TemplateName},
	} {
		named := w.image(name, "qcow2-v3.qcow2", func(i *infrav1.CloudStackImage) {
			i.Spec.Source, i.Spec.ExistingTemplate = nil, &ref
		})
		got := m.drive(named, ready)
		if got.Status.TemplateID != owned.Status.TemplateID {
			t.Errorf("%s: template %q, want %q", name, got.Status.TemplateID, owned.Status.TemplateID)
		}
		m.delete(named)
		w.wantTemplates(1)
	}
	missing := w.image("missing", "qcow2-v3.qcow2", func(i *infrav1.CloudStackImage) {
		i.Spec.Source, i.Spec.ExistingTemplate = nil, &infrav1.TemplateReference{Name: "nobody"}
	})
	m.fails(missing, infrav1.ReasonTemplateNotFound)
}

func TestForeignTemplatesAreNotTouched(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	got := m.drive(img, ready)
	// Somebody registers a template of the same name with somebody else's mark.
	w.call("user", "registerTemplate", "name", got.Status.TemplateName, "displaytext", "mine", "format", "QCOW2", "hypervisor", "KVM",
		"url", "http://"+publicMirror+"/qcow2-v3.qcow2", "zoneid", got.Status.ZoneID, "ostypeid", got.Status.OSTypeID,
		"details[0]."+infrav1.MarkOwner, "somebody-else")
	w.wantTemplates(2)
	m.delete(img)
	w.wantTemplates(1)
}

func TestDuplicatesAreNamedAndDeletedTogether(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	got := m.drive(img, ready)
	w.call("user", "registerTemplate", "name", "twin", "displaytext", "twin", "format", "QCOW2", "hypervisor", "KVM",
		"url", "http://"+publicMirror+"/qcow2-v3.qcow2", "zoneid", got.Status.ZoneID, "ostypeid", got.Status.OSTypeID,
		"details[0]."+infrav1.MarkOwner, got.Annotations[infrav1.AnnotationIdentity])
	w.Clock.Step(progressPause)
	now := m.drive(img, func(i *infrav1.CloudStackImage) bool {
		c := meta.FindStatusCondition(i.Status.Conditions, infrav1.ConditionReady)
		return strings.Contains(c.Message, "more templates carry the mark")
	})
	if now.Status.TemplateID != got.Status.TemplateID || !ready(now) {
		t.Errorf("template %s, want to keep %s", now.Status.TemplateID, got.Status.TemplateID)
	}
	w.wantTemplates(2)
	m.delete(img)
	w.wantTemplates(0)
}

func TestSecretRotation(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	w.SecretOf(w.NS, "unknown", "unknown")
	m.fails(img, infrav1.ReasonCredentialsRefused)
	w.Secret(w.NS, "user")
	m.drive(img, ready)
	w.SecretOf(w.NS, "unknown", "unknown")
	if _, err := m.once(img); err != nil {
		t.Errorf("reconciling with refused credentials: %v", err)
	}
	if now, _ := w.get(img); !ready(now) {
		t.Errorf("a ready image is not ready because nobody can look: %+v", now.Status.Conditions)
	}
	w.Secret(w.NS, "user")
	m.delete(img)
	w.wantTemplates(0)
}

func TestDeletionWithoutCredentials(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	never := w.image("never", "qcow2-v3.qcow2", func(i *infrav1.CloudStackImage) { i.Spec.IdentityRef.Name = "nobody" })
	m.fails(never, infrav1.ReasonSecretNotFound)
	m.delete(never)

	img := w.image("node", "qcow2-v3.qcow2")
	m.drive(img, ready)
	w.SecretOf(w.NS, "unknown", "unknown")
	w.Must(w.Client.Delete(t.Context(), img.DeepCopy()))
	m.fails(img, infrav1.ReasonCredentialsRefused)
	w.Secret(w.NS, "user")
	m.drive(img, gone)
	w.wantTemplates(0)
}

func TestSuspendAndPause(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2", func(i *infrav1.CloudStackImage) { i.Spec.Suspend = true })
	m.fails(img, infrav1.ReasonSuspended)
	if n := len(w.Sim.Journal()); n != 0 {
		t.Errorf("%d calls while suspended, want none", n)
	}
	now, _ := w.get(img)
	now.Spec.Suspend = false
	now.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""}
	w.Must(w.Client.Update(t.Context(), now))
	m.fails(img, infrav1.ReasonPaused)
	now, _ = w.get(img)
	delete(now.Annotations, "cluster.x-k8s.io/paused")
	w.Must(w.Client.Update(t.Context(), now))
	m.drive(img, ready)
	now, _ = w.get(img)
	now.Spec.Suspend = true
	w.Must(w.Client.Update(t.Context(), now))
	if _, err := m.once(img); err != nil {
		t.Error(err)
	}
	if now, _ = w.get(img); !ready(now) {
		t.Error("a ready image is not ready because it was suspended")
	}
}

func TestProject(t *testing.T) {
	w := newWorld(t)
	w.call("user", "createProject", "name", "k8s", "displaytext", "k8s")
	w.Clock.Step(progressPause)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2", func(i *infrav1.CloudStackImage) { i.Spec.Owner.Project = "k8s" })
	m.drive(img, ready)
	if owners := w.templates(); len(owners) != 1 || !strings.HasPrefix(owners[0].Account, "PrjAcct-k8s") {
		t.Errorf("templates %+v, want one of the project", owners)
	}
	m.delete(img)
	w.wantTemplates(0)
}

func TestAccountOfADomain(t *testing.T) {
	w := newWorld(t)
	w.Secret(w.NS, "admin")
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2", func(i *infrav1.CloudStackImage) {
		i.Spec.Owner = infrav1.ResourceOwner{Domain: "ROOT", Account: "user"}
	})
	m.drive(img, ready)
	if owners := w.templates(); len(owners) != 1 || owners[0].Account != "user" {
		t.Errorf("templates %+v, want one of account user", owners)
	}
	m.delete(img)
	w.wantTemplates(0)
}

func TestEventsOnlyOnTransitions(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	m.drive(img, ready)
	for range 5 {
		w.Clock.Step(progressPause)
		if _, err := m.once(img); err != nil {
			t.Error(err)
		}
	}
	var seen []string
	for len(m.events.Events) > 0 {
		seen = append(seen, <-m.events.Events)
	}
	if n := len(slices.Compact(slices.Clone(seen))); n != len(seen) {
		t.Errorf("events repeat: %q", seen)
	}
	if len(seen) == 0 || !strings.Contains(seen[len(seen)-1], infrav1.ReasonReady) {
		t.Errorf("events %q, want Ready to be the last", seen)
	}
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	m.drive(img, ready)
	before, _ := w.get(img)
	for range 5 {
		w.Clock.Step(progressPause)
		if _, err := m.once(img); err != nil {
			t.Error(err)
		}
	}
	after, _ := w.get(img)
	if before.ResourceVersion != after.ResourceVersion {
		t.Errorf("the object was written:\n%s", cmp.Diff(before.Status, after.Status))
	}
}

func TestUnknownObjectIsForgotten(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := &infrav1.CloudStackImage{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "nobody"}}
	if result, err := m.once(img); err != nil || result.RequeueAfter != 0 {
		t.Errorf("Reconcile() = %v, %v, want nothing", result, err)
	}
}

func TestNewSpecStartsAnew(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-backing-v3.qcow2")
	failed := m.fails(img, infrav1.ReasonContentRejected)
	failed.Spec.Source.URLs[0] = infrav1.SourceURL(w.mirror.URL + "/qcow2-v3.qcow2")
	failed.Spec.Source.Checksum.Value = corpusSHA256(t, "qcow2-v3.qcow2")
	w.Must(w.Client.Update(t.Context(), failed))
	w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "listTemplates", Phase: cloudsim.PhaseBefore, Kind: cloudsim.Fault502, Count: 3}))
	got := m.drive(img, ready)
	if got.Status.ContentCode != "" || got.Status.Attempts != 1 {
		t.Errorf("code %q after %d attempts, want a clean start", got.Status.ContentCode, got.Status.Attempts)
	}
}

// TestOutageKeepsTheReason: while nobody can look, a refused image stays refused for its own reason.
func TestOutageKeepsTheReason(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-backing-v3.qcow2")
	m.fails(img, infrav1.ReasonContentRejected)
	w.Clock.Step(progressPause)
	w.Must(w.Sim.AddFault(cloudsim.Fault{Command: "listTemplates", Phase: cloudsim.PhaseBefore, Kind: cloudsim.Fault502}))
	for range 2 {
		if _, err := m.once(img); err == nil {
			t.Error("no error during the outage or after it")
		}
		if now, _ := w.get(img); !because(infrav1.ReasonContentRejected)(now) {
			t.Errorf("conditions %+v, want ContentRejected", now.Status.Conditions)
		}
	}
}
