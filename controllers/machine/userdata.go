package machine

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
)

const (
	// formatCloudConfig is what bootstrap providers write into the key "format" of their Secrets for cloud-init.
	formatCloudConfig = "cloud-config"
	// longestUserData bounds user data after base64: a form of a mebibyte is more than the web server of CloudStack reads,
	// whatever the limit of the user data itself is. The rest is left for the other parameters.
	longestUserData = 1<<20 - 1<<14
)

// userData is what a VM is given: the bootstrap data as they are, or compressed if they are a cloud-config and compression
// is wanted. Nothing else than cloud-init is known to expand them.
func userData(data []byte, format string, compress bool) ([]byte, error) {
	if !compress || !isCloudConfig(data, format) {
		return data, nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compressing the user data: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compressing the user data: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing the user data: %w", err)
	}
	return out.Bytes(), nil
}

// isCloudConfig believes the format and, where none is given, the first line.
func isCloudConfig(data []byte, format string) bool {
	if format != "" {
		return format == formatCloudConfig
	}
	return bytes.HasPrefix(data, []byte("#cloud-config")) || bytes.HasPrefix(data, []byte("## template: jinja\n#cloud-config"))
}

// encodedLength is the length that CloudStack counts.
func encodedLength(data []byte) int { return base64.StdEncoding.EncodedLen(len(data)) }

// tooLarge tells a person about user data that do not fit.
func tooLarge(encoded, limit int) string {
	return fmt.Sprintf("the user data has %d characters after base64 and the limit of the server is %d: "+
		"make the bootstrap configuration smaller, or have an administrator raise vm.userdata.max.length", encoded, limit)
}
