package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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
	return hashed(label, machine)
}

// hashed adds a part of the hash of a text to a label.
func hashed(label, text string) string {
	sum := sha256.Sum256([]byte(text))
	label = strings.TrimRight(label[:min(len(label), longestName-hashLength-1)], "-")
	return label + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// mostNames bounds how many names are tried for one machine.
const mostNames = 5

// names are those that the VM of a machine may have, the first one first: that of the Machine, and for when somebody else
// holds it, be it a destroyed VM that is not shown until it is expunged, others that only this machine has.
func (s *scope) names() []string {
	first := vmName(s.name())
	names := []string{first}
	for n := 1; n < mostNames && s.identity() != ""; n++ {
		names = append(names, hashed(first, fmt.Sprintf("%s/%s/%d", s.name(), s.identity(), n)))
	}
	return names
}

// usedNames are the names under which a VM of the machine may have been made so far.
func (s *scope) usedNames() []string {
	names := s.names()
	at := slices.Index(names, s.instanceName())
	if at < 0 {
		return []string{s.instanceName()} // the Machine had another name in another life
	}
	return names[:at+1]
}

// nextName is the name to try after the present one; "" when enough were tried.
func (s *scope) nextName() string {
	names := s.names()
	at := slices.Index(names, s.instanceName())
	if at < 0 || at+1 == len(names) {
		return ""
	}
	return names[at+1]
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
