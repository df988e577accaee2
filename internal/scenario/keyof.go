package scenario

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/tree"
)

// KeyKind is what kind of value stands under a key of scenarios.
type KeyKind uint8

// Kinds of values.
const (
	OtherKey       KeyKind = iota // a section, a list, text
	SizeKey                       // bytes
	RateKey                       // bit/s
	TimeKey                       // picoseconds
	LengthKey                     // millimetres
	ProbabilityKey                // 0 to 1
	RatioKey                      // such as 1/8
	NumberKey                     // any number
	WholeKey                      // a whole number from Lo to Hi
	WordKey                       // one of Words
)

// Declared is what may stand under a key of scenarios.
type Declared struct {
	Path   string
	Kind   KeyKind
	Lo, Hi int64    // of a WholeKey
	Words  []string // of a WordKey
}

// Declared finds a key by its path, such as switch.ecn.kmin. The error is an *Error.
func (x Known) Declared(path string) (Declared, error) {
	keys := allKeys(x)
	k := keyAt(keys, path)
	if k == nil || k.renamed != "" {
		section, name := cutLast(path)
		var names []string
		inner := keys
		if section != "" {
			inner = nil
			if s := keyAt(keys, section); s != nil {
				inner = s.keys()
			}
		}
		for i := range inner {
			names = append(names, inner[i].name)
		}
		if len(names) == 0 {
			return Declared{}, &Error{
				Msg: fmt.Sprintf("there is no key %s in scenarios; hopscope show SCENARIO lists keys", path),
			}
		}
		return Declared{}, &Error{Msg: fmt.Sprintf("there is no key %s in scenarios; %s", path, tree.Suggest(name, names))}
	}
	return k.public(path), nil
}

// public is what others may know of a key.
func (k *key) public(path string) Declared {
	out := Declared{Path: path}
	if len(k.values) == 0 {
		return out
	}
	kinds := map[string]KeyKind{"size": SizeKey, "rate": RateKey, "time": TimeKey, "length": LengthKey,
		"probability": ProbabilityKey, "ratio": RatioKey, "number": NumberKey}
	out.Kind = kinds[k.values[0]]
	switch {
	case out.Kind != OtherKey:
	case k.values[0] == "`true` or `false`":
		out.Kind, out.Words = WordKey, []string{"false", "true"}
	case strings.HasPrefix(k.values[0], "`"):
		if words, ok := k.forms[0]["enum"].([]string); ok && len(words) > 1 {
			out.Kind, out.Words = WordKey, words
		}
	default:
		if n, err := fmt.Sscanf(k.values[0], "%d to %d", &out.Lo, &out.Hi); err == nil && n == 2 {
			out.Kind = WholeKey
		}
	}
	return out
}
