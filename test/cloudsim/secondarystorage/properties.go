package secondarystorage

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// propertiesFile describes what is in a folder of the store.
const propertiesFile = "template.properties"

func (j *job) writeProperties(size int64, done installed) error {
	kind := strings.ToLower(j.format)
	lines := [][2]string{
		{"id", strconv.FormatInt(j.template, 10)}, {"uniquename", j.name}, {"description", j.description}, {"filename", j.file},
		{"size", strconv.FormatInt(size, 10)}, {"hvm", strconv.FormatBool(j.hvm)}, {"public", strconv.FormatBool(j.public)},
	}
	if done.processed {
		lines = append(lines, [][2]string{
			{"virtualsize", strconv.FormatInt(done.virtual, 10)}, {kind, "true"}, {kind + ".filename", j.file},
			{kind + ".size", strconv.FormatInt(size, 10)}, {kind + ".virtualsize", strconv.FormatInt(done.virtual, 10)},
		}...)
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s=%s\n", l[0], strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\r", "\\r").Replace(l[1]))
	}
	if err := os.WriteFile(filepath.Join(j.dir(), propertiesFile), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	return nil
}
