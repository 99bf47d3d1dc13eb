package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestMain makes the test binary do a child's task, as the real one does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMark {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestBench(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	if err := run(t.Context(), []string{"-size", "1", "-rounds", "1", "-dir", dir}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"decode disk.qcow2", "decode machine.ova", "decode zeros.raw", "capcat, 2 workers", "whole chain", "by hand"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	out.Reset()
	if err := run(t.Context(), []string{"-size", "1", "-rounds", "1", "-dir", dir, "-only", "chain"}, &out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "making") || strings.Contains(out.String(), "decode") {
		t.Errorf("made again or not left out:\n%s", &out)
	}
}

func TestArguments(t *testing.T) {
	cases := map[string][]string{
		"unknown flag":  {"-fast"},
		"an argument":   {"fast"},
		"no size":       {"-size", "0"},
		"no rounds":     {"-rounds", "0"},
		"unknown suite": {"-only", "encode"},
		"unknown task":  {childMark, "sing"},
		"no task":       {childMark},
		"too few":       {childMark, "decode", "2"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestFigure(t *testing.T) {
	cases := map[string]struct {
		values []float64
		want   string
	}{
		"one":  {[]float64{2}, "2.00 [2.00-2.00]"},
		"odd":  {[]float64{3, 1, 2}, "2.00 [1.00-3.00]"},
		"even": {[]float64{4, 1, 3, 2}, "2.50 [1.00-4.00]"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := figureOf(c.values).String(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
