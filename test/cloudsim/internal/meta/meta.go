package meta

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:generate go run ./gen

//go:embed apis.jsonl.gz
var compressed []byte

// Param is one parameter of an API.
type Param struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Type is string, uuid, boolean, integer, long, short, double, date, list, map or object.
	Type     string `json:"type"`
	Length   int    `json:"length"`
	Required bool   `json:"required"`
	// Since is the release that introduced the parameter; empty for those that were always there.
	Since string `json:"since,omitempty"`
	// Related names, comma-joined, the APIs that return what an id refers to; nil for parameters that are no ids.
	Related *string `json:"related,omitempty"`
}

// RelatedAPIs lists what Related names.
func (p *Param) RelatedAPIs() []string {
	if p.Related == nil || *p.Related == "" {
		return nil
	}
	return strings.Split(*p.Related, ",")
}

// Field is one field of a response. A field without a name stands for a value that the server does not describe.
type Field struct {
	Name        string  `json:"name,omitempty"`
	Description string  `json:"description,omitempty"`
	Type        string  `json:"type,omitempty"`
	Response    []Field `json:"response,omitempty"`
}

// API is one command.
type API struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Since       string  `json:"since,omitempty"`
	IsAsync     bool    `json:"isasync"`
	Related     *string `json:"related,omitempty"`
	Params      []Param `json:"params"`
	Response    []Field `json:"response"`
}

// Param returns the parameter of that name, which must be in lower case.
func (a *API) Param(name string) (*Param, bool) {
	i := slices.IndexFunc(a.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return &a.Params[i], true
}

// Catalog holds the descriptions, each decoded when it is first asked for. It is not safe for concurrent use.
type Catalog struct {
	raw     map[string][]byte
	decoded map[string]*API
	names   []string
}

// Load unpacks the embedded descriptions.
func Load() (*Catalog, error) {
	zr, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("opening the API descriptions: %w", err)
	}
	c := &Catalog{raw: map[string][]byte{}, decoded: map[string]*API{}}
	lines := bufio.NewScanner(zr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, err := nameOf(lines.Bytes())
		if err != nil {
			return nil, err
		}
		c.raw[name] = bytes.Clone(lines.Bytes())
		c.names = append(c.names, name)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the API descriptions: %w", err)
	}
	return c, nil
}

// nameOf reads the name without decoding the line: the generator writes it first.
func nameOf(line []byte) (string, error) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"name":"`))
	name, _, end := bytes.Cut(rest, []byte(`"`))
	if !ok || !end {
		return "", fmt.Errorf("API description without a name: %.40q", line)
	}
	return string(name), nil
}

// Names lists every API in alphabetical order.
func (c *Catalog) Names() []string { return c.names }

// Get returns the description of an API; the name is case-sensitive.
func (c *Catalog) Get(name string) (*API, bool) {
	if a, ok := c.decoded[name]; ok {
		return a, true
	}
	raw, ok := c.raw[name]
	if !ok {
		return nil, false
	}
	a := &API{}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, false
	}
	c.decoded[name] = a
	return a, true
}
