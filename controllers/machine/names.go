package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// longestName is what CloudStack takes as the name of a VM.
	longestName = 63
	// hashLength is how many digits of a hash tell shortened names apart.
	hashLength = 8
)

// vmName is the name of the VM of a Machine: an RFC 1123 label that does not begin with a digit. A name that is one already
// stays as it is; every other gets a part of the hash of the whole name, so that two of them do not become one.
func vmName(machine string) string {
	label := strings.Trim(strings.Map(labelRune, machine), "-")
	if label == "" || label[0] >= '0' && label[0] <= '9' {
		label = strings.TrimSuffix("m-"+label, "-")
	}
	if label == machine && len(label) <= longestName {
		return label
	}
	sum := sha256.Sum256([]byte(machine))
	label = strings.TrimRight(label[:min(len(label), longestName-hashLength-1)], "-")
	return label + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

func labelRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
		return r
	case r >= 'A' && r <= 'Z':
		return r - 'A' + 'a'
	}
	return '-'
}
