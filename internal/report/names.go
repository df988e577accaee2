package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/typo"
)

// Names are what a run has, or a scenario will have, that can be explained.
type Names struct {
	Messages    int
	Workloads   []string // those that have messages, each once
	Collectives []string
	// Pairs are where the data of messages come from and go to; pairs may come again.
	Pairs iter.Seq2[string, string]
}

// NamesOf are those of a run.
func NamesOf(r *record.Run) *Names {
	n := &Names{Messages: len(r.Messages)}
	seen := map[string]bool{}
	for i := range r.Messages {
		if w := r.Messages[i].Workload; !seen[w] {
			seen[w] = true
			n.Workloads = append(n.Workloads, w)
		}
	}
	for i := range r.Collectives {
		n.Collectives = append(n.Collectives, r.Collectives[i].Workload)
	}
	n.Pairs = func(yield func(from, to string) bool) {
		for i := range r.Messages {
			if !yield(metrics.DataEnds(&r.Messages[i])) {
				return
			}
		}
	}
	return n
}

// NamesSeveral reports whether a name stands for several messages.
func NamesSeveral(what string) bool {
	_, name := cutPrefix(what)
	return name == explainAll || isPattern(name)
}

// Check refuses what Select would not find. The error names what was asked for and what was
// meant, or what there is.
func (n *Names) Check(what string) error {
	if err := CheckSelect(what); err != nil {
		return err
	}
	prefix, name := cutPrefix(what)
	is := func(s string) bool { return matches(name, s) }
	known := false
	switch {
	case prefix == prefixMessage:
		known = n.message(name)
	case prefix == prefixWorkload:
		known = slices.ContainsFunc(n.Workloads, is)
	case prefix == prefixOfGroups:
		known = slices.ContainsFunc(n.Collectives, is)
	case name == explainCollective:
		if len(n.Collectives) == 0 {
			return fmt.Errorf("%s: the scenario has no collective", what)
		}
		return nil
	case isMessage(name):
		known = n.message(name)
	default:
		known = slices.ContainsFunc(n.Collectives, is) || slices.ContainsFunc(n.Workloads, is) || n.message(name)
	}
	if known {
		return nil
	}
	return n.unknown(what, prefix, name)
}

// message reports whether a name is that of a message, or of several.
func (n *Names) message(name string) bool {
	if i, err := strconv.Atoi(name); err == nil {
		return i >= 0 && i < n.Messages
	}
	if name == explainAll || name == explainSlowest {
		return n.Messages > 0
	}
	for from, to := range n.Pairs {
		if namesPair(name, from, to) {
			return true
		}
	}
	return false
}

// namesPair reports whether a name, "h2->h4", "h4 <- h2" or a pattern of such, is that of a
// message whose data go from one end to another.
func namesPair(name, from, to string) bool {
	src, dst := names.Pair(name)
	switch {
	case src == "" || dst == "":
		return isPattern(name) && matches(name, from+"->"+to)
	case isPattern(name):
		return endMatches(src, from) && endMatches(dst, to)
	}
	return isEnd(from, src) && isEnd(to, dst)
}

// Bounds of what an error lists, and of what it looks through for what was meant.
const (
	listedNames = 5
	mostMeant   = 4096
)

// unknown is the error of what names nothing.
func (n *Names) unknown(what, prefix, name string) error {
	if n.Messages == 0 {
		return fmt.Errorf("%s: no message is kept to be explained; of a collective records: messages keeps them", what)
	}
	if _, err := strconv.Atoi(name); err == nil && prefix != prefixWorkload && prefix != prefixOfGroups {
		return fmt.Errorf("%s: there is no such message; they are numbered 0 to %d", what, n.Messages-1)
	}
	var pairs, among []string // among: what may have been meant, of messages those that share an end
	seen := map[string]bool{}
	src, dst := names.Pair(name)
	for from, to := range n.Pairs {
		if pair := arrow(from, to); !seen[pair] {
			seen[pair] = true
			pairs = append(pairs, pair)
			if src+dst == "" || isEnd(from, src) || isEnd(to, dst) {
				among = append(among, pair)
			}
		}
		if len(pairs) == mostMeant {
			break
		}
	}
	kinds := []struct {
		noun, prefix string
		names        []string
	}{{"message", prefixMessage, pairs}, {"workload", prefixWorkload, n.Workloads}, {"collective", prefixOfGroups, n.Collectives}}
	noun := "thing"
	var there []string
	for _, k := range kinds {
		if prefix != "" && prefix != k.prefix || src+dst != "" && k.prefix != prefixMessage {
			continue
		}
		noun = k.noun
		if k.prefix != prefixMessage {
			among = append(among, k.names...)
		}
		if len(k.names) > 0 {
			there = append(there, listNames(k.noun, k.names))
		}
	}
	if prefix == "" && src+dst == "" {
		noun = "message, workload or collective"
	}
	if w := typo.Nearest(cmp.Or(arrow(src, dst), name), among); w != "" && !isPattern(name) {
		return fmt.Errorf("%s: there is no such %s; did you mean %q?", what, noun, prefix+w)
	}
	if len(there) == 0 {
		return fmt.Errorf("%s: the scenario has no %s", what, noun)
	}
	return fmt.Errorf("%s: there is no such %s; the scenario has %s", what, noun, strings.Join(there, "; "))
}

// arrow joins two ends as names.Pair divides them.
func arrow(src, dst string) string {
	if src+dst == "" {
		return ""
	}
	return src + "->" + dst
}

// listNames lists the first few names of a kind.
func listNames(noun string, names []string) string {
	if len(names) > 1 {
		noun += "s"
	}
	if len(names) > listedNames {
		names = append(slices.Clone(names[:listedNames]), "...")
	}
	return noun + " " + strings.Join(names, ", ")
}
