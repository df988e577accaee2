package wire

import "fmt"

// TruncatedError says that bytes end before a header or a packet does.
type TruncatedError struct {
	Header string // what was being read
	Want   int    // bytes it takes at least
	Have   int    // bytes there were
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%s: %d bytes, want at least %d", e.Header, e.Have, e.Want)
}

// ValueError says that a field holds what the standard does not allow there.
type ValueError struct {
	Header, Field string
	Have          int
	Want          string // what would be right
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: %s is %d, want %s", e.Header, e.Field, e.Have, e.Want)
}

// truncated stays out of line, so that the parsers that call it stay small.
//
//go:noinline
func truncated(header string, want int, b []byte) error {
	return &TruncatedError{Header: header, Want: want, Have: len(b)}
}

//go:noinline
func badValue(header, field string, have int, want string) error {
	return &ValueError{Header: header, Field: field, Have: have, Want: want}
}

// bit returns mask if on.
func bit(on bool, mask uint8) uint8 {
	if on {
		return mask
	}
	return 0
}
