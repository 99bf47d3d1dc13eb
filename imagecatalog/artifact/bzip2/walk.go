package bzip2

const (
	lanes   = 32
	spacing = 1024    // the nodes with multiples of this number are marked
	mark    = 1 << 31 // on entries of marked nodes
	arcs    = nodes/spacing + 1

	rowSize = 1024
	rowStep = rowSize + 64 // between rows of a round: a power of two would make them displace each other in the cache
	// rowRoom holds the rows of all steps, and those cut short: in the last full round, and at the end of each lane.
	rowRoom = (maxBlock/rowSize + 3*lanes) * rowStep
)

// walk follows the nodes of a large block from many places at once, in step, so that the waits for memory overlap. Marked nodes
// divide the way into arcs: a lane walks an arc from its mark to the next mark, then takes another arc that nobody walked.
// At the end the arcs are strung together from the origin on.
type walk struct {
	arcs   [arcs]arc
	todo   []uint32 // marked nodes whose arcs are not begun
	origin uint32

	at     [lanes]uint32 // the node that each lane is at
	lane   [lanes]lane
	active int // lanes from here on have no arc

	rows   []byte // what the lanes read on their ways
	used   int32  // how much of rows
	pieces []piece
}

// arc is the way from one mark to the next.
type arc struct {
	first int32  // index of its first piece
	next  uint32 // the marked node where it ends
}

// piece is a part of an arc that lies in one row.
type piece struct {
	at, size int32 // in rows
	next     int32 // index of the next piece of the arc, or 0
}

// lane is one walk.
type lane struct {
	arc  *arc
	last int32 // index of the arc's last piece so far, or 0
	row  int32 // where the lane's row is in rows
	from int32 // where in the row the arc, or its part in this row, begins
}

// run fills block with the bytes of the nodes from origin on.
func (w *walk) run(next *[nodes]uint32, block []byte, origin uint32) {
	w.reset(next, len(block), origin)
	for w.active == lanes && len(w.todo) > 0 {
		w.newRows(rowStep)
		w.round(next)
		w.endRows()
	}
	w.dismiss()
	for w.active > 0 {
		w.newRows(rowSize)
		w.lastRound(next)
		w.endRows()
	}
	w.join(block)
}

// reset marks nodes and puts the lanes on the first of them.
func (w *walk) reset(next *[nodes]uint32, n int, origin uint32) {
	if w.rows == nil {
		w.rows = make([]byte, rowRoom)
	}
	w.todo, w.pieces = w.todo[:0], append(w.pieces[:0], piece{})
	w.used, w.active, w.origin = 0, lanes, origin
	for node := uint32(0); node < uint32(n); node += spacing {
		w.todo = append(w.todo, node)
	}
	if origin%spacing != 0 {
		w.todo = append(w.todo, origin)
	}
	for _, node := range w.todo {
		next[node] |= mark
	}
	next[nodeMask] = nodeMask << 8 // where lanes without an arc walk on the spot
	for i := range w.lane {
		node := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.lane[i] = lane{arc: w.arcFrom(node)}
		w.at[i] = node
	}
}

// arcFrom returns the arc that begins at a marked node.
func (w *walk) arcFrom(node uint32) *arc {
	if node%spacing != 0 {
		return &w.arcs[arcs-1]
	}
	return &w.arcs[node/spacing]
}

// dismiss drops the lanes without an arc.
func (w *walk) dismiss() {
	for i := 0; i < w.active; {
		if w.lane[i].arc != nil {
			i++
			continue
		}
		w.active--
		w.lane[i], w.at[i] = w.lane[w.active], w.at[w.active]
	}
}

// newRows gives each lane a row.
func (w *walk) newRows(step int32) {
	for i := range w.lane[:w.active] {
		w.lane[i].row, w.lane[i].from = w.used, 0
		w.used += step
	}
}

func (w *walk) endRows() {
	for i := range w.lane[:w.active] {
		w.lane[i].endPiece(w, rowSize)
	}
}

