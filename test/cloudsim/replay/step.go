package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// maxLine bounds a line of a transcript, in bytes.
const maxLine = 32 << 20

// Step is one recorded exchange.
type Step struct {
	Step        int               `json:"step"`
	At          float64           `json:"t"`
	Note        string            `json:"note"`
	As          string            `json:"as"`
	Method      string            `json:"method"`
	Sign        string            `json:"sign"`
	Response    json.RawMessage   `json:"response"` // absent: json; null: none sent
	Command     *string           `json:"command"`
	Params      map[string]string `json:"params"`
	Append      string            `json:"append"`
	BlankAsPlus bool              `json:"blankAsPlus"`
	KeysOf      string            `json:"keysOf"`
	Control     []map[string]any  `json:"control"`
	Burst       int               `json:"burst"`
	Parallel    bool              `json:"parallel"`
	Hangup      bool              `json:"hangup"`
	SetCookie   []string          `json:"setCookie"`
	Status      int               `json:"status"`
	ContentType string            `json:"contentType"`
	Description string            `json:"xdescription"`
	Body        any               `json:"body"`
	Bind        map[string]string `json:"bind"`
}

func (s *Step) command() string {
	if s.Command == nil {
		return ""
	}
	return *s.Command
}

// Read returns the steps of a transcript: a file of one JSON object a line. A file without any step is an error.
func Read(path string) ([]Step, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var steps []Step
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		var s Step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("reading %s, line %d: %w", path, n, err)
		}
		if s.Step > 0 {
			steps = append(steps, s)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s has no steps: it is not a transcript of calls", path)
	}
	return steps, nil
}
