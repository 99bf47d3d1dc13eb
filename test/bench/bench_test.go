package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/capcat/capcat/test/cloudsim"
	"github.com/capcat/capcat/test/controlplane"
)

var plane controlplane.Shared

// TestMain makes the test binary do a child's task, as the real one does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMark {
		main()
		return
	}
	os.Exit(plane.Run(m))
}

func TestBench(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	for _, suite := range []string{suiteDecode, suiteChain} {
		if err := run(t.Context(), []string{"-size", "1", "-rounds", "1", "-dir", dir, "-only", suite}, &out); err != nil {
			t.Fatal(err)
		}
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

func TestChainMakesOnlyItsInput(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-size", "1", "-rounds", "1", "-dir", t.TempDir(), "-only", suiteChain}, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "making"); n != 1 {
		t.Errorf("%d inputs were made:\n%s", n, &out)
	}
}

// TestCalls measures two small crews. How long they take is another matter on a busy machine.
func TestCalls(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-only", suiteCalls, "-crews", "1+1,2x1+1", "-steady", "1s", "-dir", t.TempDir(), "-kubeconfig", plane.Kubeconfig(t)}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"calls for the cluster with its machines", "2x1+1  ", "more calls a minute for each further cluster", "met"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestCrews(t *testing.T) {
	good := map[string]crew{"10": {"10", 1, 0, 10}, "3+4": {"3+4", 1, 3, 4}, "2x3": {"2x3", 2, 0, 3}, "5x3+1": {"5x3+1", 5, 3, 1}}
	for text, want := range good {
		if got, err := parseCrews(text); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "2x", "3+", "a+b", "10,", "9999"} {
		if got, err := parseCrews(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestVerdict(t *testing.T) {
	s := &site{account: account{crew: crew{"100", 1, 0, 100}, founding: bill{calls: 21}, creation: bill{calls: 120}, removal: bill{calls: 100}}}
	var out bytes.Buffer
	err := (&bench{out: &out}).verdict([]*site{s})
	if err == nil || strings.Count(out.String(), "MISSED") != 1 || !strings.Contains(out.String(), "1.20") {
		t.Errorf("%v:\n%s", err, &out)
	}
}

func TestPartsOfACreation(t *testing.T) {
	began := time.Unix(100, 0)
	var calls []cloudsim.Entry
	for _, after := range []time.Duration{3 * time.Second, 2 * time.Second, 7 * time.Second} {
		calls = append(calls, cloudsim.Entry{Command: "deployVirtualMachine", Time: began.Add(after)}, cloudsim.Entry{Command: "listZones", Time: began.Add(time.Hour)})
	}
	got := partsOf(bill{began: began, took: 10 * time.Second}, calls)
	if want := (parts{head: 2 * time.Second, deploying: 5 * time.Second, tail: 1100 * time.Millisecond}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := partsOf(bill{began: began, took: time.Second}, nil); got != (parts{head: time.Second}) {
		t.Errorf("%v without a deployment", got)
	}
}

// TestVerdictOnTime: not slower than the plain client, but for what two measurements differ by.
func TestVerdictOnTime(t *testing.T) {
	tests := map[string]struct {
		plain, manager time.Duration
		missed         bool
	}{
		"as fast": {8 * time.Second, 8 * time.Second, false}, "within a second": {8 * time.Second, 8900 * time.Millisecond, false},
		"slower": {8 * time.Second, 9100 * time.Millisecond, true}, "within a twentieth": {80 * time.Second, 83 * time.Second, false},
		"slower, with many": {80 * time.Second, 85 * time.Second, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := account{crew: crew{"10", 1, 0, 10}, creation: bill{took: tc.manager}, reference: reference{deploy: bill{calls: 11, took: tc.plain}}}
			var l ledger
			a.times(&l)
			if l[0].missed != tc.missed {
				t.Errorf("%+v", l[0])
			}
		})
	}
}

func TestDeploymentsComeOneAfterAnother(t *testing.T) {
	var f front
	began := time.Unix(100, 0)
	rows := []struct{ comes, through time.Duration }{
		{0, deployEach}, {0, 2 * deployEach}, {deployEach / 2, 3 * deployEach}, {10 * deployEach, 11 * deployEach},
	}
	for _, row := range rows {
		if got := row.comes + f.turn(began.Add(row.comes)); got != row.through {
			t.Errorf("what comes after %s is through after %s, want %s", row.comes, got, row.through)
		}
	}
}

func TestAtOnce(t *testing.T) {
	var calls []cloudsim.Entry
	for i := range 10 {
		calls = append(calls, cloudsim.Entry{Command: "deployVirtualMachine", Time: time.Unix(int64(i), 0)}, cloudsim.Entry{Command: "listZones"})
	}
	if n := atOnce(calls); n != 2 {
		t.Errorf("%d, want 2 that take less than two seconds and begin every second", n)
	}
}

func TestArguments(t *testing.T) {
	cases := map[string][]string{
		"unknown flag":  {"-fast"},
		"an argument":   {"fast"},
		"no size":       {"-size", "0"},
		"no rounds":     {"-rounds", "0"},
		"unknown suite": {"-only", "encode"},
		"no crew":       {"-crews", "many"},
		"no steady":     {"-steady", "0s"},
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