// round fills the rows of all lanes.
func (w *walk) round(next *[nodes]uint32) {
	const group = 8
	rows := w.rows[w.lane[0].row:][:lanes*rowStep]
	for t := range rowSize {
		for i := 0; i < lanes; i += group {
			at := (*[group]uint32)(w.at[i:])
			e0, e1, e2, e3 := next[at[0]&nodeMask], next[at[1]&nodeMask], next[at[2]&nodeMask], next[at[3]&nodeMask]
			e4, e5, e6, e7 := next[at[4]&nodeMask], next[at[5]&nodeMask], next[at[6]&nodeMask], next[at[7]&nodeMask]
			if (e0|e1|e2|e3|e4|e5|e6|e7)&mark != 0 {
				w.meet(next, i, group, int32(t))
				continue
			}
			column := (*[(group-1)*rowStep + 1]byte)(rows[i*rowStep+t:])
			column[0*rowStep], column[1*rowStep], column[2*rowStep], column[3*rowStep] = byte(e0), byte(e1), byte(e2), byte(e3)
			column[4*rowStep], column[5*rowStep], column[6*rowStep], column[7*rowStep] = byte(e4), byte(e5), byte(e6), byte(e7)
			at[0], at[1], at[2], at[3] = e0>>8, e1>>8, e2>>8, e3>>8
			at[4], at[5], at[6], at[7] = e4>>8, e5>>8, e6>>8, e7>>8
		}
	}
}

// meet takes step t of some lanes at least one of which is at a mark.
func (w *walk) meet(next *[nodes]uint32, first, count int, t int32) {
	for i := first; i < first+count; i++ {
		e := next[w.at[i]&nodeMask]
		if e&mark != 0 {
			e = w.turn(next, i, t)
		}
		w.rows[w.lane[i].row+t] = byte(e)
		w.at[i] = e >> 8
	}
}

// turn returns the entry that a lane at a mark goes on with: the first of its arc if the arc has only begun, else the first of an arc
// not walked, else that of the spot.
func (w *walk) turn(next *[nodes]uint32, i int, t int32) uint32 {
	l := &w.lane[i]
	if l.last != 0 || l.from != t {
		l.endPiece(w, t)
		l.arc.next = w.at[i]
		l.last, l.from, l.arc = 0, t, nil
		if len(w.todo) == 0 {
			w.at[i] = nodeMask
			return next[nodeMask]
		}
		w.at[i] = w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		l.arc = w.arcFrom(w.at[i])
	}
	return next[w.at[i]] &^ mark
}

// lastRound fills the rows of the lanes that are left, or as far as their arcs go.
func (w *walk) lastRound(next *[nodes]uint32) {
	for t := range int32(rowSize) {
		for i := 0; i < w.active; {
			e := next[w.at[i]&nodeMask]
			if e&mark != 0 {
				if e = w.turn(next, i, t); w.lane[i].arc == nil {
					w.active--
					w.lane[i], w.at[i] = w.lane[w.active], w.at[w.active]
					continue
				}
			}
			w.rows[w.lane[i].row+t] = byte(e)
			w.at[i] = e >> 8
			i++
		}
	}
}

// endPiece ends the lane's piece before a place in its row.
func (l *lane) endPiece(w *walk, end int32) {
	if l.arc == nil || end == l.from {
		return
	}
	index := int32(len(w.pieces))
	w.pieces = append(w.pieces, piece{at: l.row + l.from, size: end - l.from})
	if l.last == 0 {
		l.arc.first = index
	} else {
		w.pieces[l.last].next = index
	}
	l.last, l.from = index, end
}

// join strings the arcs together.
func (w *walk) join(block []byte) {
	for a := w.arcFrom(w.origin); len(block) > 0; a = w.arcFrom(a.next) {
		for i := a.first; i != 0; i = w.pieces[i].next {
			p := w.pieces[i]
			block = block[copy(block, w.rows[p.at:p.at+p.size]):]
		}
	}
}
