package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

const (
	claimPollFirst = 20 * time.Millisecond
	claimPollLast  = time.Second
	maxRecordBytes = 1 << 20
)

// Key names a source: equal parts give an equal key.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Claim is the right to import one source, held by one goroutine of one process at a time.
type Claim struct {
	store *Store
	key   string
	lock  *os.File
}

// Claim waits until nobody else holds the source, or ctx ends.
func (s *Store) Claim(ctx context.Context, key string) (*Claim, error) {
	if !hexName.MatchString(key) {
		return nil, artifact.NewError(artifact.StoreFailed, "sources are named by Key")
	}
	wait := claimPollFirst
	for {
		c, err := s.tryClaim(key)
		if err != nil {
			return nil, artifact.WrapError(artifact.StoreFailed, "claiming a source", err)
		}
		if c != nil {
			return c, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, artifact.WrapError(artifact.Canceled, "waiting for another import of the same source", context.Cause(ctx))
		case <-timer.C:
		}
		wait = min(2*wait, claimPollLast)
	}
}

// tryClaim gives nil when somebody else holds the source.
func (s *Store) tryClaim(key string) (*Claim, error) {
	path := filepath.Join(s.sources, key+lockSuffix)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	free, err := tryLock(f)
	if err != nil || !free || !isAt(f, path) {
		return nil, errors.Join(err, f.Close())
	}
	return &Claim{store: s, key: key, lock: f}, nil
}

// Release gives the source back. What lies in its partial files stays, to be resumed.
func (c *Claim) Release() error {
	if c.lock == nil {
		return nil
	}
	var err error
	if !exists(c.DownloadPath()) && !exists(c.recordPath()) {
		err = removeAll(c.lock.Name())
	}
	err = errors.Join(err, c.lock.Close())
	c.lock = nil
	return err
}

// DownloadPath is the partial file of the bytes as downloaded.
func (c *Claim) DownloadPath() string { return filepath.Join(c.store.blobs, c.key+downloadSuffix) }

// StatePath is the file that knows how to go on with the download.
func (c *Claim) StatePath() string { return filepath.Join(c.store.blobs, c.key+stateSuffix) }

// ContentPath is the partial file of the decompressed bytes.
func (c *Claim) ContentPath() string { return filepath.Join(c.store.blobs, c.key+contentSuffix) }

// Discard removes the partial files.
func (c *Claim) Discard() error {
	if err := removeAll(c.ContentPath(), c.DownloadPath(), c.StatePath()); err != nil {
		return artifact.WrapError(artifact.StoreFailed, "removing partial files", err)
	}
	return nil
}

// CommitDownload makes the partial download the blob d.
func (c *Claim) CommitDownload(d artifact.Digest, size int64) error {
	if err := c.store.commit(c.DownloadPath(), d, size); err != nil {
		return err
	}
	return removeAll(c.StatePath())
}

// CommitContent makes the partial content the blob d.
func (c *Claim) CommitContent(d artifact.Digest, size int64) error {
	return c.store.commit(c.ContentPath(), d, size)
}

// Record is what an import of a source gave.
type Record struct {
	// Download is the blob as downloaded.
	Download artifact.Digest `json:"download"`
	// Content is the decompressed blob.
	Content artifact.Digest `json:"content"`
	// SavedAt is when it was last proven against the source.
	SavedAt time.Time `json:"savedAt"`
	// Data is the importer's own.
	Data json.RawMessage `json:"data,omitempty"`
}

func (c *Claim) recordPath() string { return filepath.Join(c.store.sources, c.key+recordSuffix) }

// Record reads what an earlier import left; ErrNotFound when there is none or it cannot be read.
func (c *Claim) Record() (Record, error) { return readRecord(c.recordPath()) }

// Save writes the record, whole or not at all.
func (c *Claim) Save(r Record) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = WriteFile(c.recordPath(), data)
	}
	if err != nil {
		return artifact.WrapError(artifact.StoreFailed, "saving what an import gave", err)
	}
	return nil
}

func readRecord(path string) (Record, error) {
	data, err := ReadFile(path, maxRecordBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, ErrNotFound
	}
	if err != nil {
		return Record{}, artifact.WrapError(artifact.StoreFailed, "reading what an import gave", err)
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("record %s is damaged: %w", filepath.Base(path), ErrNotFound)
	}
	return r, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
