package cloudstack

import (
	"context"
	"maps"
)

// pageSize is the most that a server with default settings gives in one page.
const pageSize = 500

// maxRows bounds every list.
const maxRows = 200_000

// walks is how often a list is walked at most until its reading is complete.
const walks = 4

// page is one page of a list: its rows, and the number of all rows.
type page[T any] struct {
	rows  []T
	count int
}

// pager reads one list.
type pager[T any] struct {
	command string
	// id tells rows apart.
	id func(T) string
	// get reads the page of that number, from 1.
	get func(ctx context.Context, number, size int) (page[T], error)
}

// walk reads a whole list page by page. Rows move between pages when others come or go meanwhile, so a reading that saw
// fewer different rows than the list claims is repeated until it is whole or two readings agree. What comes back is
// complete, or it is an error.
func walk[T any](ctx context.Context, p pager[T]) ([]T, error) {
	size := pageSize
	var before map[string]bool
	for range walks {
		rows, seen, claimed, err := p.read(ctx, size)
		if allowed, ok := allowedPageSize(err); ok && allowed < size {
			size = allowed
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(rows) >= claimed || maps.Equal(seen, before) {
			return rows, nil
		}
		before = seen
	}
	return nil, newError(Unavailable, p.command, "the list changed during each of %d readings", walks)
}

func (p pager[T]) read(ctx context.Context, size int) (rows []T, seen map[string]bool, claimed int, err error) {
	seen = map[string]bool{}
	for number := 1; len(rows) < maxRows; number++ {
		got, err := p.get(ctx, number, size)
		if err != nil {
			return nil, nil, 0, err
		}
		for _, row := range got.rows {
			if key := p.id(row); !seen[key] {
				seen[key] = true
				rows = append(rows, row)
			}
		}
		claimed = got.count
		if len(got.rows) == 0 || (len(got.rows) < size && len(rows) >= got.count) {
			return rows, seen, claimed, nil
		}
	}
	return rows, seen, claimed, nil
}
