package cloudsim

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// containsFold says whether part occurs in s, ignoring case, as the database compares.
func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

func contains[T comparable](list []T, v T) bool { return slices.Contains(list, v) }

// hostOf drops the port of an address.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

// splitTrim splits at commas and drops blanks and empty parts.
func splitTrim(v string) []string {
	var out []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }
