package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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

// measure counts the calls and takes the time of something.
func (s *site) measure(ctx context.Context, do func(context.Context) error) (bill, error) {
	before, err := s.journal(ctx)
	if err != nil {
		return bill{}, err
	}
	began := time.Now()
	if err := do(ctx); err != nil {
		return bill{}, err
	}
	took := time.Since(began)
	after, err := s.journal(ctx)
	return bill{calls: len(after) - len(before), took: took}, err
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
