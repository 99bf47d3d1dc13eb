package imagecatalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// maxURL bounds the text that a pattern becomes.
const maxURL = 2048

var errTooLong = fmt.Errorf("the result is longer than %d characters", maxURL)

// pattern is a template whose variables and functions are known to be safe.
type pattern struct{ tmpl *template.Template }

// parsePattern refuses everything but text, the given variables, if, and the functions below.
func parsePattern(text string, variables []string) (*pattern, error) {
	if len(text) > maxURL {
		return nil, errTooLong
	}
	tmpl, err := template.New("url").Option("missingkey=error").Funcs(patternFuncs()).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("not a template: %s", strings.TrimPrefix(err.Error(), "template: "))
	}
	if len(tmpl.Templates()) > 1 {
		return nil, errors.New("a pattern must not define templates")
	}
	if err := checkNodes(tmpl.Root, variables); err != nil {
		return nil, err
	}
	return &pattern{tmpl: tmpl}, nil
}

// fill gives the pattern's text for the values. The values must hold every variable.
func (p *pattern) fill(values map[string]string) (string, error) {
	var out boundedBuilder
	if err := p.tmpl.Execute(&out, values); err != nil {
		if errors.Is(err, errTooLong) {
			return "", errTooLong
		}
		return "", fmt.Errorf("filling in: %s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return out.String(), nil
}

// patternFuncs are all functions of a pattern, beside eq, ne, and, or and not.
func patternFuncs() template.FuncMap {
	return template.FuncMap{
		"lower":      strings.ToLower,
		"upper":      strings.ToUpper,
		"trimPrefix": func(prefix, s string) string { return strings.TrimPrefix(s, prefix) },
		"replace":    replaceBounded,
	}
}

func replaceBounded(from, to, s string) (string, error) {
	if n := strings.Count(s, from); len(s)+n*(len(to)-len(from)) > maxURL {
		return "", errTooLong
	}
	return strings.ReplaceAll(s, from, to), nil
}

// boundedBuilder is a writer that stops at maxURL.
type boundedBuilder struct{ strings.Builder }

func (b *boundedBuilder) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxURL {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}

// checkNodes walks a parse tree and refuses what a pattern may not contain.
func checkNodes(node parse.Node, variables []string) error {
	switch n := node.(type) {
	case nil, *parse.TextNode, *parse.StringNode, *parse.CommentNode:
		return nil
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return checkEach(n.Nodes, variables)
	case *parse.ActionNode:
		return checkPipe(n.Pipe, variables)
	case *parse.IfNode:
		return cmp.Or(checkPipe(n.Pipe, variables), checkNodes(n.List, variables), checkNodes(n.ElseList, variables))
	case *parse.PipeNode:
		return checkPipe(n, variables)
	case *parse.CommandNode:
		return checkEach(n.Args, variables)
	case *parse.FieldNode:
		return checkVariable(n.Ident, variables)
	case *parse.IdentifierNode:
		return checkFunction(n.Ident)
	}
	return fmt.Errorf("%s is not possible in a pattern", node)
}

func checkEach[N parse.Node](nodes []N, variables []string) error {
	for _, n := range nodes {
		if err := checkNodes(n, variables); err != nil {
			return err
		}
	}
	return nil
}

func checkPipe(pipe *parse.PipeNode, variables []string) error {
	if len(pipe.Decl) > 0 {
		return fmt.Errorf("%s: a pattern must not declare variables", pipe)
	}
	return checkEach(pipe.Cmds, variables)
}

func checkVariable(ident, variables []string) error {
	if len(ident) != 1 || !slices.Contains(variables, ident[0]) {
		return fmt.Errorf("unknown variable .%s: known are %s", strings.Join(ident, "."), strings.Join(variables, ", "))
	}
	return nil
}

func checkFunction(name string) error {
	known := append(slices.Sorted(maps.Keys(patternFuncs())), "eq", "ne", "and", "or", "not")
	if !slices.Contains(known, name) {
		return fmt.Errorf("unknown function %s: known are %s", name, strings.Join(known, ", "))
	}
	return nil
}
