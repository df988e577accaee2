package rows

import "io"

// flushAt is how much of a document is gathered before it is written, in bytes, and
// buffers how many such pieces are on their way to the writer at a time.
const (
	flushAt = 1 << 18
	buffers = 3
)

// JSON writes the parts as one object, indented by a space per level, with a newline at
// the end. A document that was cut short is none: its closing brace comes last. While rows
// are encoded, w takes those before them in a goroutine of its own.
func JSON(w io.Writer, parts []Part) error {
	j := writer{to: newPipe(w)}
	err := j.document(parts)
	if failed := j.to.close(); failed != nil {
		return failed
	}
	return err
}

// writer hands on what an Object gathers.
type writer struct {
	to *pipe
	o  Object
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
	write := func(i int) error { return j.o.Value("", t.Value(i)) }
	if t.Fields != nil {
		fields := t.Fields()
		write = func(i int) error {
			j.o.Begin("")
			fields(&j.o, i)
			j.o.End()
			return nil
		}
	}
	for i := range t.N {
		if err := write(i); err != nil {
			return err
		}
		if err := j.flush(flushAt); err != nil {
			return err
		}
	}
	j.o.EndList()
	return j.flush(flushAt)
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
	p := &pipe{full: make(chan []byte, buffers), empty: make(chan []byte, buffers), failed: make(chan struct{}), done: make(chan struct{})}
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
