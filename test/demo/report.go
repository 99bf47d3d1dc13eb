package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/apache/cloudstack-go/v2/cloudstack"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/test/stage"
)

// askTimeout bounds one request to the simulator.
const askTimeout = 30 * time.Second

// report prints the table of images and checks it against what CloudStack says.
func (d *demo) report(ctx context.Context) error {
	s, err := d.look(ctx)
	if err != nil {
		return err
	}
	images := s.images
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nCATALOG\tVERSION\tZONE\tHYPERVISOR\tFORMAT\tDELIVERY\tSIZE\tTEMPLATE")
	var refused []*infrav1.CloudStackImage
	var ids []string
	for i := range images {
		img := &images[i]
		if phaseOf(img) != infrav1.PhaseReady {
			refused = append(refused, img)
			continue
		}
		ids = append(ids, img.Status.TemplateID)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.1f MiB\t%s\n", img.Labels[infrav1.LabelCatalog], img.Spec.KubernetesVersion, img.Spec.Zone.Name,
			img.Status.Hypervisor, img.Status.Format, img.Status.Delivery, float64(img.Status.SizeBytes)/(1<<20), img.Status.TemplateID)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "\nRefused, as it should be:")
	for _, img := range refused {
		fmt.Fprintf(d.out, "  %s (%s)\n    %s\n", img.Name, img.Spec.Source.URLs[0], verdict(img))
	}
	return d.compare(ctx, ids)
}

// compare asks CloudStack, with another client than the manager's, for all templates of the account: they must be exactly those of
// the table, and ready.
func (d *demo) compare(ctx context.Context, ids []string) error {
	keys := d.stage.Cloud.Keys[stage.Caller]
	cs := cloudstack.NewClient(d.stage.Cloud.URL, keys[0], keys[1], true, cloudstack.WithHTTPClient(&http.Client{Timeout: askTimeout}))
	params := cs.Template.NewListTemplatesParams("self")
	params.SetListall(true)
	list, err := cs.Template.ListTemplates(params)
	if err != nil {
		return fmt.Errorf("listing the templates of CloudStack: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var have []string
	for _, t := range list.Templates {
		if !t.Isready {
			return fmt.Errorf("template %s of CloudStack is not ready: %s", t.Id, t.Status)
		}
		have = append(have, t.Id)
	}
	slices.Sort(have)
	slices.Sort(ids)
	if diff := cmp.Diff(ids, have); diff != "" {
		return fmt.Errorf("the templates in status (-) are not those in CloudStack (+):\n%s", diff)
	}
	fmt.Fprintf(d.out, "\nCloudStack lists these %d templates, all ready, and no other.\n", len(have))
	return nil
}
