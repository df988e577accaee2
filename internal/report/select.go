package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/record"
)

// Words of what Select is asked for.
const (
	explainSlowest = "slowest"
	explainAll     = "all"
	prefixMessage  = "message:"
	prefixWorkload = "workload:"
	prefixOfGroups = "collective:"
)

// Selection is what is to be explained of a run.
type Selection struct {
	messages    []int // one, or the slowest first
	among       int   // of one between two hosts: how many there are
	several     bool  // a table of them comes first
	collectives []int
}

// selectForms is what may be asked for.
const selectForms = "write src->dst (such as 'h2->h4', in quotes), a number, slowest, a workload's name, a pattern such as " +
	"'h*->h4', all, or collective; message:, workload: or collective: before a name that is also a word of its own"

// CheckSelect refuses, before a run, what names nothing in any.
func CheckSelect(what string) error {
	_, name := cutPrefix(what)
	if strings.TrimSpace(name) != "" {
		return nil
	}
	return fmt.Errorf("%q names nothing; %s", what, selectForms)
}

// cutPrefix divides "workload:all" into its prefix and its name.
func cutPrefix(what string) (prefix, name string) {
	for _, p := range []string{prefixMessage, prefixWorkload, prefixOfGroups} {
		if name, is := strings.CutPrefix(what, p); is {
			return p, name
		}
	}
	return "", what
}

// Select finds what is named: a message as Find does, "all", "collective", or a workload or
// collective by its name. In a pattern * stands for any characters and ? for one; it is held
// against the names of workloads, collectives and messages ("h2->h4"). "message:", "workload:"
// and "collective:" before it say what it names. What names nothing is an error, see Names.Check.
func Select(r *record.Run, what string) (*Selection, error) {
	if err := NamesOf(r).Check(what); err != nil {
		return nil, err
	}
	prefix, name := cutPrefix(what)
	s := &Selection{}
	byWorkload := func(f *record.Message) bool { return matches(name, f.Workload) }
	switch {
	case prefix == prefixMessage, prefix == "" && isMessage(name):
		s.find(r, name)
	case prefix == prefixWorkload:
		s.named(r, byWorkload)
	case prefix == prefixOfGroups:
		s.criticals(r, name)
	case name == explainCollective:
		s.criticals(r, "*")
	default:
		s.criticals(r, name)
		if s.named(r, byWorkload); len(s.messages)+len(s.collectives) == 0 {
			s.find(r, name)
		}
	}
	return s, nil
}

// isMessage reports whether a name without a prefix names messages whatever else has it.
func isMessage(name string) bool {
	_, notNumber := strconv.Atoi(name)
	return name == explainAll || name == explainSlowest || notNumber == nil
}

// find looks for messages.
func (s *Selection) find(r *record.Run, name string) {
	src, dst := names.Pair(name)
	switch {
	case name == explainAll:
		s.named(r, func(*record.Message) bool { return true })
	case isMessage(name), src != "" && dst != "" && !isPattern(name):
		i, among := Find(r, name)
		s.messages, s.among = []int{i}, among
	default:
		s.named(r, func(f *record.Message) bool { return pairMatches(name, f) })
	}
}

// pairMatches reports whether a pattern stands for a message.
func pairMatches(pattern string, f *record.Message) bool {
	from, to := metrics.DataEnds(f)
	return namesPair(pattern, from, to)
}

// named takes the messages that are wanted, the slowest first: of one that is open its time
// up to the end of the run counts.
func (s *Selection) named(r *record.Run, wanted func(*record.Message) bool) {
	for i := range r.Messages {
		if wanted(&r.Messages[i]) {
			s.messages = append(s.messages, i)
		}
	}
	slices.SortStableFunc(s.messages, func(a, b int) int {
		return cmp.Compare(r.Messages[b].Life(), r.Messages[a].Life())
	})
	s.several = len(s.messages) > 1
}

// criticals takes the collectives of a name.
func (s *Selection) criticals(r *record.Run, name string) {
	for i := range r.Collectives {
		if matches(name, r.Collectives[i].Workload) {
			s.collectives = append(s.collectives, i)
		}
	}
}

// isPattern reports whether a name stands for several.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?") }

// matches reports whether a name is the one asked for, or one of those a pattern stands for.
func matches(asked, name string) bool {
	if asked == name || !isPattern(asked) {
		return asked == name
	}
	pattern := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(asked))
	is, err := regexp.MatchString("(?s)^"+pattern+"$", name)
	return is && err == nil
}

// endMatches is isEnd with patterns: "h4:2/gpu1" by itself, its port or its host.
func endMatches(asked, end string) bool {
	port, _ := names.Inside(end)
	return isEnd(end, asked) || matches(asked, end) || matches(asked, port) || matches(asked, record.HostOf(end))
}

// explain writes what was selected: of several messages a table, then the slowest in full,
// with Verbose all of them; then the critical paths of collectives.
func (t *text) explain(s *Selection) {
	if s == nil {
		return
	}
	full := s.messages
	if s.several {
		t.explainedTable(s.messages)
		if !t.opt.Verbose {
			full = full[:1]
		}
	}
	for _, i := range full {
		t.explained(i, max(s.among, 1))
	}
	for _, i := range s.collectives {
		t.critical(&t.r.Collectives[i])
	}
}

// explainedTable has a row per message: what took most of its time.
func (t *text) explainedTable(messages []int) {
	t.section()
	tab := &table{columns: []column{{title: "Explained"}, {title: "Message"}, {title: "Workload", drop: 1},
		{title: "Completion", right: true}, {title: "Most of it", right: true}, {title: "Due to", wrap: true}}}
	e := metrics.NewExplainer(t.r, 1)
	shown := messages
	if !t.opt.Verbose && len(shown) > listedFlows {
		shown = shown[:listedFlows]
	}
	for _, i := range shown {
		f := &t.r.Messages[i]
		completion, share, due := t.l.Of("open"), "-", "-"
		if !metrics.Open(f) {
			completion = metrics.FormatTimeDigits(f.CompletionPS, 4)
		}
		if d := e.Dominant(i); d.Cause.Kind != 0 {
			share, due = percent(d.Milli), d.Where
			if due == "" {
				due = d.Stage.In(t.l)
			}
		}
		tab.add(strconv.Itoa(i), metrics.Arrow(f), f.Workload, completion, share, due)
	}
	t.table(tab)
	if n := len(messages) - len(shown); n > 0 {
		t.prose(t.l.Sprintf("and %d more; --verbose lists and explains them all", n), plain)
	}
}

// Details writes, without the report, what Mechanisms and Explain of the options ask for.
func Details(w io.Writer, r *record.Run, opt TextOptions) error {
	t := newText(r, opt)
	t.details()
	return t.end(w)
}

// details are the parts of a report that are written only when asked for.
func (t *text) details() {
	if t.opt.Mechanisms {
		t.mechanisms()
	}
	t.explain(t.opt.Explain)
}
