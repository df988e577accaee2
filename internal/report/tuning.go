package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/hopscope/hopscope/internal/headline"
)

// Tuning is what a search for better values of keys came to.
type Tuning struct {
	Version     int               `json:"version"`
	Scenario    string            `json:"scenario"`
	Stack       string            `json:"stack"`
	Objective   string            `json:"objective"` // in words
	Figure      string            `json:"figure"`    // its name, which ends with its unit
	Better      string            `json:"better"`    // lower or higher
	Constraints []string          `json:"constraints"`
	Params      []TuneParam       `json:"params"`
	Budget      int               `json:"budget"` // runs of the search, and as many of random search
	Runs        int               `json:"runs"`   // that were made in all
	TrainSeeds  []uint64          `json:"train_seeds"`
	ListSeeds   []uint64          `json:"shortlist_seeds"` // that the best of each search were tried with as well
	FreshSeeds  []uint64          `json:"fresh_seeds"`
	Candidates  []TuneCandidate   `json:"candidates"` // as the scenario is, the search's best, random search's best
	Best        int               `json:"best"`       // which of them is to be set
	Sensitivity []TuneSensitivity `json:"sensitivity"`
	Trials      []TuneTrial       `json:"trials"`
	SONiC       string            `json:"sonic,omitempty"` // the best one in words of switches
	MLX5        string            `json:"mlx5,omitempty"`  // and of cards; see package deploy
	Notes       []string          `json:"notes"`

	Format func(float64) string `json:"-"` // of the objective's values
}

// TuneParam is a key that was tuned.
type TuneParam struct {
	Key     string   `json:"key"`
	Now     string   `json:"now"` // what the scenario has
	Lo      string   `json:"lo,omitempty"`
	Hi      string   `json:"hi,omitempty"`
	Choices []string `json:"choices,omitempty"`
	Outside bool     `json:"now_is_outside,omitempty"` // of the bounds that were given, so that it cannot be the best
}

// TuneSpread is a median with the least and the largest value.
type TuneSpread struct {
	Median TuneValue `json:"median"`
	Least  TuneValue `json:"least"`
	Most   TuneValue `json:"most"`
}

// TuneValue is a value of the objective in its unit, or a share of one. What a run has none of is not a number here
// and null in JSON.
type TuneValue float64

// None reports whether there is no value.
func (v TuneValue) None() bool { return math.IsNaN(float64(v)) }

