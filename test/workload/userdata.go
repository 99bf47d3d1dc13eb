package workload

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxExpanded bounds what compressed user data may become.
const maxExpanded = 16 << 20

// instance is what cloud-init knows of the machine from CloudStack's metadata.
type instance struct {
	id, hostName, zone, address string
}

// metadata are the keys that cloud-init's CloudStack data source has, with the dashes that jinja cannot read replaced.
func (i instance) metadata() map[string]string {
	return map[string]string{
		"ds.meta_data.instance_id": i.id, "ds.meta_data.vm_id": i.id, "ds.meta_data.local_hostname": i.hostName, "ds.meta_data.public_hostname": i.hostName,
		"ds.meta_data.availability_zone": i.zone, "ds.meta_data.local_ipv4": i.address,
		"v1.instance_id": i.id, "v1.local_hostname": i.hostName, "v1.availability_zone": i.zone, "v1.cloud_name": "cloudstack", "v1.platform": "cloudstack", "v1.region": "",
		"instance_id": i.id, "local_hostname": i.hostName, "availability_zone": i.zone, "cloud_name": "cloudstack",
	}
}

// file is one that user data writes.
type file struct {
	content    string
	executable bool
}

// cloudConfig is what user data asks for.
type cloudConfig struct {
	files    map[string]file
	boot     []string // commands before files are written
	commands []string
	script   string // of user data that is a shell script
}

// errNoConfig says that cloud-init has nothing to do with the user data.
var errNoConfig = errors.New("user data is neither cloud-config nor a script")

// readUserData does what cloud-init does first: it expands the data, renders jinja where the header asks for it, and reads the
// configuration. Messages are what cloud-init warns of and goes on.
func readUserData(raw []byte, i instance) (cloudConfig, []string, error) {
	data, err := gunzip(raw)
	if err != nil {
		return cloudConfig{}, nil, err
	}
	text := string(data)
	var warnings []string
	first, rest, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(strings.ReplaceAll(strings.TrimSpace(strings.ToLower(first)), " ", ""), "##template:jinja") {
		text, warnings = renderJinja(rest, i.metadata())
		first, _, _ = strings.Cut(text, "\n")
	}
	switch first = strings.TrimSpace(first); {
	case strings.TrimSpace(text) == "":
		return cloudConfig{}, nil, errors.New("there is no user data")
	case strings.HasPrefix(first, "#!"):
		return cloudConfig{script: text, files: map[string]file{}}, warnings, nil
	case !strings.HasPrefix(first, "#cloud-config"):
		return cloudConfig{}, warnings, fmt.Errorf("%w: it begins with %q", errNoConfig, clip(first))
	}
	c, more, err := readCloudConfig(text)
	return c, append(warnings, more...), err
}

// clip shortens what may be anything.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// gunzip expands data that is compressed, once.
func gunzip(raw []byte) ([]byte, error) {
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	zr, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("expanding user data: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(zr, maxExpanded+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("expanding user data: %w", err)
	case len(out) > maxExpanded:
		return nil, fmt.Errorf("user data expands to more than %d bytes", maxExpanded)
	}
	return out, nil
}

// renderedFile is an entry of write_files.
type renderedFile struct {
	Path        string `json:"path"`
	Content     string `json:"content"`
	Encoding    string `json:"encoding"`
	Permissions any    `json:"permissions"`
	Append      bool   `json:"append"`
}

func readCloudConfig(text string) (cloudConfig, []string, error) {
	var doc struct {
		WriteFiles []renderedFile `json:"write_files"`
		BootCmd    []any          `json:"bootcmd"`
		RunCmd     []any          `json:"runcmd"`
	}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return cloudConfig{}, nil, fmt.Errorf("loading yaml: %w", err)
	}
	c := cloudConfig{files: map[string]file{}, boot: commandLines(doc.BootCmd), commands: commandLines(doc.RunCmd)}
	var warnings []string
	for _, f := range doc.WriteFiles {
		content, err := decodeContent(f.Content, f.Encoding)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("write_files: %s: %v", f.Path, err))
			continue
		}
		if f.Append {
			content = c.files[f.Path].content + content
		}
		c.files[f.Path] = file{content, executable(f.Permissions)}
	}
	return c, warnings, nil
}

// executable says whether permissions, which are octal in a string and mostly in a number, let a file run.
func executable(permissions any) bool {
	digits := strings.Trim(fmt.Sprint(permissions), `'"`)
	return permissions != nil && len(digits) >= 3 && strings.ContainsAny(digits[len(digits)-3:], "1357")
}

// decodeContent undoes the encodings that write_files knows.
func decodeContent(content, encoding string) (string, error) {
	switch strings.ToLower(encoding) {
	case "", "text/plain":
		return content, nil
	case "b64", "base64":
		raw, err := base64.StdEncoding.DecodeString(stripSpace(content))
		return string(raw), err
	case "gz", "gzip":
		raw, err := gunzip([]byte(content))
		return string(raw), err
	case "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		raw, err := base64.StdEncoding.DecodeString(stripSpace(content))
		if err != nil {
			return "", err
		}
		raw, err = gunzip(raw)
		return string(raw), err
	}
	return content, nil // cloud-init takes an encoding that it does not know for none
}

func stripSpace(s string) string { return strings.Join(strings.Fields(s), "") }

// commandLines turns the entries of a list of commands into lines of a shell: a string is a line, a list is a command with its arguments.
func commandLines(entries []any) []string {
	var out []string
	for _, e := range entries {
		switch v := e.(type) {
		case string:
			out = append(out, v)
		case []any:
			words := make([]string, len(v))
			for i, w := range v {
				words[i] = quoteWord(fmt.Sprint(w))
			}
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

func quoteWord(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n;&|'\"$`\\<>()") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
