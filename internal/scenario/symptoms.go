package scenario

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/typo"
)

// Symptom is what somebody sees of a scenario on his own machines, in a few words, and the
// reason for it there, in one line.
type Symptom struct{ Name, Reason string }

// symptomsKey reads what a scenario looks like from outside.
func (r *resolver) symptomsKey() key {
	text := jsonSchema{"type": "string"}
	return otherKey("symptoms", "mapping of symptoms to reasons", []jsonSchema{mapOf(text)}, func(o object, name string) bool {
		v := o.n.Get(name)
		if v.Kind != mappingNode {
			o.fail(name, "is %s; it maps symptoms to their reasons, such as {low busbw: a cable loses frames}", v.Kind)
			return false
		}
		for _, f := range v.Fields {
			if _, err := plainText(f.Value.Text); f.Value.Kind != scalarNode || err != nil {
				o.d.fail(f.Value.Pos, "%s.%s: is %s; give a reason in a line of text", o.join(name), f.Key, f.Value.Kind)
				return false
			}
		}
		r.v.Symptoms = symptomsOf(v)
		return true
	}, "What one sees on machines in such a state, each with its reason, in a line; "+
		"`hopscope scenarios --symptom WORDS` finds them.").otherwise("none")
}

func symptomsOf(n *node) (out []Symptom) {
	for _, f := range n.Fields {
		out = append(out, Symptom{f.Key, f.Value.Text})
	}
	return out
}

// Found is a symptom of a shipped scenario.
type Found struct {
	Scenario string
	Symptom
}

// matches is how many words of a query a symptom has; its own count two, those of its reason one.
func matches(words []string, y *Symptom) (score int) {
	own, reason := stems(y.Name), stems(y.Reason)
	for _, w := range words {
		switch {
		case slices.Contains(own, w):
			score += 2
		case slices.Contains(reason, w):
			score++
		}
	}
	return score
}

// mostNear is how many symptoms NearSymptoms names.
const mostNear = 6

// NearSymptoms are those that have some word of the query, or one that it could be a slip of; the nearest first.
func NearSymptoms(list []Info, query string) (names []string) {
	type near struct {
		name  string
		score int
	}
	var all []near
	words, known := stems(query), stems(strings.Join(Symptoms(list), " "))
	for k, w := range words {
		if !slices.Contains(known, w) && len(w) > 4 { // shorter ones are slips of too many
			words[k] = cmp.Or(typo.Nearest(w, known), w)
		}
	}
	for _, s := range list {
		for i := range s.Symptoms {
			y := &s.Symptoms[i]
			if score := matches(words, y); score > 0 {
				all = append(all, near{y.Name, score})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	for _, n := range all {
		if !slices.Contains(names, n.name) && len(names) < mostNear {
			names = append(names, n.name)
		}
	}
	return names
}

// FindSymptom returns the symptoms of the scenarios that have as many words of the query as any
// has, at least half of them, in the order of the list. Words match by their stems and by
// what else they are called; those of the symptom itself count before those of its reason.
func FindSymptom(list []Info, query string) []Found {
	words := stems(query)
	if len(words) == 0 {
		return nil
	}
	var out []Found
	best := (2*len(words) + 1) / 2 // half of the words, where one of a symptom's own counts two
	for _, s := range list {
		for _, y := range s.Symptoms {
			score := matches(words, &y)
			if score > best {
				best, out = score, nil
			}
			if score == best {
				out = append(out, Found{s.Name, y})
			}
		}
	}
	return out
}

// Symptoms are all that the scenarios have, each once, in alphabetical order.
func Symptoms(list []Info) (out []string) {
	for _, s := range list {
		for _, y := range s.Symptoms {
			out = append(out, y.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// idle are words that tell no symptom from another.
const idle = " a an and are at but by for from has have in is it its my no not of on or our so that the there to was " +
	"we with ns us ms s sec second seconds minute minutes "

// stems are the words of a text without case, endings and what says nothing.
func stems(s string) (out []string) {
	between := func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c < 0x80 }
	s = strings.NewReplacer("all-reduce", "allreduce", "all reduce", "allreduce", "all-to-all", "alltoall").Replace(strings.ToLower(s))
	for _, w := range strings.FieldsFunc(s, between) {
		if strings.Contains(idle, " "+w+" ") {
			continue
		}
		out = append(out, same(stem(w)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// same is the word that stands for all that are used as w, a stem, is.
func same(w string) string {
	switch w {
	case "slow", "slower", "bad", "poor", "half":
		return "low"
	case "bandwidth", "throughput", "algbw", "goodput":
		return "busbw"
	case "pfc", "xoff":
		return stem("pause")
	case "loss", "lost", "los", "discard":
		return "drop"
	case "hung", "stuck", "stall", "freez", "deadlock":
		return "hang"
	case "retransmission", "retransmit", "resend", "timeout":
		return "retry"
	case "tail", "jitter", "spik":
		return "latency"
	case "collision", "uneven", "unbalanc":
		return stem("imbalance")
	case "err":
		return "error"
	case "neighbor":
		return "neighbour"
	}
	return w
}

// stem takes the commonest endings off a word of four letters or more.
func stem(w string) string {
	for _, end := range []string{"ing", "ies", "ed", "es", "s"} {
		rest, cut := strings.CutSuffix(w, end)
		if !cut || len(rest) < 3 || strings.HasSuffix(w, "ss") {
			continue
		}
		last := rest[len(rest)-1]
		switch {
		case end == "ies":
			return rest + "y"
		case end != "s" && last == rest[len(rest)-2] && last != 's' && last != 'l': // dropped
			return rest[:len(rest)-1]
		}
		return strings.TrimSuffix(rest, "e")
	}
	return strings.TrimSuffix(w, "e")
}