// MarshalJSON writes the number, or null.
func (v TuneValue) MarshalJSON() ([]byte, error) {
	if v.None() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// TuneCandidate is a setting that was judged with fresh seeds.
type TuneCandidate struct {
	Name   string      `json:"name"`
	Search string      `json:"search,omitempty"` // that found it
	Values []string    `json:"values"`           // by param
	Fresh  []TuneValue `json:"fresh"`            // the objective by fresh seed
	Spread TuneSpread  `json:"spread"`
	Broken []string    `json:"broken"` // what went wrong with some fresh seed
	// Completed of Messages, over all fresh seeds: figures of messages are of those that completed.
	Completed int64 `json:"completed"`
	Messages  int64 `json:"messages"`
}

// TuneSensitivity is what moving one parameter of the best setting alone changes.
type TuneSensitivity struct {
	Key    string      `json:"key"`
	From   string      `json:"from"`
	To     string      `json:"to"`
	Values []TuneValue `json:"values"` // of the objective by fresh seed
	// Change is by what share of what the best setting has, 0.1 a tenth more; none where that has 0.
	Change []TuneValue `json:"change"`
	Spread TuneSpread  `json:"spread"` // of the changes, or else of the values
	Broken []string    `json:"broken"`
}

// TuneTrial is one setting that was tried.
type TuneTrial struct {
	Search string      `json:"search"`
	Values []string    `json:"values"`
	Seeds  []TuneValue `json:"seeds"` // the objective by training seed
	Mean   TuneValue   `json:"mean"`
	Broken []string    `json:"broken"`
}

// JSON encodes the tuning, indented, with a newline at the end.
func (s *Tuning) JSON() ([]byte, error) {
	out := *s
	out.Version = pageVersion
	return indented(&out)
}

// value writes a value of the objective.
func (s *Tuning) value(v TuneValue) string {
	if v.None() {
		return "-"
	}
	return s.Format(float64(v))
}

// gain is by what share of the first a second value is better.
func (s *Tuning) gain(from, to TuneValue) float64 {
	gain := float64(to - from)
	if s.Better == "lower" {
		gain = -gain
	}
	if from == 0 { // there is no share of nothing
		return float64(cmp.Compare(gain, 0))
	}
	return gain / float64(from)
}

// wins is with how many fresh seeds candidate b is better than a. A value is better than none.
func (s *Tuning) wins(a, b int) (n int) {
	for i, to := range s.Candidates[b].Fresh {
		from := s.Candidates[a].Fresh[i]
		if from.None() && !to.None() || s.gain(from, to) > 0 {
			n++
		}
	}
	return n
}

// survivors says of how many messages a figure of messages is, where that is not all of them.
func (s *Tuning) survivors() string {
	all, parts := true, []string{}
	for i := range s.Candidates {
		c := &s.Candidates[i]
		all = all && c.Completed == c.Messages
		parts = append(parts, fmt.Sprintf("%s %d of %d", c.Name, c.Completed, c.Messages))
	}
	if figure := (headline.Figure{Name: s.Figure}); all || !figure.OfCompleted() {
		return ""
	}
	return s.Objective + " is of the messages that completed, which are not the same ones: " + strings.Join(parts, ", ") +
		". A setting that completes fewer may seem better; let the scenario run longer."
}

// Permitted reports whether the best candidate may be set: nothing went wrong with any fresh seed.
func (s *Tuning) Permitted() bool { return len(s.Candidates[s.Best].Broken) == 0 }

// Refusal says why none may be set.
func (s *Tuning) Refusal() []string {
	var parts []string
	for i := range s.Candidates {
		c := &s.Candidates[i]
		what := "nothing went wrong"
		if len(c.Broken) > 0 {
			what = strings.Join(c.Broken, ", ")
		}
		parts = append(parts, c.Name+" ("+what+")")
	}
	kept := 0
	for i := range s.Trials {
		if len(s.Trials[i].Broken) == 0 {
			kept++
		}
	}
	of := fmt.Sprintf("Of %d settings tried, %d had none of that with the training seeds.", len(s.Trials), kept)
	if kept == 0 {
		of = fmt.Sprintf("All %d settings tried went wrong with the training seeds already.", len(s.Trials))
	}
	return []string{"No setting can be recommended: what was judged with fresh seeds went wrong with some of them: " +
		strings.Join(parts, ", ") + ".", of}
}

// outside says which values of the scenario lie outside of the bounds.
func (s *Tuning) outside() string {
	var parts []string
	for i := range s.Params {
		if p := &s.Params[i]; p.Outside {
			parts = append(parts, p.Key+" "+p.Now)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "What the scenario has lies outside of --bounds (" + strings.Join(parts, ", ") +
		") and is there to compare with; what is to be set lies within."
}

// Verdict says in sentences what to do.
func (s *Tuning) Verdict() []string {
	if !s.Permitted() {
		return s.Refusal()
	}
	now, found, random := &s.Candidates[0], &s.Candidates[1], &s.Candidates[2]
	b := &s.Candidates[s.Best]
	n := len(s.FreshSeeds)
	var out []string
	if beyond := s.outside(); beyond != "" {
		out = append(out, beyond)
	}
	if len(now.Broken) > 0 {
		out = append(out, "As the scenario is, with some fresh seeds: "+strings.Join(now.Broken, ", ")+".")
	}
	medians := fmt.Sprintf("%s %s instead of %s", s.Objective, s.value(b.Spread.Median), s.value(now.Spread.Median))
	gain := s.gain(now.Spread.Median, b.Spread.Median)
	switch {
	case s.Best == 0:
		out = append(
			out,
			fmt.Sprintf("Nothing was found that is better than what the scenario has: %s %s, the search's best "+
				"%s over %d fresh seeds.", s.Objective, s.value(now.Spread.Median), s.value(found.Spread.Median), n),
		)
	case gain < 0 && s.outside() != "":
		out = append(out, fmt.Sprintf("Within the bounds nothing is better than what the scenario has: %s in the median "+
			"of %d fresh seeds at the best, which is %s.", medians, n, b.Name))
	case now.Spread.Median == 0 || !(gain >= 0): // nothing to divide by, or it keeps the constraints, at a price
		out = append(out, fmt.Sprintf("%s in the median of %d fresh seeds: %s.", medians, n, b.Name))
	case gain == 0:
		out = append(out, fmt.Sprintf("%s, no better in the median of %d fresh seeds: %s.", medians, n, b.Name))
	default:
		out = append(
			out,
			fmt.Sprintf("%s, %.3g %% better in the median of %d fresh seeds, better with %d of them: %s.", medians,
				100*gain, n, s.wins(0, s.Best), b.Name),
		)
	}
	against := s.gain(random.Spread.Median, found.Spread.Median)
	switch {
	case len(random.Broken) > 0 && len(found.Broken) == 0:
		out = append(out, "Random search with as many runs found nothing that keeps the constraints with fresh seeds.")
	case len(found.Broken) > 0 && len(random.Broken) == 0:
		out = append(out, "The search's best breaks a constraint with fresh seeds, and random search's does not.")
	case math.IsNaN(against):
		out = append(out, fmt.Sprintf("Random search with as many runs came to %s, and the search to %s.",
			s.value(random.Spread.Median), s.value(found.Spread.Median)))
	case against == 0:
		out = append(out, "Random search with as many runs came to the same.")
	default:
		word := "better"
		if against < 0 {
			word = "worse"
		}
		out = append(out, fmt.Sprintf("Random search with as many runs came to %s: the search was %.3g %% %s.",
			s.value(random.Spread.Median), 100*math.Abs(against), word))
	}
	if few := s.survivors(); few != "" {
		out = append(out, few)
	}
	return out
}

// Text writes the tuning for reading. Width 0 means 100 columns.
func (s *Tuning) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	t.prose(
		fmt.Sprintf("%s: %s, %s tuned for %s %s", s.Scenario, s.Stack, plural(len(s.Params), "key"), s.Better, s.Objective),
		t.paint.bold,
	)
	t.prose(
		fmt.Sprintf(
			"%d runs: %d searched and %d at random with seeds %s, judged with %d other seeds",
			s.Runs,
			s.Budget,
			s.Budget,
			seedList(s.TrainSeeds),
			len(s.FreshSeeds),
		),
		plain,
	)
	if len(s.Constraints) > 0 {
		t.prose("Constraints: "+strings.Join(s.Constraints, ", "), plain)
	}
	t.section()
	for _, line := range s.Verdict() {
		t.prose(line, t.paint.bold)
	}
	t.section()
	s.settings(t)
	t.section()
	s.sensitive(t)
	for i, part := range []string{s.SONiC, s.MLX5} {
		if part == "" {
			continue
		}
		t.section()
		t.prose(
			[]string{"SONiC, CONFIG_DB (name the profile in QUEUE and BUFFER_PG of the ports)", "Cards of the mlx5 driver"}[i],
			t.paint.bold,
		)
		for line := range strings.Lines(part) {
			t.line(strings.TrimRight(line, "\n"))
		}
	}
	for _, n := range s.Notes {
		t.prose("note: "+n, plain)
	}
	return t.end(w)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func seedList(seeds []uint64) string {
	var out []string
	for _, s := range seeds {
		out = append(out, fmt.Sprint(s))
	}
	return strings.Join(out, ", ")
}

// settings are the candidates side by side.
func (s *Tuning) settings(t *text) {
	tab := &table{columns: []column{{title: "Key"}, {title: "From"}, {title: "To"}}}
	for _, c := range s.Candidates {
		tab.columns = append(
			tab.columns,
			column{
				title: strings.ReplaceAll(strings.Replace(c.Name, " ", "\n", 1), "\nthe scenario", "\nthe scenario"),
				right: true,
			},
		)
	}
	for i, p := range s.Params {
		row := []string{p.Key, p.Lo, p.Hi}
		if p.Choices != nil {
			row[1], row[2] = strings.Join(p.Choices[:1], ""), p.Choices[len(p.Choices)-1]
		}
		for _, c := range s.Candidates {
			row = append(row, dashed(c.Values[i]))
		}
		tab.add(row...)
	}
	for _, line := range []struct {
		name string
		of   func(c *TuneCandidate) string
	}{
		{s.Objective + ", median", func(c *TuneCandidate) string { return s.value(c.Spread.Median) }},
		{"  least", func(c *TuneCandidate) string { return s.value(c.Spread.Least) }},
		{"  largest", func(c *TuneCandidate) string { return s.value(c.Spread.Most) }},
		{"went wrong", func(c *TuneCandidate) string {
			if len(c.Broken) == 0 {
				return "nothing"
			}
			return strings.Join(c.Broken, ", ")
		}},
	} {
		row := []string{line.name, "", ""}
		for i := range s.Candidates {
			row = append(row, line.of(&s.Candidates[i]))
		}
		tab.add(row...)
	}
	t.table(tab)
}

// sensitive is what each parameter does around the best setting.
func (s *Tuning) sensitive(t *text) {
	tab := &table{columns: []column{{title: "Moved alone"}, {title: "From", right: true}, {title: "To", right: true},
		{
			title: s.Objective + ",\nmedian",
			right: true,
		}, {title: "Least", right: true}, {title: "Largest", right: true}, {title: "Went wrong", wrap: true}}}
	last := ""
	for _, m := range s.Sensitivity {
		key, from := m.Key, m.From
		if key == last {
			key, from = "", ""
		}
		last = m.Key
		text := func(x TuneValue) string { return fmt.Sprintf("%+.1f %%", 100*x) }
		if len(m.Change) == 0 {
			text = func(x TuneValue) string { return "to " + s.value(x) }
		}
		row := []string{key, from, m.To, text(m.Spread.Median), text(m.Spread.Least), text(m.Spread.Most)}
		tab.add(append(row, strings.Join(m.Broken, ", "))...)
	}
	t.table(tab)
}
