package rows

import (
	"io"
)

// flushAt is how much of a document is gathered before it is written, in bytes.
const flushAt = 1 << 16

// JSON writes the parts as one object, indented by a space per level, with a newline at
// the end. A document that was cut short is none: its closing brace comes last.
func JSON(w io.Writer, parts []Part) error {
	j := writer{w: w}
	j.o.b = append(j.o.b, '{')
	j.o.depth = 1
	for i := range parts {
		if err := j.part(&parts[i]); err != nil {
			return err
		}
	}
	j.o.end('}')
	j.o.b = append(j.o.b, '\n')
	return j.flush()
}

// writer writes what an Object gathers.
type writer struct {
	w io.Writer
	o Object
}

func (j *writer) part(p *Part) error {
	if p.Table == nil {
		if err := j.o.Value(p.Name, p.Value); err != nil {
			return err
		}
		return j.flush()
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
		if len(j.o.b) >= flushAt {
			if err := j.flush(); err != nil {
				return err
			}
		}
	}
	j.o.EndList()
	return j.flush()
}

func (j *writer) flush() error {
	_, err := j.w.Write(j.o.b)
	j.o.b = j.o.b[:0]
	return err
}
