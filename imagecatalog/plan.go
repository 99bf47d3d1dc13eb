package imagecatalog

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Existing is an image object that a catalog made earlier.
type Existing struct {
	// Name of the object.
	Name string
	// Entry that the object was made for.
	Entry Entry
	// Imported says that its bytes have been imported, so that its content is fixed.
	Imported bool
}

// Item is an image object that a catalog wants.
type Item struct {
	// Name of the object.
	Name string
	// Entry that the object is for.
	Entry Entry
}

// RetireCause says why an object is not wanted any more.
type RetireCause string

// The causes of retirement.
const (
	// CauseRemoved: the catalog does not name the image any more.
	CauseRemoved RetireCause = "Removed"
	// CauseExpired: the expiration date has come.
	CauseExpired RetireCause = "Expired"
	// CauseRetention: newer patch versions take its place.
	CauseRetention RetireCause = "BeyondRetention"
)

// Retirement is an object that is not wanted any more.
type Retirement struct {
	// Name of the object.
	Name string
	// Cause in one word.
	Cause RetireCause
	// Message in words.
	Message string
}

// Plan is what to do for a catalog. Every list is ordered by name.
type Plan struct {
	// Create are wanted and do not exist.
	Create []Item
	// Keep are wanted and exist; their objects follow the catalog in all but content.
	Keep []Item
	// Changed are wanted with other content than was imported, which is impossible: the objects stay as they are.
	Changed []Item
	// Retire exist and are not wanted.
	Retire []Retirement
	// Next is when time alone changes the plan; zero when it never does.
	Next time.Time
}

// Wanted gives all objects that the catalog wants, ordered by name.
func (p *Plan) Wanted() []Item {
	all := slices.Concat(p.Create, p.Keep, p.Changed)
	slices.SortFunc(all, byName)
	return all
}

// PlanInput is what a plan depends on.
type PlanInput struct {
	// Catalog is the name of the catalog.
	Catalog string
	// Desired are the entries that the catalog expands to.
	Desired []Entry
	// Existing are the objects of the catalog.
	Existing []Existing
	// KeepPatchesPerMinor is the retention; zero keeps all.
	KeepPatchesPerMinor int32
	// Now is the time of the plan.
	Now time.Time
}

// MakePlan compares what a catalog wants with what exists. Expired entries count for nothing, not even for retention.
func MakePlan(in PlanInput) Plan {
	var plan Plan
	dropped := map[string]Retirement{}
	wanted := in.wanted(&plan, dropped)
	existing := make(map[string]*Existing, len(in.Existing))
	for i := range in.Existing {
		e := &in.Existing[i]
		existing[e.Name] = e
		if _, ok := wanted[e.Name]; !ok {
			plan.Retire = append(plan.Retire, retirementOf(e.Name, dropped))
		}
	}
	for name, entry := range wanted {
		item := Item{Name: name, Entry: *entry}
		switch have := existing[name]; {
		case have == nil:
			plan.Create = append(plan.Create, item)
		case have.Imported && !have.Entry.SameContent(entry):
			plan.Changed = append(plan.Changed, item)
		default:
			plan.Keep = append(plan.Keep, item)
		}
	}
	for _, list := range [][]Item{plan.Create, plan.Keep, plan.Changed} {
		slices.SortFunc(list, byName)
	}
	slices.SortFunc(plan.Retire, func(a, b Retirement) int { return cmp.Compare(a.Name, b.Name) })
	return plan
}

// wanted gives the living entries by the names of their objects, notes the others, and the next date of expiration.
func (in *PlanInput) wanted(plan *Plan, dropped map[string]Retirement) map[string]*Entry {
	var living []Entry
	for i := range in.Desired {
		e := &in.Desired[i]
		if e.Life.Expired(in.Now) {
			dropped[ObjectName(in.Catalog, e)] = Retirement{
				Cause:   CauseExpired,
				Message: fmt.Sprintf("expired on %s", e.Life.Expires.UTC().Format(time.RFC3339)),
			}
			continue
		}
		if !e.Life.Expires.IsZero() && (plan.Next.IsZero() || e.Life.Expires.Before(plan.Next)) {
			plan.Next = e.Life.Expires
		}
		living = append(living, *e)
	}
	beyond := beyondRetention(living, in.KeepPatchesPerMinor)
	wanted := make(map[string]*Entry, len(living))
	for i := range living {
		e := &living[i]
		name := ObjectName(in.Catalog, e)
		if beyond[i] {
			dropped[name] = Retirement{Cause: CauseRetention, Message: beyondMessage(in.KeepPatchesPerMinor, e.Version)}
			continue
		}
		wanted[name] = e
	}
	return wanted
}

func retirementOf(name string, dropped map[string]Retirement) Retirement {
	r, ok := dropped[name]
	if !ok {
		r = Retirement{Cause: CauseRemoved, Message: "the catalog does not name it any more"}
	}
	r.Name = name
	return r
}

func byName(a, b Item) int { return cmp.Compare(a.Name, b.Name) }
