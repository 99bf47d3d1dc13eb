package compression

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"hash/crc64"
)

// noCheck stands for a stream without check values.
type noCheck struct{ hash.Hash }

func (noCheck) Write(p []byte) (int, error) { return len(p), nil }

// newXZCheck gives the hash for a check kind; nil for a kind that is not in use.
func newXZCheck(kind byte) hash.Hash {
	switch kind {
	case 0:
		return noCheck{}
	case 1:
		return crc32.NewIEEE()
	case 4:
		return crc64.New(crc64.MakeTable(crc64.ECMA))
	case 10:
		return sha256.New()
	default:
		return nil
	}
}

func xzCheckLen(kind byte) int {
	return map[byte]int{1: 4, 4: 8, 10: 32}[kind]
}

// xzSum is the check value as it stands in the file: CRCs are little-endian there.
func xzSum(h hash.Hash, kind byte) []byte {
	switch c := h.(type) {
	case noCheck:
		return nil
	case hash.Hash32:
		return binary.LittleEndian.AppendUint32(nil, c.Sum32())
	case hash.Hash64:
		return binary.LittleEndian.AppendUint64(nil, c.Sum64())
	default:
		return h.Sum(nil)[:xzCheckLen(kind)]
	}
}
