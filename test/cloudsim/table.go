package cloudsim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// base is what every row has: the id on the wire, the number in the database that some texts show, and its life.
type base struct {
	id      string
	db      int64
	created time.Time
	removed time.Time
}

func (b *base) row() *base { return b }

func (b *base) live() bool { return b.removed.IsZero() }

type entity interface {
	comparable
	row() *base
	live() bool
}

// table keeps rows in the order of their creation. Removed rows stay: the server still resolves their ids.
type table[T entity] struct {
	kind  string
	rows  []T
	index map[string]T
	last  int64
}

func newTable[T entity](kind string) *table[T] { return &table[T]{kind: kind, index: map[string]T{}} }

func (t *table[T]) insert(row T) T {
	b := row.row()
	if b.db == 0 {
		b.db = t.last + 1
	}
	t.last = max(t.last, b.db)
	t.rows = append(t.rows, row)
	t.index[strings.ToLower(b.id)] = row
	return row
}

// drop forgets a row for good, as the server does with tags, rules and groups.
func (t *table[T]) drop(row T) {
	delete(t.index, strings.ToLower(row.row().id))
	for i, r := range t.rows {
		if r == row {
			t.rows = append(t.rows[:i:i], t.rows[i+1:]...)
			return
		}
	}
}

// find returns the row of an id, removed or not; the zero value when there is none.
func (t *table[T]) find(id string) T { return t.index[strings.ToLower(id)] }

// byDB returns the row of a database number, the zero value when there is none.
func (t *table[T]) byDB(db int64) (row T) {
	for _, r := range t.rows {
		if r.row().db == db {
			return r
		}
	}
	return row
}

// all returns the rows that are not removed and that keep accepts.
func (t *table[T]) all(keep func(T) bool) []T {
	var out []T
	for _, r := range t.rows {
		if r.live() && keep(r) {
			out = append(out, r)
		}
	}
	return out
}

func (t *table[T]) lookup(id string) (int64, bool) {
	r, ok := t.index[strings.ToLower(id)]
	if !ok {
		return 0, false
	}
	return r.row().db, true
}

func (t *table[T]) name() string { return t.kind }

// lookuper resolves an id of one kind of thing to its database number.
type lookuper interface {
	lookup(id string) (int64, bool)
	name() string
}

// idSource makes ids that depend on nothing but the seed.
type idSource struct{ rnd *rand.Rand }

func newIDs(seed uint64) *idSource {
	return &idSource{rand.New(rand.NewPCG(seed, 0x636c6f756473696d))}
}

func (s *idSource) uuid() string {
	a, b := s.rnd.Uint64(), s.rnd.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}

const keyAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// key makes an API or secret key: 86 characters of URL-safe base64.
func (s *idSource) key() string {
	var b strings.Builder
	for range 86 {
		b.WriteByte(keyAlphabet[s.rnd.IntN(len(keyAlphabet))])
	}
	return b.String()
}

// number reads a database number; "-1" is one.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
