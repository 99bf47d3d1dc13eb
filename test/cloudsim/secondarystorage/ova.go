package secondarystorage

import (
	"archive/tar"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	internalError = "com.cloud.exception.InternalErrorException: "
	maxOVF        = 4 << 20
	maxEntries    = 1000
)

// untar takes a package apart beside it, and returns the sum of its disks as its OVF tells them.
func (j *job) untar(f *tempFile) (int64, error) {
	names, err := j.extract(f)
	if err != nil {
		return 0, errors.New(internalError + "failed to untar OVA package")
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, ".ovf") })
	if i < 0 {
		return 0, errors.New(internalError + "Unable to locate OVF file in template package directory: " + j.shownDir())
	}
	b, err := readBounded(filepath.Join(j.dir(), names[i]), maxOVF)
	if err != nil {
		return 0, err
	}
	return j.readOVF(b)
}

func (j *job) shownDir() string { return j.engine.mount + "/" + j.folder }

// extract does what tar does: it writes files over files of the same name, makes links without following them, and fails at
// the end when an entry was refused. Names in folders are kept by their last part only, out of care.
func (j *job) extract(f *tempFile) ([]string, error) {
	found := map[string]bool{}
	refused := false
	r := tar.NewReader(io.NewSectionReader(f, 0, f.size))
	for range maxEntries {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, fmt.Errorf("reading a package: %w", err)
		}
		if strings.Contains("/"+h.Name+"/", "/../") {
			refused = true
			continue
		}
		name := path.Base(path.Clean("/" + h.Name))
		if err := j.extractEntry(h, r, name); err != nil {
			return nil, err
		}
		found[name] = h.Typeflag != tar.TypeDir
	}
	if refused || len(found) == 0 {
		return nil, errors.New("tar failed")
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func (j *job) extractEntry(h *tar.Header, r io.Reader, name string) error {
	target := filepath.Join(j.dir(), name)
	if h.Typeflag == tar.TypeDir || name == j.file {
		return nil
	}
	_ = os.Remove(target)
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	defer out.Close()
	if h.Typeflag != tar.TypeReg {
		// A link: something is there, but nothing of ours.
		return out.Close()
	}
	if _, err := io.Copy(out, r); err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	return nil
}

func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, fmt.Errorf("reading the store: %w", err)
	}
	return b, nil
}

// envelope is what is read of an OVF.
type envelope struct {
	Files []struct {
		ID   string `xml:"id,attr"`
		Href string `xml:"href,attr"`
	} `xml:"References>File"`
	Disks []struct {
		Capacity string `xml:"capacity,attr"`
		Units    string `xml:"capacityAllocationUnits,attr"`
		File     string `xml:"fileRef,attr"`
	} `xml:"DiskSection>Disk"`
}

func (j *job) readOVF(b []byte) (int64, error) {
	var e envelope
	if err := xml.Unmarshal(b, &e); err != nil {
		return 0, errors.New(internalError + "OVF parsing error")
	}
	for _, f := range e.Files {
		name := path.Base(path.Clean("/" + f.Href))
		if _, err := os.Lstat(filepath.Join(j.dir(), name)); err != nil {
			return 0, errors.New(internalError + "One of the attached disk or iso as stated on OVF does not exists " + j.shownDir() + "/" + f.Href)
		}
	}
	sum := int64(0)
	for _, d := range e.Disks {
		capacity, err := strconv.ParseInt(d.Capacity, 10, 64)
		if err != nil {
			return 0, failure(fmt.Sprintf("For input string: %q", d.Capacity))
		}
		sum += capacity * unitBytes(d.Units)
	}
	return sum, nil
}

// unitBytes reads the units of a capacity: "byte * 2^30" and the like.
func unitBytes(units string) int64 {
	_, power, ok := strings.Cut(strings.ReplaceAll(units, " ", ""), "*2^")
	n, err := strconv.Atoi(power)
	if !ok || err != nil || n < 0 || n > 60 {
		return 1
	}
	return 1 << n
}
