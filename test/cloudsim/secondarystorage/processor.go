package secondarystorage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// process is the look of the format's processor: it finds the size that a guest will see.
func (j *job) process(f *tempFile) (installed, error) {
	done := installed{physical: f.size, processed: true}
	var err error
	switch j.format {
	case "QCOW2":
		done.virtual, err = qcow2Size(f)
		if err != nil {
			return installed{}, errors.New(j.invalidQCOW2)
		}
	case "VHD":
		done.virtual, err = vhdSize(f, f.size)
	case "VMDK":
		done.virtual, err = vmdkSize(f, f.size)
	case "OVA":
		done.virtual, err = j.untar(f)
	case "VHDX":
		// Nobody looks at these.
		return installed{}, nil
	default:
		done.virtual = f.size
	}
	if err != nil {
		return installed{}, err
	}
	if f.size == 0 {
		return installed{}, failure("Unable to install due to invalid file format")
	}
	return done, nil
}

const (
	qcow2Known        = 0x0f
	qcow2DataFile     = 1 << 2
	qcow2Incompatible = 72
)

// qcow2Size refuses what the storage VM refuses: another magic, a backing file, and the features of an external data file or of
// any bit that it does not know. It reads the features of version 3 from every version.
func qcow2Size(r io.ReaderAt) (int64, error) {
	var h [80]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return 0, fmt.Errorf("reading the header: %w", err)
	}
	switch features := binary.BigEndian.Uint64(h[qcow2Incompatible:]); {
	case string(h[:4]) != "QFI\xfb":
		return 0, errors.New("no QCOW2")
	case binary.BigEndian.Uint64(h[8:]) != 0:
		return 0, errors.New("backing file")
	case features&qcow2DataFile != 0 || features&^qcow2Known != 0:
		return 0, errors.New("unsupported features")
	}
	return int64(binary.BigEndian.Uint64(h[24:])), nil
}

// vhdSize reads the current size from the copy of the footer at the begin. Without one it is the length.
func vhdSize(r io.ReaderAt, size int64) (int64, error) {
	var h [56]byte
	if _, err := r.ReadAt(h[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("reading the store: %w", err)
	}
	if string(h[:8]) != "conectix" {
		return size, nil
	}
	return int64(binary.BigEndian.Uint64(h[48:])), nil
}

// extent is the line of a VMDK's descriptor that tells the size in sectors.
var extent = regexp.MustCompile(`(?:RW|RDONLY|NOACCESS) (\d+) (?:FLAT|SPARSE|ZERO|VMFS|VMFSSPARSE|VMFSDRM|VMFSRAW)`)

const (
	vmdkWindow = 4 << 20
	sector     = 512
)

func vmdkSize(r io.ReaderAt, size int64) (int64, error) {
	b := make([]byte, min(size, vmdkWindow))
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("reading the store: %w", err)
	}
	m := extent.FindSubmatch(b)
	if m == nil {
		return 0, nil
	}
	sectors, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return 0, failure(fmt.Sprintf("For input string: %q", m[1]))
	}
	return sectors * sector, nil
}
