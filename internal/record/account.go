package record

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Stage is a part of a message's completion time.
type Stage struct {
	Name  string // StageRate and the like
	Where string // the port, link, switch, host or QP responsible; empty: the message's own QP
	Time  units.Time
}

// Key names the stage and its place: "queue sw:5".
func (s Stage) Key() string {
	if s.Where == "" {
		return s.Name
	}
	return s.Name + " " + s.Where
}

// Account is a message's completion time, stage by stage in the order in which
// they came; the times are positive and add up exactly. A stage that came
// several times (after a rewind) stands once per time.
type Account []Stage

// Accounts makes the accounts of a run's messages, which take more room than what they
// are made from. Not for several goroutines at once.
type Accounts interface {
	// Account appends the stages of a message to a list.
	Account(message int, to Account) Account
	// Fork returns another that makes the same accounts, for another goroutine.
	Fork() Accounts
}

// Reader makes accounts for one of several goroutines. The zero one is ready.
type Reader struct{ from, own Accounts }

// Append makes an account at the end of a list.
func (r *Reader) Append(to Account, d Deferred) Account {
	if d.from == nil {
		return to
	}
	if r.from != d.from {
		r.from, r.own = d.from, d.from.Fork()
	}
	return r.own.Account(d.message, to)
}

// Deferred is a message's account, made when someone asks for it. The zero one has no
// stages. Those of two messages differ by ==.
type Deferred struct {
	from    Accounts
	message int
}

// Defer leaves the account of a message, which has stages, to be made from what is
// known of it.
func Defer(from Accounts, message int) Deferred { return Deferred{from, message} }

// Known is an account that is there already.
func Known(stages ...Stage) Deferred {
	if len(stages) == 0 {
		return Deferred{}
	}
	return Deferred{from: &known{stages}}
}

type known struct{ stages []Stage }

func (k *known) Account(_ int, to Account) Account { return append(to, k.stages...) }

func (k *known) Fork() Accounts { return k }

// IsZero reports whether there are no stages.
func (d Deferred) IsZero() bool { return d.from == nil }

// Stages makes the account.
func (d Deferred) Stages() Account { return d.Append(nil) }

// Append makes the account at the end of a list, which many may share.
func (d Deferred) Append(to Account) Account {
	if d.from == nil {
		return to
	}
	return d.from.Account(d.message, to)
}

// MarshalJSON writes the account.
func (d Deferred) MarshalJSON() ([]byte, error) { return d.Stages().MarshalJSON() }

// UnmarshalJSON reads one.
func (d *Deferred) UnmarshalJSON(data []byte) error {
	var a Account
	if err := a.UnmarshalJSON(data); err != nil {
		return err
	}
	*d = Known(a...)
	return nil
}

// Total is the sum of the stages.
func (a Account) Total() (t units.Time) {
	for _, s := range a {
		t += s.Time
	}
	return t
}

// MarshalJSON writes an object of stage name to picoseconds, in order; stages of
// the same name are added up at the place of the first.
func (a Account) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	sums := make(map[string]units.Time, len(a))
	for _, s := range a {
		sums[s.Key()] += s.Time
	}
	first := true
	for _, s := range a {
		t, ok := sums[s.Key()]
		if !ok {
			continue
		}
		delete(sums, s.Key())
		if !first {
			b.WriteByte(',')
		}
		first = false
		key, err := json.Marshal(s.Key())
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%d", key, int64(t))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote; name and place come back as one
// name.
func (a *Account) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	*a = nil
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var t int64
		if err := dec.Decode(&t); err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("account: stage name expected, not %v", key)
		}
		*a = append(*a, Stage{Name: name, Time: units.Time(t)})
	}
	return nil
}
