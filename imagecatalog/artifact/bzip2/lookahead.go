package bzip2

import "slices"

// lookahead finds candidates for blocks in the input and has them decoded before it is their turn. What it holds is bounded: a
// number of candidates, each of at most maxCompressed bytes, and limit bytes of input.
type lookahead struct {
	in      *window
	scanner *scanner
	crew    *crew
	limit   int64  // bytes of input
	queue   int    // candidates
	jobs    []*job // those in flight by their start
	spare   []*job
	open    int64 // start of the candidate whose end is not found yet, or none
	next    int64 // bit from which to look for the next magic
}

const none = -1

func (l *lookahead) init(in *window, workers int) {
	l.in = in
	l.scanner = newScanner()
	l.limit = maxCompressed + int64(workers)<<20
	l.queue = 2*workers + 1
	l.crew = newCrew(workers, l.queue)
	l.open = none
}

// candidate returns the block that begins at the bit at, decoded if there was such a candidate, else with errShort. It keeps the
// workers busy meanwhile.
func (l *lookahead) candidate(at int64) (*job, error) {
	for {
		if err := l.drop(at); err != nil {
			return nil, err
		}
		l.dispatch(at)
		var head *job
		if len(l.jobs) > 0 && l.jobs[0].start == at {
			head = l.jobs[0]
		}
		if head != nil && head.ready() {
			l.jobs = slices.Delete(l.jobs, 0, 1)
			return head, nil
		}
		switch {
		case head == nil && l.open != at:
			return l.undecoded(at), nil
		case len(l.jobs) < l.queue && l.in.end()-at/8 < l.limit && l.in.more(at/8):
		case head != nil:
			if err := l.crew.wait(head); err != nil {
				return nil, err
			}
		case l.in.err == nil:
			return l.undecoded(at), nil // no magic within the limit
		}
	}
}

// drop removes the candidates before at: false ones within a block that is done with.
func (l *lookahead) drop(at int64) error {
	for len(l.jobs) > 0 && l.jobs[0].start < at {
		if err := l.crew.wait(l.jobs[0]); err != nil {
			return err
		}
		l.recycle(l.jobs[0])
		l.jobs = slices.Delete(l.jobs, 0, 1)
	}
	if l.open < at {
		l.open = none
	}
	l.next = max(l.next, at)
	return nil
}

// dispatch gives the crew every candidate whose end is known, as far as the queue has room. The input's end ends a candidate too.
func (l *lookahead) dispatch(at int64) {
	for len(l.jobs) < l.queue {
		base := l.in.end() - int64(len(l.in.buf))
		bit, isEnd, resume, ok := l.scanner.find(l.in.buf, int(l.next-base*8))
		if !ok {
			l.next = max(l.next, (base+int64(resume))*8)
			if l.open != none && l.in.err != nil {
				l.give(l.in.end())
			}
			return
		}
		start := base*8 + int64(bit)
		if l.open != none {
			l.give((start + 7) / 8)
		}
		if !isEnd {
			l.open = start
		}
		l.next = start + 1
	}
}

// give has the open candidate decoded, which ends before a byte.
func (l *lookahead) give(end int64) {
	j := l.undecoded(l.open)
	data := l.in.from(l.open / 8)
	j.load(data[:min(end-l.open/8, maxCompressed)])
	l.jobs = append(l.jobs, j)
	l.open = none
	l.crew.give(j)
}

// undecoded returns a job that nobody works on.
func (l *lookahead) undecoded(start int64) *job {
	j := new(job)
	if n := len(l.spare); n > 0 {
		j, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	j.start = start
	j.block.err = errShort
	j.done = make(chan struct{})
	return j
}

func (l *lookahead) recycle(j *job) { l.spare = append(l.spare, j) }
