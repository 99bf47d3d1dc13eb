package workload

import (
	"fmt"
	"regexp"
	"strings"
)

// Expressions of jinja that user data for machines uses: a variable, perhaps with a default or a filter of letters.
var jinjaExpression = regexp.MustCompile(`\{\{-?\s*([^{}]*?)\s*-?\}\}`)

// renderJinja replaces variables by their values. One that is not known becomes CI_MISSING_JINJA_VAR/name, as cloud-init has it.
func renderJinja(text string, values map[string]string) (string, []string) {
	var missing []string
	out := jinjaExpression.ReplaceAllStringFunc(text, func(whole string) string {
		parts := strings.Split(jinjaExpression.FindStringSubmatch(whole)[1], "|")
		name := strings.TrimSpace(parts[0])
		value, known := jinjaValue(name, values)
		for _, f := range parts[1:] {
			value, known = jinjaFilter(strings.TrimSpace(f), value, known)
		}
		if !known {
			missing = append(missing, fmt.Sprintf("could not render jinja template variable %q", name))
			return "CI_MISSING_JINJA_VAR/" + name
		}
		return value
	})
	return out, missing
}

// jinjaValue is a variable, by the path with dots or with brackets, or a quoted text.
func jinjaValue(name string, values map[string]string) (string, bool) {
	if len(name) > 1 && (name[0] == '"' || name[0] == '\'') && name[len(name)-1] == name[0] {
		return name[1 : len(name)-1], true
	}
	path := strings.NewReplacer(`["`, ".", `"]`, "", `['`, ".", `']`, "", "-", "_").Replace(name)
	v, ok := values[path]
	return v, ok
}

func jinjaFilter(filter, value string, known bool) (string, bool) {
	name, argument, _ := strings.Cut(filter, "(")
	switch strings.TrimSpace(name) {
	case "default", "d":
		if !known {
			return strings.Trim(strings.TrimSuffix(strings.TrimSpace(argument), ")"), `'" `), true
		}
	case "lower":
		return strings.ToLower(value), known
	case "upper":
		return strings.ToUpper(value), known
	case "trim":
		return strings.TrimSpace(value), known
	}
	return value, known
}
