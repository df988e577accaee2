package record

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// StageTime is a part of a message's completion time.
type StageTime struct {
	Stage catalog.Stage
	Where *Place // the port, link, switch or host responsible; nil: the message's own queue pair
	Time  units.Time
}

// Place is where it passed.
func (s *StageTime) Place() Place {
	if s.Where == nil {
		return Place{}
	}
	return *s.Where
}

// Key names the stage and its place: "queue sw:5".
func (s *StageTime) Key() string {
	if s.Where == nil {
		return s.Stage.String()
	}
	return s.Stage.String() + " " + s.Where.String()
}

// Account is a message's completion time, stage by stage in the order in which
// they came; the times are positive and add up exactly. A stage that came
// several times (after a rewind) stands once per time.
type Account []StageTime

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
func Known(stages ...StageTime) Deferred {
	if len(stages) == 0 {
		return Deferred{}
	}
	return Deferred{from: &known{stages}}
}

type known struct{ stages []StageTime }

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

// Total is the sum of the stages.
func (a Account) Total() (t units.Time) {
	for _, s := range a {
		t += s.Time
	}
	return t
}

// stageRow is a stage of an account in JSON: places go by their names, which Run.Places
// explains.
type stageRow struct {
	Stage catalog.Stage `json:"stage"`
	Where string        `json:"where,omitempty"`
	PS    units.Time    `json:"ps"`
}

// MarshalJSON writes a list of stages in order, places by their names.
func (a Account) MarshalJSON() ([]byte, error) {
	rows := make([]stageRow, len(a))
	for i := range a {
		rows[i] = stageRow{Stage: a[i].Stage, PS: a[i].Time}
		if w := a[i].Where; w != nil {
			rows[i].Where = w.String()
		}
	}
	return json.Marshal(rows)
}

// MarshalJSON writes the account.
func (d Deferred) MarshalJSON() ([]byte, error) { return d.Stages().MarshalJSON() }

// WithPlaces returns the run with the places that its accounts name.
func (r *Run) WithPlaces() *Run {
	named := *r
	seen := map[Place]bool{}
	var list Account
	for i := range r.Messages {
		list = r.Messages[i].Account.Append(list[:0])
		for k := range list {
			if w := list[k].Where; w != nil && !seen[*w] {
				seen[*w] = true
				named.Places = append(named.Places, w)
			}
		}
	}
	return &named
}

// PlaceNames finds places, and stages, by their names.
type PlaceNames struct {
	places map[string]*Place
	stages map[string]catalog.Stage
}

// NamesOf are the names of places, and of all stages.
func NamesOf(places []*Place) PlaceNames {
	n := PlaceNames{make(map[string]*Place, len(places)), make(map[string]catalog.Stage)}
	for _, p := range places {
		n.places[p.String()] = p
	}
	for _, s := range catalog.Stages() {
		n.stages[s.String()] = s
	}
	return n
}

// ReadAccount reads what Account.MarshalJSON wrote. A place that has no name is an error.
func (n PlaceNames) ReadAccount(data []byte) (Account, error) {
	if a, ok := n.quick(data); ok {
		return a, nil
	}
	var rows []stageRow
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, err
	}
	a := make(Account, len(rows))
	for i, r := range rows {
		a[i] = StageTime{Stage: r.Stage, Time: r.PS}
		if r.Where == "" {
			continue
		}
		if a[i].Where = n.places[r.Where]; a[i].Where == nil {
			return nil, fmt.Errorf("an account names %q, which is none of the places", r.Where)
		}
	}
	return a, nil
}

// quick reads an account as a run directory has it: no spaces, nothing escaped, all names known.
// Accounts are most of a result, and reflection takes ten times as long. It reports false for
// all others.
func (n PlaceNames) quick(data []byte) (Account, bool) {
	a := make(Account, 0, bytes.Count(data, []byte("{")))
	in := cursor(data)
	more := in.take("[") && !in.take("]")
	for more {
		name, ok := in.text(`{"stage":"`)
		stage, known := n.stages[string(name)]
		t := StageTime{Stage: stage}
		if where, placed := in.text(`,"where":"`); placed {
			t.Where = n.places[string(where)]
			known = known && t.Where != nil
		}
		ps, timed := in.number(`,"ps":`)
		if !ok || !known || !timed || !in.take("}") {
			return nil, false
		}
		t.Time = units.Time(ps)
		a = append(a, t)
		if more = in.take(","); !more && !in.take("]") {
			return nil, false
		}
	}
	return a, len(in) == 0 && len(data) > 0
}

// cursor is what is left to read.
type cursor []byte

// take skips what must come next; it reports false, and skips nothing, if something else does.
func (c *cursor) take(what string) bool {
	if len(*c) < len(what) || string((*c)[:len(what)]) != what {
		return false
	}
	*c = (*c)[len(what):]
	return true
}

// text returns what stands between before and the next quotation mark, if it has no escapes.
func (c *cursor) text(before string) (text []byte, ok bool) {
	from := *c
	if !c.take(before) {
		return nil, false
	}
	end := bytes.IndexByte(*c, '"')
	if end < 0 || bytes.IndexByte((*c)[:end], '\\') >= 0 {
		*c = from
		return nil, false
	}
	text = (*c)[:end]
	*c = (*c)[end+1:]
	return text, true
}

// number returns the digits behind before, at most 18.
func (c *cursor) number(before string) (n int64, ok bool) {
	if !c.take(before) {
		return 0, false
	}
	digits := 0
	for ; digits < min(18, len(*c)) && (*c)[digits]-'0' < 10; digits++ {
		n = 10*n + int64((*c)[digits]-'0')
	}
	*c = (*c)[digits:]
	return n, digits > 0
}
