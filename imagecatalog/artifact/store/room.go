package store

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/capcat/capcat/imagecatalog/artifact"
)

// roomStep is how many bytes are written between two looks at the disk.
const roomStep = 32 << 20

// Room is one writer's share of the free disk. Its methods may be called by one goroutine at a time.
type Room struct {
	ctx   context.Context
	store *Store
	// owed is what was announced and is not written yet; other writers leave it alone.
	owed    atomic.Int64
	written int64
	checked int64
}

// Room begins a share. Release it when the writing is over; ctx bounds the clearing that it may cause.
func (s *Store) Room(ctx context.Context) *Room {
	r := &Room{ctx: ctx, store: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[r] = struct{}{}
	return r
}

// Release ends the share.
func (r *Room) Release() {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	delete(r.store.rooms, r)
}

// Expect announces how many more bytes will come; NoSpace when the disk has no room for them, even after unused
// blobs were collected.
func (r *Room) Expect(n int64) error {
	r.owed.Store(max(n, 0))
	r.written, r.checked = 0, 0
	return r.check(0)
}

// Wrote counts n bytes that are about to be written; NoSpace when the disk runs full.
func (r *Room) Wrote(n int64) error {
	r.owed.Store(max(r.owed.Load()-n, 0))
	r.written += n
	if r.written < r.checked+roomStep {
		return nil
	}
	r.checked = r.written
	return r.check(roomStep)
}

// check looks whether what is owed, or at least the next step, fits beside what other writers are owed.
func (r *Room) check(least int64) error {
	want := max(r.owed.Load(), least)
	missing, err := r.missing(want)
	if err == nil && missing > 0 {
		if _, err = r.store.collect(r.ctx, missing); err == nil {
			missing, err = r.missing(want)
		}
	}
	if err != nil {
		return artifact.WrapError(artifact.StoreFailed, "asking for free disk space", err)
	}
	if missing > 0 {
		return artifact.NewError(artifact.NoSpace, fmt.Sprintf("the disk of the store lacks %d bytes", missing))
	}
	return nil
}

// missing is how many bytes the disk lacks for want, 0 when it lacks none.
func (r *Room) missing(want int64) (int64, error) {
	free, err := r.store.opts.FreeBytes(r.store.blobs)
	if err != nil {
		return 0, err
	}
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	for other := range r.store.rooms {
		if other != r {
			want += other.owed.Load()
		}
	}
	return max(want+max(r.store.opts.MinFreeBytes, 0)-free, 0), nil
}

// Writer writes a new file in the store, looking after the free disk while it does.
type Writer struct {
	file   *os.File
	room   *Room
	size   int64
	synced int64
}

// NewWriter truncates or makes the file at path.
func (s *Store) NewWriter(path string, room *Room) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return nil, artifact.WrapError(artifact.StoreFailed, "beginning a file", err)
	}
	return &Writer{file: f, room: room}, nil
}

// Write writes p; NoSpace when the disk is about to run full.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.room.Wrote(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	if w.size-w.synced >= roomStep {
		startWriteback(w.file, w.synced, w.size-w.synced)
		w.synced = w.size
	}
	if err != nil {
		return n, diskError("writing a file", err)
	}
	return n, nil
}

// Size is the number of bytes written.
func (w *Writer) Size() int64 { return w.size }

// Close closes the file; nothing is promised to be on disk.
func (w *Writer) Close() error { return w.file.Close() }
