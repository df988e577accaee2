// Package vary reads which values a key of scenarios takes in turn: a list, a range in steps, evenly spaced
// values, or a range to sample from. It knows quantities and their units, and no keys.
//
//	VALUES = ITEM {"," ITEM}
//	ITEM   = VALUE | FROM ".." TO | FROM ".." TO "step" STEP | FROM ".." TO ("linear" | "log") [N]
//
// FROM, TO and STEP are numbers or quantities such as 100KB. Without a step a range counts whole numbers. The
// step of a range is added from FROM on as long as TO is not exceeded. linear N gives N values a step apart, log
// N as many a factor apart, both ends among them; between whole numbers they are whole. Without N a range is
// one to sample from. Commas inside of brackets, braces and quotes part no items.
package vary

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Value is one of those that a key takes.
type Value struct {
	Text string  // as a scenario has it
	X    float64 // the same in the unit of its kind; 0 of Words
}

// Axis is a key with the values that it takes in turn, or is sampled from.
type Axis struct {
	Key    string
	Given  string // the values as they were given
	Kind   Kind   // of all values
	Log    bool   // they are a factor apart, or sampled so
	Values []Value
	items  []item
}

// item is a value, or a range of them.
type item struct {
	text  string // of a value
	n     int64  // how many values; 0: a range to sample from
	a, b  int64  // the ends of a range, in atoms of its kind
	step  int64  // 0: evenly spaced
	log   bool
	whole bool // values are whole numbers
}

// Parse reads KEY=VALUES. Values are made by Expand, since a short text may stand for very many.
func Parse(arg string) (*Axis, error) {
	key, given, found := strings.Cut(arg, "=")
	key = strings.TrimSpace(key)
	if !found || key == "" {
		return nil, errors.New("write key=values, such as switch.ecn.kmin=100KB,200KB or " +
			"\"switch.ecn.kmin=100KB..1MB step 100KB\"")
	}
	a := &Axis{Key: key, Given: strings.TrimSpace(given)}
	parts, err := split(a.Given)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	a.Kind = kindOfAll(parts)
	for _, part := range parts {
		i, err := a.item(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		a.items = append(a.items, i)
		a.Log = a.Log || i.log
	}
	if a.Sampled() && len(a.items) > 1 {
		return nil, fmt.Errorf("%s: a range to sample from stands alone; give the others a step or a number of values", key)
	}
	return a, nil
}

// split parts items at commas that are outside of brackets, braces and quotes.
func split(s string) (parts []string, err error) {
	depth, quote, from := 0, byte(0), 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0 && quote == 0:
			part := strings.TrimSpace(s[from:i])
			if part == "" {
				return nil, errors.New("there is an empty value; write one between commas")
			}
			parts, from = append(parts, part), i+1
		case quote != 0:
			if s[i] == quote {
				quote = 0
			}
		case s[i] == '"' || s[i] == '\'':
			quote = s[i]
		case s[i] == '[' || s[i] == '{':
			depth++
		case s[i] == ']' || s[i] == '}':
			depth--
		}
	}
	if depth != 0 || quote != 0 {
		return nil, fmt.Errorf("%s: a bracket, brace or quote has no other half", s)
	}
	return parts, nil
}

// item reads one.
func (a *Axis) item(s string) (item, error) {
	from, rest, ranged := strings.Cut(s, "..")
	from = strings.TrimSpace(from)
	if !ranged || kindOf(from) == Words {
		return item{text: s, n: 1}, nil
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return item{}, fmt.Errorf("%s has no end; write one behind the two points", s)
	}
	r, err := a.ends(s, from, words[0])
	if err != nil {
		return r, err
	}
	switch {
	case len(words) == 1 && r.whole:
		r.step = a.Kind.whole()
	case len(words) == 1:
		return r, nil
	case len(words) == 3 && words[1] == "step":
		r.step, err = a.Kind.read(words[2])
		if err != nil || r.step <= 0 {
			return r, fmt.Errorf("%s: a step is more than 0, in the unit of what it is added to; %q is not", s, words[2])
		}
		r.whole = r.whole && !strings.ContainsAny(words[2], ".eE%")
	case len(words) <= 3 && (words[1] == "linear" || words[1] == "log"):
		return a.spaced(s, r, words[1:])
	default:
		return r, fmt.Errorf("%s: behind a range stands step and a step, or linear or log and a number of "+
			"values, as in %s..%s step %s, not %q",
			s, from, words[0], a.Kind.example(), strings.Join(words[1:], " "))
	}
	r.n = (r.b-r.a)/r.step + 1
	return r, nil
}

