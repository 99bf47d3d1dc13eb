package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/capcat/capcat/imagecatalog/artifact/store"
)

const maxStateBytes = 64 << 10

// state is what must be known to go on with a partial file.
type state struct {
	// Source is the SHA-256 of the address; the address itself may hold secrets.
	Source string `json:"source"`
	// Validator is for If-Range; "" means that the download cannot be resumed.
	Validator string `json:"validator,omitempty"`
	// Total is the size in bytes, 0 when the server did not say.
	Total int64 `json:"total,omitempty"`
	// Redirected says that a redirect led to the file.
	Redirected bool `json:"redirected,omitempty"`
}

func sourceID(s source) string {
	sum := sha256.Sum256([]byte(s.url.String()))
	return hex.EncodeToString(sum[:])
}

// readState gives the zero value for a file that is missing or damaged: then there is nothing to resume.
func readState(path string) state {
	var st state
	data, err := store.ReadFile(path, maxStateBytes)
	if err == nil {
		err = json.Unmarshal(data, &st)
	}
	if err != nil {
		return state{}
	}
	return st
}

func writeState(path string, st state) error {
	data, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return store.WriteFile(path, data)
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
