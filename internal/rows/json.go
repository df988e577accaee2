package rows

import (
	"io"
	"sync"
)

// flushAt is how much of a document is gathered before it is written, in bytes, and
// buffers how many such pieces are on their way to the writer at a time.
const (
	flushAt = 1 << 18
	buffers = 3
)

// JSON writes the parts as one object, indented by a space per level, each row of a table on
// a line of its own, with a newline at the end. A document that was cut short is none: its closing brace comes
// last. While rows
// are encoded, by as many workers at a time, w takes those before them in a goroutine of
// its own.
func JSON(w io.Writer, parts []Part, workers int) error {
	j := writer{to: newPipe(w), workers: workers}
	err := j.document(parts)
	if failed := j.to.close(); failed != nil {
		return failed
	}
	return err
}

// writer hands on what an Object gathers.
type writer struct {
	to      *pipe
	o       Object
	workers int
}

func (j *writer) document(parts []Part) error {
	j.o.b = append(j.o.b, '{')
	j.o.depth = 1
	for i := range parts {
		if err := j.part(&parts[i]); err != nil {
			return err
		}
	}
	j.o.end('}')
	j.o.b = append(j.o.b, '\n')
	return j.flush(0)
}

func (j *writer) part(p *Part) error {
	if p.Table == nil {
		if err := j.o.Value(p.Name, p.Value); err != nil {
			return err
		}
		return j.flush(flushAt)
	}
	t := p.Table
	j.o.BeginList(p.Name)
	if err := j.rows(t); err != nil {
		return err
	}
	j.o.EndList()
	return j.flush(flushAt)
}

func (j *writer) rows(t *Table) error {
	if t.Fields != nil {
		return j.blocks(t)
	}
	for i := range t.N {
		if err := j.o.row(t.Value(i)); err != nil {
			return err
		}
		if err := j.flush(flushAt); err != nil {
			return err
		}
	}
	return nil
}

// blockRows is how many rows a worker encodes before it takes others.
const blockRows = 64

// block is some rows of a table and the worker's result.
type block struct {
	first, last int // the last one is not part of it
	o           Object
	done        chan struct{}
}

// blocks writes rows that workers encode, each with a function of its own. Some blocks
// more than workers are under way, so that none waits for the one that is written next.
func (j *writer) blocks(t *Table) error {
	if err := j.flush(0); err != nil {
		return err
	}
	ring := make([]block, 2*j.workers)
	todo := make(chan *block, len(ring))
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(todo)
	for range min(j.workers, (t.N+blockRows-1)/blockRows) {
		fields := t.Fields()
		workers.Go(func() { encode(fields, todo) })
	}
	begun := 0
	for first := 0; first < t.N; first += blockRows {
		for ; begun < t.N && begun < first+len(ring)*blockRows; begun += blockRows {
			b := &ring[begun/blockRows%len(ring)]
			b.first, b.last = begun, min(begun+blockRows, t.N)
			b.o.depth, b.o.more, b.done = j.o.depth, begun > 0, make(chan struct{})
			todo <- b
		}
		b := &ring[first/blockRows%len(ring)]
		<-b.done
		next, err := j.to.hand(b.o.b)
		if b.o.b = next; err != nil {
			return err
		}
		j.o.more = true
	}
	return nil
}

// encode is a worker.
func encode(fields func(*Object, int), todo <-chan *block) {
	for b := range todo {
		for i := b.first; i < b.last; i++ {
			b.o.begin()
			fields(&b.o, i)
			b.o.finish()
		}
		close(b.done)
	}
}

// flush hands on what was gathered, if it is so much.
func (j *writer) flush(least int) error {
	if len(j.o.b) < least {
		return nil
	}
	next, err := j.to.hand(j.o.b)
	j.o.b = next
	return err
}

// pipe writes buffers in a goroutine of its own, in order.
type pipe struct {
	full, empty  chan []byte
	failed, done chan struct{} // closed when writing failed, and when all is written
	err          error         // why it failed; the goroutine's until one of them is closed
}

func newPipe(w io.Writer) *pipe {
	p := &pipe{full: make(chan []byte, buffers), empty: make(chan []byte, buffers), failed: make(chan struct{}),
		done: make(chan struct{})}
	for range buffers {
		p.empty <- nil
	}
	go p.write(w)
	return p
}

func (p *pipe) write(w io.Writer) {
	defer close(p.done)
	for b := range p.full {
		if p.err == nil {
			if _, p.err = w.Write(b); p.err != nil {
				close(p.failed)
			}
		}
		p.empty <- b[:0]
	}
}

// hand gives b to be written and returns an empty buffer; an error is that of an earlier one.
func (p *pipe) hand(b []byte) ([]byte, error) {
	p.full <- b
	next := <-p.empty
	select {
	case <-p.failed:
		return next, p.err
	default:
		return next, nil
	}
}

// close waits until all is written and returns the first error.
func (p *pipe) close() error {
	close(p.full)
	<-p.done
	return p.err
}
