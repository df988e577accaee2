package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each of several errors has a line of its own; one that wraps two in a sentence is one.
func TestSay(t *testing.T) {
	var b strings.Builder
	one, two := errors.New("cannot write a"), errors.New("cannot write b")
	say(&b, failure(errors.Join(one, nil, two)))
	say(&b, fmt.Errorf("x: %w (after %w)", one, two))
	if want := "hopscope: cannot write a\nhopscope: cannot write b\nhopscope: x: cannot write a (after cannot write b)\n"; b.String() != want {
		t.Errorf("said %q, want %q", b.String(), want)
	}
}
