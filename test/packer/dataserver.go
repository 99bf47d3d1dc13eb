package packer

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// dataServer answers as the virtual router of a CloudStack network does: user data and metadata under /latest.
type dataServer struct {
	userData string
	meta     map[string]string

	mu    sync.Mutex
	asked []string
}

// ServeHTTP answers GET; every path is remembered.
func (s *dataServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	s.mu.Unlock()
	path, found := strings.CutPrefix(r.URL.Path, "/latest/")
	switch key, isMeta := strings.CutPrefix(path, "meta-data"); {
	case !found:
		http.NotFound(w, r)
	case path == "user-data":
		_, _ = io.WriteString(w, s.userData) // a client that hung up
	case isMeta && strings.Trim(key, "/") == "":
		for name := range s.meta {
			fmt.Fprintln(w, name)
		}
	case isMeta:
		value, known := s.meta[strings.Trim(key, "/")]
		if !known {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, value)
	default:
		http.NotFound(w, r)
	}
}

// paths are what was asked for, in order.
func (s *dataServer) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}
