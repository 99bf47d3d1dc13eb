package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// finding is one line of the verdict: what was measured, and whether that is as good as it should be.
type finding struct {
	crew, what, got, goal string
	missed                bool
}

// ledger collects findings.
type ledger []finding

// note adds a figure without a goal.
func (l *ledger) note(crew, what, got string) {
	*l = append(*l, finding{crew: crew, what: what, got: got})
}

// most adds a figure that must not be above its goal.
func (l *ledger) most(crew, what string, got, goal float64, unit string) {
	*l = append(*l, finding{crew, what, number(got) + unit, "at most " + number(goal) + unit, got > goal})
}

// number prints two digits after the point, or none when there are none.
func number(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", f), ".00") }

// verdict prints what was measured beside the goals, and fails when one is missed.
func (b *bench) verdict(sites []*site) error {
	var l ledger
	for _, s := range sites {
		s.findings(&l)
	}
	l.further(sites)
	fmt.Fprintln(b.out, "\ncalls to CloudStack, time and memory of the manager; crews are workers, or control-plane machines + workers")
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  crew\twhat\tmeasured\tgoal\tverdict")
	missed := 0
	for _, f := range l {
		word := ""
		switch {
		case f.missed:
			word = "MISSED"
			missed++
		case f.goal != "":
			word = "met"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", f.crew, f.what, f.got, f.goal, word)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if missed > 0 {
		return fmt.Errorf("%d goals are missed", missed)
	}
	return nil
}

// findings are those of one crew.
func (a *account) findings(l *ledger) {
	n := a.size()
	if a.clusters == 1 {
		l.most(a.name, "calls for the cluster without machines", float64(a.founding.calls), goalCluster, "")
	}
	l.note(a.name, "time for clusters without machines", number(a.founding.took.Seconds())+" s")
	switch {
	case a.controlPlanes > 0 && a.clusters == 1 && n <= small:
		l.most(a.name, "calls for the cluster with its machines", float64(a.founding.calls+a.creation.calls), goalSmall, "")
	case a.controlPlanes > 0 || n < amortised:
		l.note(a.name, "calls for each machine", number(a.creation.each(n)))
	default:
		l.most(a.name, "calls for each machine", a.creation.each(n), goalWorker, "")
	}
	a.times(l)
	if n < page && a.clusters == 1 {
		l.most(a.name, "calls a minute in the steady state", a.steady, goalSteady, "")
	} else {
		l.note(a.name, "calls a minute in the steady state", number(a.steady))
	}
	if n >= small {
		l.most(a.name, "calls to delete each machine", a.removal.each(n), goalDelete, "")
	} else {
		l.note(a.name, "calls to delete each machine", number(a.removal.each(n)))
	}
	l.note(a.name, "calls to delete the clusters after that", fmt.Sprint(a.ending.calls))
	if a.peakKnown {
		l.most(a.name, "resident memory of the manager at its peak", a.peak, goalManager, " MiB")
	}
}

// times are the findings about time.
func (a *account) times(l *ledger) {
	n := a.size()
	if a.reference.deploy.calls == 0 {
		l.note(a.name, "time until all machines are provisioned", number(a.creation.took.Seconds())+" s")
		l.note(a.name, "time to delete the machines", number(a.removal.took.Seconds())+" s")
		return
	}
	plain := a.reference.deploy.took
	if n <= pacedMost {
		most := plain + max(toleranceLeast, plain/toleranceShare)
		l.most(a.name, "time until all machines are provisioned, against a plain client", a.creation.took.Seconds(), most.Seconds(), " s")
		l.note(a.name, "of that: to the first deployment, to the last, its job, until it is told", a.parts.String())
	} else {
		l.note(a.name, "time until all machines are provisioned", number(a.creation.took.Seconds())+" s")
		f := finding{a.name, "deployments under way at one time", fmt.Sprint(a.atOnce), fmt.Sprintf("more than %d workers", managerWorkers), a.atOnce <= managerWorkers}
		*l = append(*l, f)
	}
	l.note(a.name, "time of a plain client to deploy as many", number(plain.Seconds())+" s")
	l.note(a.name, "of that", a.reference.parts.String())
	if n == destroys {
		l.most(a.name, "time to delete the machines", a.removal.took.Seconds(), goalDestroys.Seconds(), " s")
	} else {
		l.note(a.name, "time to delete the machines", number(a.removal.took.Seconds())+" s")
	}
	l.note(a.name, "time to destroy as many with a plain client", number(a.reference.destroy.took.Seconds())+" s")
}

// further compares crews of several clusters with the crew of one such cluster.
func (l *ledger) further(sites []*site) {
	for _, several := range sites {
		for _, one := range sites {
			if several.clusters > 1 && one.clusters == 1 && one.controlPlanes == several.controlPlanes && one.workers == several.workers {
				more := (several.steady - one.steady) / float64(several.clusters-1)
				l.most(several.name, "more calls a minute for each further cluster", more, goalFurther, "")
			}
		}
	}
}
