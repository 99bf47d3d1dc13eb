package image_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
)

func TestImageBecomesReady(t *testing.T) {
	tests := map[string]struct {
		file   string
		change []func(*infrav1.CloudStackImage)
		opts   []option
		want   infrav1.DeliveryMode
		format infrav1.Format
	}{
		"CloudStack pulls from a public source": {
			file: "node-lbzip2.qcow2.bz2", change: []func(*infrav1.CloudStackImage){by(infrav1.DeliveryPull), public},
			want: infrav1.DeliveryPull, format: infrav1.FormatQCOW2,
		},
		"the manager serves": {
			file: "node-lbzip2.qcow2.bz2", change: []func(*infrav1.CloudStackImage){by(infrav1.DeliveryServe)},
			want: infrav1.DeliveryServe, format: infrav1.FormatQCOW2,
		},
		"the manager uploads": {
			file: "node-lbzip2.qcow2.bz2", change: []func(*infrav1.CloudStackImage){by(infrav1.DeliveryUpload)},
			want: infrav1.DeliveryUpload, format: infrav1.FormatQCOW2,
		},
		"Auto pulls what is public": {
			file: "node-lbzip2.qcow2.bz2", change: []func(*infrav1.CloudStackImage){public}, want: infrav1.DeliveryPull, format: infrav1.FormatQCOW2,
		},
		"Auto serves what has a suffix CloudStack does not take": {
			file: "node.qcow2.zst", change: []func(*infrav1.CloudStackImage){public}, want: infrav1.DeliveryServe, format: infrav1.FormatQCOW2,
		},
		"Auto serves what is not public": {
			file: "node.qcow2.xz", want: infrav1.DeliveryServe, format: infrav1.FormatQCOW2,
		},
		"Auto uploads when the manager has no address": {
			file: "node.qcow2.zip", opts: []option{withoutServe}, want: infrav1.DeliveryUpload, format: infrav1.FormatQCOW2,
		},
		"an appliance for VMware": {
			file: "ova-good.ova", change: []func(*infrav1.CloudStackImage){inZone("zone-vmware")}, want: infrav1.DeliveryServe, format: infrav1.FormatOVA,
		},
		"a VHD for XenServer": {
			file: "vhd-dynamic.vhd.bz2", change: []func(*infrav1.CloudStackImage){inZone("zone-xenserver")}, want: infrav1.DeliveryServe, format: infrav1.FormatVHD,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.start(w.Client, tc.opts...)
			img := w.image("node", tc.file, tc.change...)
			got := m.drive(img, ready)
			if got.Status.Delivery != tc.want || got.Status.Format != tc.format {
				t.Errorf("delivered by %s as %s, want by %s as %s", got.Status.Delivery, got.Status.Format, tc.want, tc.format)
			}
			w.wantTemplates(1)
			for _, template := range w.templates() {
				want := map[string]string{
					infrav1.MarkOwner: got.Annotations[infrav1.AnnotationIdentity], infrav1.MarkImage: w.NS + "/node",
					infrav1.MarkContentDigest: got.Status.ContentDigest, infrav1.MarkDownloadDigest: got.Status.DownloadDigest,
					infrav1.MarkKubernetesVersion: "v1.33.1",
				}
				for key, value := range want {
					if template.Details[key] != value || value == "" {
						t.Errorf("detail %s = %q, want %q", key, template.Details[key], value)
					}
				}
				if template.ID != got.Status.TemplateID || !template.Ready {
					t.Errorf("template %+v, want %s and ready", template, got.Status.TemplateID)
				}
			}
			if diff := cmp.Diff(infrav1.PhaseReady, got.Status.Progress.Phase); diff != "" {
				t.Errorf("phase (-want +got):\n%s", diff)
			}
			m.delete(img)
			w.wantTemplates(0)
		})
	}
}
