package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/builder"
	"github.com/capcat/capcat/test/stage"
)

const (
	ordinary  = "user"  // may have 20 templates, as CloudStack's default is
	unbounded = "admin" // may have any number
)

var zones = []string{"zone-kvm", "zone-vmware", "zone-xenserver"}

func TestCatalogArrivesAndLeaves(t *testing.T) {
	for _, mode := range []infrav1.DeliveryMode{infrav1.DeliveryPull, infrav1.DeliveryServe, infrav1.DeliveryUpload, infrav1.DeliveryAuto} {
		t.Run(string(mode), func(t *testing.T) {
			s := begin(t, ordinary, stage.Files("node", "v1.33.1", "v1.34.2"))
			c := builder.Catalog(s.namespace, "all", builder.InZones(zones...), builder.OfVersions("v1.33.1", "v1.34.2"),
				builder.DeliveredBy(mode), builder.Deleting())
			s.must(s.client.Create(t.Context(), c))
			s.eventually("every image in every zone", func(ctx context.Context) error { return s.matches(ctx, 6) })
			s.eventually("the catalog says so", func(ctx context.Context) error { return s.catalogReady(ctx, c, 6) })

			s.must(s.client.Delete(t.Context(), c))
			s.eventually("the catalog goes", func(ctx context.Context) error { return s.gone(ctx, c) })
			if left := s.templates(); len(left) != 0 {
				t.Errorf("%d templates are left in CloudStack, the first is %s", len(left), left[0].Name)
			}
		})
	}
}

func (s *story) catalogReady(ctx context.Context, c *infrav1.TemplateCatalog, want int32) error {
	var got infrav1.TemplateCatalog
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(c), &got); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(got.Status.Conditions, infrav1.ConditionReady) {
		return fmt.Errorf("it is not ready: %+v", got.Status.Conditions)
	}
	if n := got.Status.Images; n == nil || n.Ready != want || n.Total != want {
		return fmt.Errorf("it counts %+v", n)
	}
	return nil
}

func (s *story) gone(ctx context.Context, c *infrav1.TemplateCatalog) error {
	err := s.client.Get(ctx, client.ObjectKeyFromObject(c), &infrav1.TemplateCatalog{})
	switch {
	case apierrors.IsNotFound(err):
		imgs, err := s.images(ctx)
		if err == nil && len(imgs) > 0 {
			err = fmt.Errorf("%d images are left", len(imgs))
		}
		return err
	case err != nil:
		return err
	}
	return errors.New("it is still there")
}

func TestHostileImageIsRefused(t *testing.T) {
	s := begin(t, ordinary, []stage.File{stage.Hostile("kvm/hostile.qcow2")})
	c := builder.Catalog(s.namespace, "hostile", builder.Pinned("http://"+stage.MirrorHost+"/kvm/hostile.qcow2"))
	s.must(s.client.Create(t.Context(), c))
	s.eventually("the refusal", func(ctx context.Context) error {
		imgs, err := s.images(ctx)
		if err != nil || len(imgs) != 1 {
			return fmt.Errorf("%d images: %w", len(imgs), err)
		}
		ready := meta.FindStatusCondition(imgs[0].Status.Conditions, infrav1.ConditionReady)
		if ready == nil || ready.Reason != infrav1.ReasonContentRejected || imgs[0].Status.ContentCode != "BackingFile" {
			return fmt.Errorf("code %q: %w", imgs[0].Status.ContentCode, describe(&imgs[0]))
		}
		return nil
	})
	if got := s.templates(); len(got) != 0 {
		t.Errorf("CloudStack has template %s", got[0].Name)
	}
}

func TestManagerIsKilledAgainAndAgain(t *testing.T) {
	for _, mode := range []infrav1.DeliveryMode{infrav1.DeliveryPull, infrav1.DeliveryServe, infrav1.DeliveryUpload} {
		t.Run(string(mode), func(t *testing.T) {
			s := begin(t, ordinary, stage.Files("node", "v1.33.1", "v1.34.2"))
			c := builder.Catalog(s.namespace, "all", builder.InZones(zones...), builder.OfVersions("v1.33.1", "v1.34.2"),
				builder.DeliveredBy(mode), builder.Deleting())
			s.must(s.client.Create(t.Context(), c))
			for _, after := range []time.Duration{50, 200, 400, 800, 1600} {
				<-time.After(after * time.Millisecond)
				s.kill()
				s.startManager()
			}
			s.eventually("one template for each image", func(ctx context.Context) error { return s.matches(ctx, 6) })
		})
	}
}

func TestManyImages(t *testing.T) {
	var versions []infrav1.KubernetesVersion
	var names []string
	for i := range *images {
		v := fmt.Sprintf("v1.%d.%d", 20+i/10, i%10)
		versions, names = append(versions, infrav1.KubernetesVersion(v)), append(names, v)
	}
	s := begin(t, unbounded, stage.Files("node", names...))
	c := builder.Catalog(s.namespace, "many", builder.InZones(zones...), builder.DeliveredBy(infrav1.DeliveryPull))
	c.Spec.Images = nil
	for at := 0; at < len(versions); at += 50 { // an entry takes 64 versions at most
		img := builder.Catalog("", "").Spec.Images[0]
		img.Name = fmt.Sprintf("node-%d", at)
		img.KubernetesVersions = versions[at:min(at+50, len(versions))]
		c.Spec.Images = append(c.Spec.Images, img)
	}
	began := time.Now()
	s.must(s.client.Create(t.Context(), c))
	s.eventually("every image in every zone", func(ctx context.Context) error { return s.matches(ctx, 3**images) })
	t.Logf("%d images in 3 zones took %s", *images, time.Since(began).Round(time.Millisecond))
}
