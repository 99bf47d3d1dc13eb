package secondarystorage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/capcat/capcat/test/cloudsim/secondarystorage/filetype"
	"github.com/capcat/capcat/test/cloudsim/secondarystorage/unpack"
)

// job installs one file: it unpacks it, moves it to its place and lets the processor of the format have a look.
type job struct {
	engine       *Engine
	folder, name string
	format       string
	maxBytes     int64
	// invalidQCOW2 is the text for a QCOW2 that is none, or points to other files.
	invalidQCOW2      string
	description       string
	hvm, public       bool
	account, template int64

	file string
}

// installed is what a job made, sizes in bytes. Both are 0 when there is no processor for the format.
type installed struct {
	virtual, physical int64
	processed         bool
}

// choose names the file: an ISO after the template, others by a fresh uuid.
func (j *job) choose() {
	if j.format == "ISO" {
		j.file = strings.ReplaceAll(j.name, " ", "_") + ".iso"
		j.file = filepath.Base(filepath.Clean("/" + j.file))
		return
	}
	j.file = j.engine.freshUUID(j.name) + "." + strings.ToLower(j.format)
}

func (j *job) installPath() string { return j.folder + "/" + j.file }

func (j *job) dir() string { return filepath.Join(j.engine.root, filepath.FromSlash(j.folder)) }

// run installs from. On a failure to unpack the folder is gone, on later ones the file stays.
func (j *job) run(from *tempFile) (installed, error) {
	file, err := j.unpack(from)
	if err != nil {
		_ = os.RemoveAll(j.dir())
		return installed{}, err
	}
	defer file.discard()
	target := filepath.Join(j.dir(), j.file)
	if err := os.Rename(file.path(), target); err != nil {
		return installed{}, fmt.Errorf("moving a file of the store: %w", err)
	}
	done, err := j.process(file)
	if err != nil {
		return installed{}, err
	}
	if err := j.writeProperties(file.size, done); err != nil {
		return installed{}, err
	}
	j.engine.keep(j.folder, j.account, file.size)
	if j.engine.options.KeepContent {
		return done, nil
	}
	return done, j.forget()
}

// forget removes what was installed but for the first bytes of the image, and not the folder: it marks that the template is there.
func (j *job) forget() error {
	entries, err := os.ReadDir(j.dir())
	if err != nil {
		return fmt.Errorf("reading the store: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == propertiesFile || (entry.Name() == j.file && j.cut()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(j.dir(), entry.Name())); err != nil {
			return fmt.Errorf("making room in the store: %w", err)
		}
	}
	return nil
}

// cut shortens the image to what is kept of it; false when nothing is.
func (j *job) cut() bool {
	keep := j.engine.options.KeepHead
	if keep <= 0 {
		return false
	}
	target := filepath.Join(j.dir(), j.file)
	st, err := os.Stat(target)
	return err == nil && st.Mode().IsRegular() && (st.Size() <= keep || os.Truncate(target, keep) == nil)
}

// unpack expands one layer, whatever the name of the file. The file it returns is from when there is nothing to unpack.
func (j *job) unpack(from *tempFile) (*tempFile, error) {
	kind, err := filetype.Describe(from, from.size, false)
	if err != nil {
		return nil, err
	}
	word, _, _ := strings.Cut(kind, " ")
	if word != "gzip" && word != "bzip2" && word != "Zip" && (word != "XZ" || j.engine.options.NoXZ) {
		return from, nil
	}
	to, err := j.engine.tempFile(j.folder)
	if err != nil {
		return nil, err
	}
	to.limit = j.maxBytes
	if err := j.expand(word, to, from); err != nil {
		to.discard()
		return nil, err
	}
	if err := to.finish(); err != nil {
		to.discard()
		return nil, err
	}
	return to, nil
}

func (j *job) expand(word string, to, from *tempFile) error {
	var err error
	tool := word
	source := io.NewSectionReader(from, 0, from.size)
	switch word {
	case "gzip":
		err = unpack.Gunzip(to, source)
	case "bzip2":
		err = unpack.Bunzip2(to, source)
	case "XZ":
		tool = "xz"
		err = unpack.Unxz(to, source)
	default:
		err = unpack.Unzip(to, from, from.size)
	}
	var failed *unpack.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return err
	}
	return errors.New(j.complaint(tool, failed.Text, from) + "failed to uncompress " + from.shown)
}

// complaint is what the tool says, line after line without anything between.
func (j *job) complaint(tool, text string, from *tempFile) string {
	if text == "" {
		return ""
	}
	subject := from.shown
	if strings.HasPrefix(text, "Write error") {
		subject = "(stdout)"
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(&b, "%s: %s: %s", tool, subject, line)
	}
	return b.String()
}
