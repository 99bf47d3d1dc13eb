package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
)

// journal reads the calls that the account has made so far.
func (s *site) journal(ctx context.Context) ([]cloudsim.Entry, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cloud.Control+"/journal", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking for the journal: %w", err)
	}
	defer resp.Body.Close()
	var all []cloudsim.Entry
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	return all, nil
}

// bill is what a part of a crew's life cost.
type bill struct {
	calls int
	began time.Time
	took  time.Duration
}

func (b bill) each(n int) float64 { return float64(b.calls) / float64(n) }

// measure counts the calls and takes the time of something, and gives the calls.
func (s *site) measure(ctx context.Context, do func(context.Context) error) (bill, []cloudsim.Entry, error) {
	before, err := s.journal(ctx)
	if err != nil {
		return bill{}, nil, err
	}
	began := time.Now()
	if err := do(ctx); err != nil {
		return bill{}, nil, err
	}
	took := time.Since(began)
	after, err := s.journal(ctx)
	if err != nil {
		return bill{}, nil, err
	}
	calls := after[len(before):]
	return bill{calls: len(calls), began: began, took: took}, calls, nil
}

// parts is where the time of a creation went.
type parts struct {
	// head ends with the first deployment, deploying with the last, and tail, after the job of that one, when it was seen and told.
	head, deploying, tail time.Duration
}

// partsOf parts the time of a creation by its calls.
func partsOf(b bill, calls []cloudsim.Entry) parts {
	var deployed []time.Time
	for _, c := range calls {
		if c.Command == "deployVirtualMachine" {
			deployed = append(deployed, c.Time)
		}
	}
	if len(deployed) == 0 {
		return parts{head: b.took}
	}
	first, last := slices.MinFunc(deployed, time.Time.Compare), slices.MaxFunc(deployed, time.Time.Compare)
	return parts{head: first.Sub(b.began), deploying: last.Sub(first), tail: b.began.Add(b.took).Sub(last.Add(deployTakes))}
}

func (p parts) String() string {
	return fmt.Sprintf("%s + %s + %s + %s s", number(p.head.Seconds()), number(p.deploying.Seconds()), number(deployTakes.Seconds()), number(p.tail.Seconds()))
}

// atOnce is how many deployments were under way at one time, at most.
func atOnce(calls []cloudsim.Entry) int {
	var begun []time.Time
	most := 0
	for _, c := range calls {
		if c.Command != "deployVirtualMachine" {
			continue
		}
		begun = append(begun, c.Time)
		for c.Time.Sub(begun[0]) >= deployTakes {
			begun = begun[1:]
		}
		most = max(most, len(begun))
	}
	return most
}
