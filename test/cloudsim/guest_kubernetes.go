package cloudsim

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"regexp"
)

// detailKubernetes is the detail by which whoever registers a template says what it holds, whatever its bytes and names say.
const detailKubernetes = "kubernetes.version"

// contentRead is how much of an image is searched for a version.
const contentRead = 4 << 20

// Patterns of versions, the surest first: beside the name of Kubernetes, with a v, bare. Minors before 16 are versions of other programs.
func versionPatterns() []*regexp.Regexp {
	const number = `1\.(?:1[6-9]|[2-9]\d)\.\d{1,3}`
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(?:kube(?:rnetes)?|k8s)[-_=: ]{0,2}v?(` + number + `)(?:[^0-9.]|\.[^0-9]|$)`),
		regexp.MustCompile(`(?:^|[^0-9A-Za-z.])v(` + number + `)(?:[^0-9.]|\.[^0-9]|$)`),
		regexp.MustCompile(`(?:^|[^0-9A-Za-z.])(` + number + `)(?:[^0-9.]|\.[^0-9]|$)`),
	}
}

// versionIn finds the Kubernetes version in a text, "" when there is none.
func versionIn(text []byte) string {
	for _, p := range versionPatterns() {
		if m := p.FindSubmatch(text); m != nil {
			return "v" + string(m[1])
		}
	}
	return ""
}

// versionInContent finds the version that an image names itself. Only the first two patterns count: bytes hold many numbers.
func versionInContent(content []byte) string {
	for _, p := range versionPatterns()[:2] {
		if m := p.FindSubmatch(content); m != nil {
			return "v" + string(m[1])
		}
	}
	return ""
}

// kubernetesIn is the version that a template holds in a zone: what the operator said, what its details say, what is written in its
// bytes, in the name of its file, in its own name. What its machines are meant for plays no part.
func (s *Server) kubernetesIn(t *template, z *zone) string {
	if v, ok := s.holds[t]; ok {
		return v
	}
	if v, ok := t.details[detailKubernetes]; ok {
		return versionIn([]byte(v))
	}
	if v := s.contentVersion(t.copyIn(z)); v != "" {
		return v
	}
	if u, err := url.Parse(t.url); err == nil {
		if v := versionIn([]byte(path.Base(u.Path))); v != "" {
			return v
		}
	}
	return versionIn([]byte(t.name))
}

// contentVersion reads the version from the first bytes of an image on its store, once.
func (s *Server) contentVersion(cp *templateCopy) string {
	if cp == nil || cp.path == "" || cp.store.engine == nil {
		return ""
	}
	if !cp.searched {
		cp.searched = true
		f, err := os.Open(cp.store.engine.Path(cp.path))
		if err != nil {
			return ""
		}
		defer f.Close()
		head, err := io.ReadAll(io.LimitReader(f, contentRead))
		if err != nil {
			return ""
		}
		cp.kubernetes = versionInContent(head)
	}
	return cp.kubernetes
}

// SetKubernetes says what the templates of an id or a name hold, whatever they say themselves; an empty version means that they hold
// none. It fails when there is no such template or the version is none.
func (s *Server) SetKubernetes(template, version string) error {
	if version != "" && versionIn([]byte(version)) == "" {
		return fmt.Errorf("%q is no version of Kubernetes", version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	found := false
	for _, t := range s.templates.rows {
		if t.live() && (t.id == template || t.name == template) {
			s.holds[t], found = versionIn([]byte(version)), true
		}
	}
	if !found {
		return fmt.Errorf("no template has the id or name %q", template)
	}
	return nil
}
