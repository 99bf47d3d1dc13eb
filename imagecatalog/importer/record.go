package importer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/capcat/capcat/imagecatalog/artifact"
	"github.com/capcat/capcat/imagecatalog/artifact/inspect"
	"github.com/capcat/capcat/imagecatalog/artifact/store"
)

// memory is what a record keeps of an import beside the digests.
type memory struct {
	DownloadBytes    int64                `json:"downloadBytes"`
	ContentBytes     int64                `json:"contentBytes"`
	Compression      artifact.Compression `json:"compression"`
	MirrorUsed       string               `json:"mirrorUsed,omitempty"`
	SourceRedirected bool                 `json:"sourceRedirected,omitempty"`
	// Inspected is what the report below was made for.
	Inspected inspect.Options `json:"inspected"`
	Report    inspect.Report  `json:"report"`
}

// facts is everything known about an image whose bytes are right.
type facts struct {
	memory
	download artifact.Digest
	content  artifact.Digest
}

func (f facts) result(weak bool) Result {
	return Result{
		DownloadDigest: f.download, ContentDigest: f.content,
		DownloadBytes: f.DownloadBytes, ContentBytes: f.ContentBytes,
		VirtualSizeBytes: f.Report.VirtualSizeBytes, Format: f.Report.Format, Compression: f.Compression,
		MirrorUsed: f.MirrorUsed, SourceRedirected: f.SourceRedirected,
		Warnings: f.Report.Warnings(), WeakChecksum: weak,
	}
}

// recall reads the facts that an earlier import left, if its content is still there.
func (r *run) recall() (facts, bool, error) {
	rec, err := r.claim.Record()
	if errors.Is(err, store.ErrNotFound) {
		return facts{}, false, nil
	}
	if err != nil {
		return facts{}, false, err
	}
	if len(r.proof.expect) == 0 && !r.importer.fresh(rec) {
		return facts{}, false, nil
	}
	f := facts{download: rec.Download, content: rec.Content}
	if err := json.Unmarshal(rec.Data, &f.memory); err != nil {
		return facts{}, false, nil //nolint:nilerr // a damaged record is no record
	}
	size, err := r.importer.opts.Store.Stat(rec.Content)
	if err != nil || size != f.ContentBytes {
		return facts{}, false, nil //nolint:nilerr // without its content a record is worth nothing
	}
	return f, true, nil
}

// memorize writes the facts down.
func (r *run) memorize(f facts) error {
	data, err := json.Marshal(f.memory)
	if err != nil {
		return fmt.Errorf("noting the result: %w", err)
	}
	return r.claim.Save(store.Record{Download: f.download, Content: f.content, SavedAt: r.importer.opts.Clock.Now(), Data: data})
}
