// Package param declares the parameters of algorithms that a scenario can choose: what a key of the scenario
// is called, what it means, where its default comes from and where its value goes.
package param

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Param is one parameter. The reader of scenarios, the JSON Schema, the tables of the docs and the report of
// parameters come from it.
type Param struct {
	Name   string // the key, in lower case with underscores
	Text   string // what it means, in Markdown
	Source string // where the default comes from; "assumed" and why, where nobody says
	// Value points to where the value goes, which holds the default: *units.Time, *units.Rate, *units.Bytes, *int,
	// *float64 or *bool.
	Value any
	// Min and Max bound a number, in the unit of its type (ps, bit/s, bytes); where both are 0 nothing does.
	Min, Max float64
	Zero     string // what 0 stands for, in words, which is then in order beside the bounds; "": nothing of its own
}

// ProperName reports whether scenarios can name an algorithm so: in small letters, digits and hyphens, from a letter
// on, and by no word that YAML takes for something else.
func ProperName(s string) bool {
	switch s {
	case "null", "true", "false", "yes", "no", "on", "off", "none":
		return false
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != "" && s[0] >= 'a' && s[0] <= 'z'
}

// CheckAll reports the first of several declarations that is not in order, or that has the name of one before it.
func CheckAll(all []Param) error {
	for i, p := range all {
		if err := p.Check(); err != nil {
			return err
		}
		if slices.ContainsFunc(all[:i], func(o Param) bool { return o.Name == p.Name }) {
			return fmt.Errorf("parameter %s: there is one of that name already; give another name", p.Name)
		}
	}
	return nil
}

// Check reports a declaration that is not in order: a name that is no key, a type that no key has, a default
// out of its own bounds, no source.
func (p Param) Check() error {
	for _, r := range p.Name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return fmt.Errorf("parameter %q: a name has lower-case letters, digits and underscores", p.Name)
		}
	}
	if p.Name == "" || p.Text == "" || p.Source == "" {
		return fmt.Errorf("parameter %q: it needs a name, a text and a source", p.Name)
	}
	v, ok := p.Number()
	switch {
	case !ok:
		return fmt.Errorf("parameter %s: no key has a value of type %T", p.Name, p.Value)
	case p.Min > p.Max:
		return fmt.Errorf("parameter %s: its least value, %g, is above its largest, %g", p.Name, p.Min, p.Max)
	case !p.InRange():
		return fmt.Errorf("parameter %s: its default, %g, is not from %g to %g", p.Name, v, p.Min, p.Max)
	}
	return nil
}

// Bounded reports whether there are bounds.
func (p Param) Bounded() bool { return p.Min != 0 || p.Max != 0 }

// InRange reports whether the value is one that it may have.
func (p Param) InRange() bool {
	v, _ := p.Number()
	return !p.Bounded() || v == 0 && p.Zero != "" || v >= p.Min && v <= p.Max
}

// Set sets the value, in the unit of its type; a flag is false at 0.
func (p Param) Set(v float64) {
	switch x := p.Value.(type) {
	case *units.Time:
		*x = units.Time(v)
	case *units.Rate:
		*x = units.Rate(v)
	case *units.Bytes:
		*x = units.Bytes(v)
	case *int:
		*x = int(v)
	case *float64:
		*x = v
	case *bool:
		*x = v != 0
	}
}

// Number is the present value, a flag's as 0 or 1; ok is false where the type is none of those that a key has.
func (p Param) Number() (v float64, ok bool) {
	switch x := p.Value.(type) {
	case *units.Time:
		return float64(*x), true
	case *units.Rate:
		return float64(*x), true
	case *units.Bytes:
		return float64(*x), true
	case *int:
		return float64(*x), true
	case *float64:
		return *x, true
	case *bool:
		if *x {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// Range is the bounds as a scenario writes them: "1us to 1s".
func (p Param) Range() string {
	at := func(x float64) string {
		switch p.Value.(type) {
		case *units.Time:
			return units.Time(x).String()
		case *units.Rate:
			return units.Rate(x).String()
		case *units.Bytes:
			return units.Bytes(x).String()
		}
		return fmt.Sprint(x)
	}
	r := at(p.Min) + " to " + at(p.Max)
	if p.Zero != "" && p.Min > 0 {
		r += ", or 0"
	}
	return r
}

// String is the present value as a scenario writes it.
func (p Param) String() string {
	switch x := p.Value.(type) {
	case *units.Time:
		return x.String()
	case *units.Rate:
		return x.String()
	case *units.Bytes:
		return x.String()
	case *int:
		return fmt.Sprint(*x)
	case *float64:
		return fmt.Sprint(*x)
	case *bool:
		return fmt.Sprint(*x)
	}
	return ""
}

// Fault is what stops a run because an algorithm did what none may. It is thrown, and reaches who ran the
// scenario as an error.
type Fault struct {
	Kind, Name string // "balancer", and its name
	What       string // it did, without a subject: "panicked: ..."
}

func (f Fault) Error() string { return f.Kind + " " + f.Name + " " + f.What }

// Recovered throws what a function of an algorithm panicked with as its Fault; r is what recover returned, and nil
// does nothing.
func Recovered(r any, kind, name, what string) {
	if r == nil {
		return
	}
	if f, ok := r.(Fault); ok {
		panic(f)
	}
	panic(Fault{Kind: kind, Name: name, What: fmt.Sprintf("panicked%s: %v", what, r)})
}

// Caught runs f, and returns the Fault that it ends with as an error.
func Caught(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Fault:
			err = r
		default:
			panic(r)
		}
	}()
	return f()
}

// EndsRun marks it as a sim.Fault.
func (Fault) EndsRun() {}
