package image_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/controllers/image"
	"github.com/capcat/capcat/test/cloudsim"
)

// field finds the first value of a key in a reply.
func field(t *testing.T, body, key string) string {
	t.Helper()
	var reply any
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	var find func(any) string
	find = func(v any) string {
		switch v := v.(type) {
		case map[string]any:
			if s, ok := v[key].(string); ok {
				return s
			}
			for _, inner := range v {
				if s := find(inner); s != "" {
					return s
				}
			}
		case []any:
			for _, inner := range v {
				if s := find(inner); s != "" {
					return s
				}
			}
		}
		return ""
	}
	return find(reply)
}

func TestTemplateInUseStays(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	got := m.drive(img, ready)
	offering := field(t, w.call("user", "listServiceOfferings"), "id")
	network := field(t, w.call("user", "createNetwork", "name", "net", "displaytext", "net", "zoneid", got.Status.ZoneID,
		"networkofferingid", field(t, w.call("user", "listNetworkOfferings", "guestiptype", "Isolated", "state", "Enabled", "forvpc", "false"), "id")), "id")
	vm := field(t, w.call("user", "deployVirtualMachine", "name", "worker-1", "serviceofferingid", offering, "templateid", got.Status.TemplateID,
		"zoneid", got.Status.ZoneID, "networkids", network), "id")
	w.Clock.Step(time.Minute)
	w.Must(w.Client.Delete(t.Context(), img.DeepCopy()))
	now := m.fails(img, infrav1.ReasonInUse)
	if now.Status.References != 1 || !strings.Contains(readyMessage(now), "worker-1") {
		t.Errorf("%d references, message %q, want one named worker-1", now.Status.References, readyMessage(now))
	}
	w.wantTemplates(1)
	w.call("user", "destroyVirtualMachine", "id", vm)
	m.drive(img, gone)
	w.wantTemplates(0)
}

// TestCloudStackKnowsOfMoreUsers: machines of other accounts are not listed, and CloudStack refuses because of them.
func TestCloudStackKnowsOfMoreUsers(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	m.drive(img, ready)
	w.Must(w.Sim.AddFault(cloudsim.Fault{
		Command: "deleteTemplate", Phase: cloudsim.PhaseBefore, Kind: cloudsim.FaultError,
		Text: "Unable to delete template: Template {..} because VM instances: [other] are using it.",
	}))
	w.Must(w.Client.Delete(t.Context(), img.DeepCopy()))
	m.fails(img, infrav1.ReasonInUse)
	w.wantTemplates(1)
	m.drive(img, gone)
	w.wantTemplates(0)
}

func readyMessage(img *infrav1.CloudStackImage) string {
	for _, c := range img.Status.Conditions {
		if c.Type == infrav1.ConditionReady {
			return c.Message
		}
	}
	return ""
}

func TestZoneIsDisabledMeanwhile(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	resolved := m.drive(img, func(i *infrav1.CloudStackImage) bool { return i.Status.ZoneID != "" })
	w.call("admin", "updateZone", "id", resolved.Status.ZoneID, "allocationstate", "Disabled")
	w.Clock.Step(time.Minute)
	m.drive(img, func(i *infrav1.CloudStackImage) bool {
		return because(infrav1.ReasonZoneDisabled)(i) || because(infrav1.ReasonZoneNotFound)(i)
	})
	w.wantTemplates(0)
	w.call("admin", "updateZone", "id", resolved.Status.ZoneID, "allocationstate", "Enabled")
	m.drive(img, ready)
	w.wantTemplates(1)
}

func TestQuota(t *testing.T) {
	w := newWorld(t)
	w.call("admin", "updateResourceLimit", "resourcetype", "4", "max", "0", "account", "user", "domainid", field(t, w.call("user", "listAccounts"), "domainid"))
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	m.fails(img, infrav1.ReasonQuotaExceeded)
	w.wantTemplates(0)
	w.call("admin", "updateResourceLimit", "resourcetype", "4", "max", "5", "account", "user", "domainid", field(t, w.call("user", "listAccounts"), "domainid"))
	m.drive(img, ready)
	w.wantTemplates(1)
}