// ends reads those of a range.
func (a *Axis) ends(s, from, to string) (r item, err error) {
	if r.a, err = a.Kind.read(from); err != nil {
		return r, fmt.Errorf("%s: %w", s, err)
	}
	if kindOf(to) == Words {
		return r, fmt.Errorf("%s: %q is no number; a range ends with one, such as 1..20 or 100KB..1MB", s, to)
	}
	if r.b, err = a.Kind.read(to); err != nil {
		return r, fmt.Errorf("%s: both ends of a range have the same kind of unit; %q has another", s, to)
	}
	if r.b < r.a {
		return r, fmt.Errorf("%s runs downwards; write %s..%s", s, to, from)
	}
	if r.b == r.a {
		return r, fmt.Errorf("%s is a single value; write %s", s, from)
	}
	r.whole = a.Kind == Number && !strings.ContainsAny(from+to, ".eE")
	return r, nil
}

// mostSpaced is how many values linear and log may give.
const mostSpaced = 1_000_000

// spaced reads "linear N" or "log N" behind a range.
func (a *Axis) spaced(s string, r item, words []string) (item, error) {
	r.log = words[0] == "log"
	if r.log && r.a <= 0 {
		return r, fmt.Errorf("%s: values a factor apart begin above 0", s)
	}
	if len(words) == 1 {
		return r, nil // to sample from
	}
	n, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || n < 2 || n > mostSpaced {
		return r, fmt.Errorf("%s: %s is followed by how many values there are, 2 to %d; %q is not", s,
			words[0], mostSpaced, words[1])
	}
	r.n = n
	return r, nil
}

// Sampled reports whether the axis is a range without steps, which has values only where it is sampled.
func (a *Axis) Sampled() bool { return a.items[0].n == 0 }

// Ranged reports whether the axis is one range, of which any value may be sampled.
func (a *Axis) Ranged() bool { return len(a.items) == 1 && a.items[0].text == "" }

// N is how many values there are, at most; it may be more than can be made.
func (a *Axis) N() int64 {
	n := int64(0)
	for _, i := range a.items {
		if n > math.MaxInt64-i.n {
			return math.MaxInt64
		}
		n += i.n
	}
	return n
}

// Expand makes the values. N must be moderate.
func (a *Axis) Expand() error {
	seen := map[string]bool{}
	for _, i := range a.items {
		for k := range i.n {
			v := a.value(i, k)
			id := v.Text
			if a.Kind != Words {
				id = strconv.FormatFloat(v.X, 'g', -1, 64)
			}
			if seen[id] {
				if i.n > 1 && i.step == 0 {
					continue // evenly spaced, and rounded to the same
				}
				return fmt.Errorf("%s: the value %s is there twice; once is enough", a.Key, v.Text)
			}
			seen[id] = true
			a.Values = append(a.Values, v)
		}
	}
	if len(a.Values) == 0 {
		return fmt.Errorf("%s: %s says where values lie and not which; give \"%s step %s\" or \"%s log 5\", or "+
			"take samples with --sample",
			a.Key, a.Given, strings.Fields(a.Given)[0], a.Kind.example(), strings.Fields(a.Given)[0])
	}
	return nil
}

// value is value k of an item.
func (a *Axis) value(i item, k int64) Value {
	switch {
	case i.text != "":
		v := Value{Text: i.text}
		if a.Kind != Words {
			if n, err := a.Kind.read(i.text); err == nil {
				v.X = a.Kind.scale(n)
			}
		}
		return v
	case i.step > 0:
		return a.Kind.value(i.a + k*i.step)
	case k == 0:
		return a.Kind.value(i.a)
	case k == i.n-1:
		return a.Kind.value(i.b)
	}
	return a.Kind.value(i.round(a.Kind, i.at(float64(k)/float64(i.n-1)), 1/float64(i.n-1)))
}

// at is the value at a share of the way from one end to the other.
func (i item) at(share float64) float64 {
	if i.log {
		return float64(i.a) * math.Pow(float64(i.b)/float64(i.a), share)
	}
	return float64(i.a) + share*float64(i.b-i.a)
}

// round rounds a value to the precision that its distance from the next one, a share of the way, leaves: a
// hundredth of it, in powers of ten. Whole numbers stay whole.
func (i item) round(k Kind, x, share float64) int64 {
	apart := share * float64(i.b-i.a)
	if i.log {
		apart = x * (math.Pow(float64(i.b)/float64(i.a), share) - 1)
	}
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(apart/100))))
	if i.whole {
		unit = math.Max(unit, float64(k.whole()))
	}
	n := int64(math.Round(x/unit)) * int64(unit)
	return min(max(n, i.a), i.b)
}
