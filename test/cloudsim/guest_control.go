package cloudsim

import (
	"fmt"
	"net/http"
	"net/netip"
)

// GuestRow tells of a machine with what runs in it.
type GuestRow struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	State      string   `json:"state"`
	Zone       string   `json:"zone"`
	Template   string   `json:"template"`
	Kubernetes string   `json:"kubernetes,omitempty"` // that its template holds
	Addresses  []string `json:"addresses"`
	Serves     []string `json:"serves"` // ports, and addresses that it claims
	Boots      int      `json:"boots"`
}

// GuestRows lists the machines that are not expunged.
func (s *Server) GuestRows() []GuestRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	rows := []GuestRow{}
	for _, m := range s.machines.all(everything) {
		r := GuestRow{ID: m.id, Name: m.name, State: m.state, Zone: m.zone.name, Template: m.template.name, Kubernetes: s.kubernetesIn(m.template, m.zone), Boots: m.boots, Addresses: []string{}, Serves: []string{}}
		for _, x := range m.nics {
			r.Addresses = append(r.Addresses, x.address.String())
		}
		if s.opts.Guests != nil {
			for _, at := range s.opts.Guests.Serves(m.id) {
				r.Serves = append(r.Serves, served(at))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func served(at netip.AddrPort) string {
	if at.Addr().IsValid() {
		return at.String()
	}
	return fmt.Sprint(at.Port())
}

// Console returns what a machine, named by its id or its name, has written to its console. It fails when there is none.
func (s *Server) Console(machine string) (string, error) {
	s.mu.Lock()
	ids := []string{machine}
	for _, m := range s.machines.rows {
		if m.name == machine {
			ids = append(ids, m.id)
		}
	}
	s.mu.Unlock()
	if s.opts.Guests == nil {
		return "", fmt.Errorf("machines are empty boxes here: nothing writes to the console of %q", machine)
	}
	for i := len(ids) - 1; i >= 0; i-- { // of machines of one name the youngest
		if text, ok := s.opts.Guests.Console(ids[i]); ok {
			return text, nil
		}
	}
	return "", fmt.Errorf("no machine with the id or name %q has run", machine)
}

// handleGuests serves what the operator may see of the guests.
func (s *Server) handleGuests(mux *http.ServeMux) {
	mux.HandleFunc("GET /guests", control(func(struct{}) (any, error) { return s.GuestRows(), nil }))
	mux.HandleFunc("GET /listeners", control(func(struct{}) (any, error) {
		open, failed := s.Listening()
		if open == nil {
			open = []netip.AddrPort{}
		}
		return map[string]any{"open": open, "failed": failed}, nil
	}))
	mux.HandleFunc("POST /kubernetes", control(func(in struct {
		Template string `json:"template"`
		Version  string `json:"version"`
	}) (any, error) {
		return in, s.SetKubernetes(in.Template, in.Version)
	}))
	mux.HandleFunc("GET /console", func(w http.ResponseWriter, r *http.Request) {
		text, err := s.Console(r.URL.Query().Get("id"))
		if err != nil {
			w.Header().Set("Content-Type", "application/json")
			controlError(w, err)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(text)) // a client that left is not an error of the server
	})
}
