package secondarystorage

import (
	"context"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/utils/clock"
)

// Engine is one storage VM: it downloads, receives uploads and keeps the store.
type Engine struct {
	options Options
	clock   clock.Clock
	secret  []byte
	sealer  cipher.AEAD
	root    string
	ownRoot bool
	// mount is where the storage VM sees the root: it stands in error texts.
	mount   string
	network Network
	slots   slots

	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup

	mu      sync.Mutex
	serial  int
	used    map[string]stored
	uploads map[string]*upload
}

// stored is what lies in a folder of the store.
type stored struct {
	account int64
	bytes   int64
}

// New returns an Engine. It fails when the store's directory cannot be made.
func New(o Options) (*Engine, error) {
	e := &Engine{
		options: o, clock: o.Clock, secret: o.Secret, root: o.Dir, network: o.Network, slots: slots{perKey: connectionsPerHost},
		used: map[string]stored{}, uploads: map[string]*upload{},
	}
	if e.clock == nil {
		e.clock = clock.RealClock{}
	}
	if len(e.secret) == 0 {
		e.secret = make([]byte, 32)
		if _, err := rand.Read(e.secret); err != nil {
			return nil, fmt.Errorf("making the secret of the storage VM: %w", err)
		}
	}
	var err error
	if e.sealer, err = newSealer(e.secret); err != nil {
		return nil, err
	}
	if e.root == "" {
		root, err := os.MkdirTemp("", "secondary-storage-")
		if err != nil {
			return nil, fmt.Errorf("making the store: %w", err)
		}
		e.root, e.ownRoot = root, true
	}
	e.mount = "/mnt/SecStorage/" + nameUUID("nfs://storage.sim.example.org/secondary")
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e, nil
}

// Close stops all downloads, waits for them and removes a directory that New made.
func (e *Engine) Close() error {
	e.stop()
	e.wait.Wait()
	if !e.ownRoot {
		return nil
	}
	if err := os.RemoveAll(e.root); err != nil {
		return fmt.Errorf("removing the store: %w", err)
	}
	return nil
}

// Path is where the file of an install path lies on this machine.
func (e *Engine) Path(installPath string) string {
	return filepath.Join(e.root, filepath.Clean("/"+installPath))
}

// Delete removes a folder of the store: an install path, or the folder above the file. What is not there is no error.
func (e *Engine) Delete(installPath string) error {
	folder := filepath.Clean("/" + installPath)
	if filepath.Ext(folder) != "" && e.has(filepath.Dir(folder)) {
		folder = filepath.Dir(folder)
	}
	e.mu.Lock()
	delete(e.used, folder)
	e.mu.Unlock()
	if err := os.RemoveAll(filepath.Join(e.root, folder)); err != nil {
		return fmt.Errorf("removing %s from the store: %w", installPath, err)
	}
	return nil
}

func (e *Engine) has(folder string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.used[folder]
	return ok
}

// keep remembers what a folder holds.
func (e *Engine) keep(folder string, account, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used[filepath.Clean("/"+folder)] = stored{account: account, bytes: bytes}
}

// usedBytes is what lies in the store for an account.
func (e *Engine) usedBytes(account int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	sum := int64(0)
	for _, s := range e.used {
		if s.account == account {
			sum += s.bytes
		}
	}
	return sum
}

// next numbers temporary files and jobs.
func (e *Engine) next() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.serial++
	return e.serial
}

// freshUUID is made of a name and the time, as the storage VM makes the names of files.
func (e *Engine) freshUUID(name string) string {
	return nameUUID(fmt.Sprintf("%s%d-%d", name, e.clock.Now().UnixMilli(), e.next()))
}

// nameUUID is Java's UUID.nameUUIDFromBytes: version 3 without a name space.
func nameUUID(name string) string {
	u := md5.Sum([]byte(name))
	u[6] = u[6]&0x0f | 0x30
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
