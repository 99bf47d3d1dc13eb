package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capcat/capcat/test/cloudsim"
)

const (
	maxInventory = 16 << 20 // bytes of an answer of the simulator
	askTimeout   = 30 * time.Second
)

// Inventory is what the users of the simulated CloudStack have.
func (c *Cloud) Inventory(ctx context.Context) (cloudsim.Inventory, error) {
	var in cloudsim.Inventory
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Control+"/inventory", nil)
	if err != nil {
		return in, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return in, fmt.Errorf("asking for the inventory: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxInventory)).Decode(&in); err != nil {
		return in, fmt.Errorf("reading the inventory: %w", err)
	}
	return in, nil
}

// Leaks tells what CloudStack has now (+) and had not before, and what it has lost (-). Templates, which outlive clusters, do not
// count; neither do jobs.
func Leaks(before, after cloudsim.Inventory) string {
	ofTemplates := func(t cloudsim.InventoryTag) bool { return t.ResourceType == "Template" }
	before.Tags = slices.DeleteFunc(slices.Clone(before.Tags), ofTemplates)
	after.Tags = slices.DeleteFunc(slices.Clone(after.Tags), ofTemplates)
	return cmp.Diff(before, after, cmpopts.IgnoreFields(cloudsim.Inventory{}, "Now", "Jobs", "Templates"), cmpopts.EquateEmpty())
}
