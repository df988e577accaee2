package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// TooLongError says that a file is longer than its reader takes.
type TooLongError struct{ Limit int64 } // in bytes

func (e *TooLongError) Error() string { return fmt.Sprintf("it is longer than %d MiB", e.Limit>>20) }

// Read reads all of a file of at most limit bytes, a whole number of MiB. A
// longer one, such as a device without end, is a *TooLongError once so much was read.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > limit {
		return nil, &TooLongError{limit}
	}
	return ReadFrom(f, limit)
}

// ReadFrom reads all that is left of a file or pipe as Read does.
func ReadFrom(from io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer
	switch n, err := b.ReadFrom(io.LimitReader(from, limit+1)); {
	case errors.Is(err, bytes.ErrTooLarge):
		return nil, &TooLongError{limit}
	case err != nil:
		return nil, err
	case n > limit:
		return nil, &TooLongError{limit}
	}
	return b.Bytes(), nil
}
