package build

import (
	"context"
	"path/filepath"

	"k8s.io/utils/clock"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/convert"
	"github.com/capcat/capcat/imagecatalog/artifact/ova"
)

// convert makes the outputs in the folder. Each was inspected before it got its name. The same disk gives the same bytes.
func (m machine) convert(ctx context.Context, disk, dir string) (map[string]convert.Result, error) {
	made := map[string]convert.Result{}
	for _, suffix := range m.Outputs {
		m.Report(Event{Step: suffix})
		result, err := convert.File(ctx, convert.Request{
			Source: disk, SourceFormat: artifact.QCOW2, Target: filepath.Join(dir, m.Name+"."+suffix), SideFiles: true,
			Machine: ova.Machine{Name: m.Name, Guest: ova.GuestFor(m.OS)}, Created: m.Created,
		}, newMeter(m.Report, clock.RealClock{}).at)
		if err != nil {
			return nil, err
		}
		for _, w := range result.Warnings {
			m.Report(Event{Note: w.Message})
		}
		made[suffix] = result
	}
	return made, nil
}
