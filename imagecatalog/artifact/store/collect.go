package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// Collected is what a collection removed.
type Collected struct {
	// Blobs and Bytes are the blobs removed and their size.
	Blobs int
	Bytes int64
	// Leftovers are partial files, records and locks that no longer served anybody.
	Leftovers int
}

// Collect removes leftovers of dead imports, then the blobs that were not used for longest until the rest fits into
// Options.MaxBytes. Blobs in use (open or leased, by any process) and blobs used within Options.MinAge stay.
func (s *Store) Collect(ctx context.Context) (Collected, error) {
	c, err := s.collect(ctx, 0)
	if err != nil {
		return c, artifact.WrapError(artifact.StoreFailed, "collecting garbage", err)
	}
	return c, nil
}

// Demote makes a blob the first to be collected: for a download whose content is there.
func (s *Store) Demote(d artifact.Digest) error {
	path, err := s.blobPath(d)
	if err != nil {
		return err
	}
	if err := os.Chtimes(path, time.Unix(0, 0), time.Unix(0, 0)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return artifact.WrapError(artifact.StoreFailed, "demoting a blob", err)
	}
	return nil
}

// collect also removes blobs until need bytes were freed, where it can.
func (s *Store) collect(ctx context.Context, need int64) (Collected, error) {
	var c Collected
	if err := s.collectPartials(ctx, &c); err != nil {
		return c, err
	}
	if err := s.collectBlobs(ctx, need, &c); err != nil {
		return c, err
	}
	return c, s.collectSources(ctx, &c)
}

type blobFile struct {
	path string
	size int64
	used time.Time
}

func (s *Store) collectBlobs(ctx context.Context, need int64, c *Collected) error {
	files, err := s.listBlobs()
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	bound := s.opts.MaxBytes
	if bound <= 0 {
		bound = math.MaxInt64
	}
	bound = min(bound, total-need)
	now := s.opts.Clock.Now()
	for _, f := range files {
		if total <= bound {
			return nil
		}
		if now.Sub(f.used) < s.opts.MinAge {
			continue
		}
		removed, err := removeUnlocked(ctx, f.path)
		if err != nil {
			return err
		}
		if removed {
			total -= f.size
			c.Blobs++
			c.Bytes += f.size
		}
	}
	return nil
}

// listBlobs gives the blobs, the one not used for longest first.
func (s *Store) listBlobs() ([]blobFile, error) {
	entries, err := os.ReadDir(s.blobs)
	if err != nil {
		return nil, err
	}
	var files []blobFile
	for _, e := range entries {
		if !hexName.MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed by somebody else
		}
		files = append(files, blobFile{filepath.Join(s.blobs, e.Name()), info.Size(), info.ModTime()})
	}
	slices.SortFunc(files, func(a, b blobFile) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path))
	})
	return files, nil
}

// collectPartials removes content that nobody writes any more, and downloads that nobody came back for.
func (s *Store) collectPartials(ctx context.Context, c *Collected) error {
	entries, err := os.ReadDir(s.blobs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if hexName.MatchString(e.Name()) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(s.blobs, e.Name())
		if !strings.HasSuffix(e.Name(), contentSuffix) && !s.abandoned(path) {
			continue
		}
		key, _, _ := strings.Cut(e.Name(), ".")
		if err := s.collectUnclaimed(key, path, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) abandoned(path string) bool {
	info, err := os.Stat(path)
	return err == nil && s.opts.Clock.Since(info.ModTime()) > s.opts.PartialAge
}

// collectUnclaimed removes a leftover of a source that nobody imports at the moment.
func (s *Store) collectUnclaimed(key, path string, c *Collected) error {
	if !hexName.MatchString(key) {
		c.Leftovers++
		return removeAll(path)
	}
	claim, err := s.tryClaim(key)
	if err != nil || claim == nil {
		return err
	}
	c.Leftovers++
	return errors.Join(removeAll(path), claim.Release())
}

// collectSources removes records whose content is gone, and what an interrupted save left.
func (s *Store) collectSources(ctx context.Context, c *Collected) error {
	entries, err := os.ReadDir(s.sources)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(s.sources, e.Name())
		key, rest, _ := strings.Cut(e.Name(), ".")
		var gone bool
		switch "." + rest {
		case recordSuffix:
			gone = s.outdated(path)
		case lockSuffix:
			gone = !exists(filepath.Join(s.sources, key+recordSuffix)) && !exists(filepath.Join(s.blobs, key+downloadSuffix))
		default:
			gone = s.abandoned(path)
		}
		if !gone {
			continue
		}
		if err := s.collectUnclaimed(key, path, c); err != nil {
			return err
		}
	}
	return nil
}

// outdated says whether a record speaks of content that is not there.
func (s *Store) outdated(path string) bool {
	r, err := readRecord(path)
	if err != nil {
		return errors.Is(err, ErrNotFound)
	}
	_, err = s.Stat(r.Content)
	return errors.Is(err, ErrNotFound)
}