func TestDownloadThatNeverBegins(t *testing.T) {
	w := newWorld(t)
	hang := make(chan struct{})
	w.mirror.answerStorage(func(http.ResponseWriter, *http.Request) { <-hang })
	m := w.start(w.Client, func(o *image.Options) { o.Deadlines.Start = 5 * time.Minute })
	img := w.image("node", "qcow2-v3.qcow2", public, by(infrav1.DeliveryPull))
	now := m.drive(img, func(i *infrav1.CloudStackImage) bool {
		return because(infrav1.ReasonDownloadNotStarted)(i) || because(infrav1.ReasonDownloadTimeout)(i)
	})
	if now.Status.TemplateID != "" || len(now.Status.Leftovers) != 1 {
		t.Errorf("template %q, leftovers %v, want the failed one put aside", now.Status.TemplateID, now.Status.Leftovers)
	}
	close(hang)
	w.mirror.answerStorage(nil)
	m.drive(img, ready)
	m.drive(img, func(i *infrav1.CloudStackImage) bool { return len(i.Status.Leftovers) == 0 })
	w.wantTemplates(1)
}

func TestManagerStoppedDuringAnUpload(t *testing.T) {
	w := newWorld(t)
	first := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2", by(infrav1.DeliveryUpload))
	// The address is known and nothing was sent: the upload is stopped in the reconcile that began it.
	recorded := first.drive(img, func(i *infrav1.CloudStackImage) bool {
		if i.Status.TemplateID != "" {
			first.stop()
			return true
		}
		return false
	})
	second := w.start(w.Client)
	now := second.drive(img, ready)
	usable := 0
	for _, template := range w.templates() {
		if template.Ready {
			usable++
		}
	}
	if usable != 1 {
		t.Errorf("%d templates are ready after %s, want one (%s): %+v", usable, recorded.Status.TemplateID, now.Status.TemplateID, w.templates())
	}
	second.delete(img)
	w.wantTemplates(0)
}

func TestReadyTemplateThatCloudStackTakesBack(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	img := w.image("node", "qcow2-v3.qcow2")
	m.drive(img, ready)
	w.call("admin", "updateZone", "id", field(t, w.call("user", "listZones", "name", "zone-kvm"), "id"), "allocationstate", "Disabled")
	w.Clock.Step(time.Hour)
	if _, err := m.once(img); err != nil {
		t.Error(err)
	}
	w.call("admin", "updateZone", "id", field(t, w.call("admin", "listZones", "name", "zone-kvm"), "id"), "allocationstate", "Enabled")
	m.drive(img, ready)
	if n := w.calls("registerTemplate"); n != 1 {
		t.Errorf("%d calls of registerTemplate, want 1", n)
	}
}

func TestManyImagesShareTheirLooks(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client)
	const images = 12
	all := make([]*infrav1.CloudStackImage, 0, images)
	for n := range images {
		all = append(all, w.image("node-"+string(rune('a'+n)), "qcow2-v3.qcow2"))
	}
	for range 200 {
		done := 0
		for _, img := range all {
			_, _ = m.once(img)
			if now, _ := w.get(img); ready(now) {
				done++
			}
		}
		if done == images {
			break
		}
		w.Clock.Step(time.Second)
	}
	w.wantTemplates(images)
	for command, most := range map[string]int{"listZones": 6, "listOsTypes": 3, "listHypervisors": 3, "registerTemplate": images} {
		if n := w.calls(command); n > most {
			t.Errorf("%d calls of %s for %d images, want %d at most", n, command, images, most)
		}
	}
}

func TestOnePlaceInAZone(t *testing.T) {
	w := newWorld(t)
	m := w.start(w.Client, func(o *image.Options) { o.ZoneQueue = 1 })
	const images = 3
	all := make([]*infrav1.CloudStackImage, 0, images)
	for n := range images {
		all = append(all, w.image("node-"+string(rune('a'+n)), "qcow2-v3.qcow2"))
	}
	for _, img := range all {
		m.drive(img, func(i *infrav1.CloudStackImage) bool {
			return i.Status.TemplateID != "" || strings.Contains(readyMessage(i), "on their way into the zone")
		})
	}
	w.wantTemplates(1)
	m.drive(all[0], ready)
	// The place is free, and whoever has waited longest is woken for it.
	for {
		if woken := <-m.woken; woken.Name == all[1].Name {
			break
		}
	}
	m.drive(all[1], ready)
	m.drive(all[2], ready)
	w.wantTemplates(images)
}
