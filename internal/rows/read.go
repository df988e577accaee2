package rows

import (
	"bufio"
	"fmt"
	"io"
	"sync"
)

// batchBytes is how much of a list is read before a worker decodes it.
const batchBytes = 1 << 17

// batch is some rows of a list, one behind the other, and what a worker makes of them.
type batch[T any] struct {
	data []byte
	ends []int // of each row in data
	rows []T
	err  error
	done chan struct{}
}

// ReadList reads a list of objects that stands next in in, up to its closing bracket. As
// many workers decode rows at a time, from bytes that decode must not keep; keep gets them in
// their order, in the calling goroutine. Of several errors that of the first row is returned.
// What is between the rows is checked here, what is within them is for decode to check.
func ReadList[T any](in *bufio.Reader, workers int, decode func(row []byte) (T, error), keep func(T)) error {
	if err := expect(in, '['); err != nil {
		return err
	}
	todo := make(chan *batch[T])
	var running sync.WaitGroup
	defer running.Wait()
	defer close(todo)
	for range workers {
		running.Go(func() {
			for b := range todo {
				b.decode(decode)
			}
		})
	}
	var begun, spare []*batch[T] // those under way, in order, and those that are free again
	finish := func() error {
		b := begun[0]
		<-b.done
		begun, spare = begun[1:], append(spare, b)
		for _, row := range b.rows {
			keep(row)
		}
		return b.err
	}
	s := splitter{in: in, most: mostRow}
	for more := true; more; {
		b := &batch[T]{}
		if n := len(spare); n > 0 {
			b, spare = spare[n-1], spare[:n-1]
		}
		b.data, b.ends, b.done = b.data[:0], b.ends[:0], make(chan struct{})
		var failed error
		for more && failed == nil && len(b.data) < batchBytes {
			if more, failed = s.next(&b.data); more && failed == nil {
				b.ends = append(b.ends, len(b.data))
			}
		}
		todo <- b
		begun = append(begun, b)
		for len(begun) > 0 && (len(begun) > workers || !more || failed != nil) {
			if err := finish(); err != nil {
				return err
			}
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// decode makes rows of a batch, up to the first that is wrong.
func (b *batch[T]) decode(row func([]byte) (T, error)) {
	defer close(b.done)
	b.rows, b.err = b.rows[:0], nil
	from := 0
	for _, end := range b.ends {
		t, err := row(b.data[from:end])
		if err != nil {
			b.err = err
			return
		}
		b.rows = append(b.rows, t)
		from = end
	}
}

// splitter cuts a list into its rows.
type splitter struct {
	in   *bufio.Reader
	most int  // bytes of a row
	any  bool // a row was read
}

// mostRow is the longest row that is read, in bytes: that of a message with two million stages or
// losses.
const mostRow = 256 << 20

// next appends the next row to a buffer; it reports false behind the list's bracket.
func (s *splitter) next(to *[]byte) (more bool, err error) {
	c, err := solid(s.in)
	if err == nil && c == ',' && s.any {
		c, err = solid(s.in)
	} else if err == nil && c == ']' {
		return false, nil
	} else if err == nil && s.any {
		return false, fmt.Errorf("%q where a comma or the end of a list is expected", c)
	}
	if err != nil {
		return false, err
	}
	if c != '{' {
		return false, fmt.Errorf("%q where an object is expected", c)
	}
	s.any = true
	*to = append(*to, c)
	begun := len(*to)
	for o := (object{depth: 1}); o.depth > 0; {
		if _, err := s.in.Peek(1); err != nil {
			return false, short(err)
		}
		data, _ := s.in.Peek(s.in.Buffered())
		n := o.end(data)
		if *to = append(*to, data[:n]...); len(*to)-begun > s.most {
			return false, fmt.Errorf("a row of more than %d MiB, which no run has", s.most>>20)
		}
		if _, err := s.in.Discard(n); err != nil {
			return false, err
		}
	}
	return true, nil
}

// object is how deep in an object a byte stands.
type object struct {
	depth            int
	inString, escape bool
}

// end returns how many of the next bytes belong to the object.
func (o *object) end(data []byte) int {
	for i, c := range data {
		switch {
		case o.escape:
			o.escape = false
		case o.inString:
			o.escape, o.inString = c == '\\', c != '"'
		case c == '"':
			o.inString = true
		case c == '{' || c == '[':
			o.depth++
		case c == '}' || c == ']':
			if o.depth--; o.depth == 0 {
				return i + 1
			}
		}
	}
	return len(data)
}

// solid returns the next byte that is no space.
func solid(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, short(err)
		}
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, nil
		}
	}
}

// short is an end of a document where none is expected.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// expect reads a byte that must come.
func expect(in *bufio.Reader, want byte) error {
	c, err := solid(in)
	if err == nil && c != want {
		err = fmt.Errorf("%q where %q is expected", c, want)
	}
	return err
}
