package bzip2

import (
	"slices"
	"sync"
)

// job is a candidate for a block: input from a block magic up to the next magic, too little if that is a false one.
type job struct {
	start int64  // bit in the input
	data  []byte // from the byte of start on, with padding
	size  int    // of data without padding
	block block
	done  chan struct{} // closed when block is set
}

// load copies what the job is to decode.
func (j *job) load(data []byte) {
	j.data = slices.Grow(j.data[:0], len(data)+padding)[:len(data)+padding]
	j.size = copy(j.data, data)
}

func (j *job) ready() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// crew is the workers that decode jobs. They start with the first job.
type crew struct {
	size int
	jobs chan *job
	stop chan struct{}

	mu      sync.Mutex // serialises start and close
	started bool
	closed  bool
	workers sync.WaitGroup
}

// newCrew makes a crew of a size that is never given more jobs than queue before they are done.
func newCrew(size, queue int) *crew {
	return &crew{size: size, jobs: make(chan *job, queue), stop: make(chan struct{})}
}

// give has a job done.
func (c *crew) give(j *job) {
	c.start()
	c.jobs <- j
}

func (c *crew) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started || c.closed {
		return
	}
	c.started = true
	for range c.size {
		c.workers.Go(c.work)
	}
}

func (c *crew) work() {
	d := new(decoder)
	for {
		select {
		case <-c.stop:
			return
		case j := <-c.jobs:
			d.decode(j)
			close(j.done)
		}
	}
}

// wait returns when a job is done, or with ErrClosed when the crew is closed.
func (c *crew) wait(j *job) error {
	select {
	case <-j.done:
		return nil
	case <-c.stop:
		return ErrClosed
	}
}

// close stops the workers and waits until they have ended, each at latest after the block it is at.
func (c *crew) close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.stop)
	}
	c.mu.Unlock()
	c.workers.Wait()
}
