// Package claims holds what is said of TCP, RoCEv2, InfiniBand and GPUDirect as experiments: a statement, the runs that
// show it, the figure that is read from them, and the comparison, with its margin, that would refute it. A verdict is
// that comparison's and nobody's opinion: it turns when the mechanism behind it is taken away, and stays as it is when
// seed, link rate and size change within the range that a claim states. Nothing here runs anything: what does is
// handed in.
package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
)

// Text is a sentence, or a part of one, in both languages.
type Text struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// In is the text in a language.
func (t Text) In(l lang.Language) string {
	if l == lang.Chinese {
		return t.ZH
	}
	return t.EN
}

// Chapter is a part of the article.
type Chapter uint8

// Chapters, in the article's order.
const (
	Switches Chapter = iota
	Layers
	Congestion
	Host
	GPU
	Choosing
	Operating
)

var chapters = []Text{
	{"Two switches", "从两台交换机说起"}, {"The layers", "分层"}, {"Congestion", "拥塞"}, {"Inside the host", "主机内部"},
	{"To the GPU's memory", "到 GPU 显存"}, {"Choosing", "选型"}, {"Operating it", "运维"},
}

// Title is what the chapter is called.
func (c Chapter) Title() Text { return chapters[c] }

// Claim is a statement with the experiment that would refute it.
type Claim struct {
	Chapter Chapter
	Says    Text
	Article []int // the statements of the article that it shows, 1 to 112

	// Setup says in words what is run; Base is a shipped scenario, and Set what is set in it in every variant. {rate} and
	// {size} stand there for Rate and Size.
	Setup      Text
	Base       string
	Set        []string
	Rate, Size string
	Variants   []Variant

	// Checks must all be true for the claim to hold.
	Checks []Check
	// When, if it says anything, is the condition under which the claim holds; Outside are its comparisons where the
	// condition is not met, and one of them must be false, or the condition is none.
	When    Text
	Outside []Check

	Off   Removal
	Range Range
	Note  Text // where the article is imprecise, or why the margin is what it is; with its source
}

// Variant is one of the runs that a claim compares.
type Variant struct {
	Key   string   // how checks name it
	Name  Text     // how a reader does
	Set   []string // beside the claim's
	Base  string   // in place of the claim's; "": that one
	Seeds int      // how many seeds it runs; 0: one
}

// Term is a figure of one variant.
type Term struct {
	Of     string // a variant's key
	Figure *Figure
}

// Check compares a figure with another one, or with a bound.
type Check struct {
	Left  Term
	Most  bool    // Left must be at most Times the right side; else at least
	Times float64 // the margin, or the bound where there is no Right
	Right *Term
}

// Removal takes away the mechanism that a claim is about.
type Removal struct {
	What Text
	Set  []string // in every variant
	Only string   // in this variant alone; "": in all
}

// Range is where a verdict must not turn.
type Range struct {
	Seeds []uint64
	Rates []string
	Sizes []string
}

// Point is one place in the range of a claim.
type Point struct {
	Seed       *uint64 // nil: the scenario's
	Rate, Size string  // "": the claim's own
	Off        bool    // without the mechanism
}

// Points are the places of a claim's range but its own: each seed, rate and size in turn, the others as they are.
func (c *Claim) Points() (out []Point) {
	for i := range c.Range.Seeds {
		out = append(out, Point{Seed: &c.Range.Seeds[i]})
	}
	for _, r := range c.Range.Rates {
		if r != c.Rate {
			out = append(out, Point{Rate: r})
		}
	}
	for _, s := range c.Range.Sizes {
		if s != c.Size {
			out = append(out, Point{Size: s})
		}
	}
	return out
}

// CheckPoint says in one line what of a point is not in the range that the claim states, or nothing.
func (c *Claim) CheckPoint(number int, p Point) string {
	of := func(what, value, own string, all []string) string {
		if value == "" || value == own || slices.Contains(all, value) {
			return ""
		}
		if own == "" {
			return fmt.Sprintf("--%s %s: claim %d has no %s to change", what, value, number, what)
		}
		return fmt.Sprintf("--%s %s: claim %d is stated for %s", what, value, number, strings.Join(withOwn(own, all), ", "))
	}
	if msg := of("rate", p.Rate, c.Rate, c.Range.Rates); msg != "" {
		return msg
	}
	return of("size", p.Size, c.Size, c.Range.Sizes)
}

// withOwn is a list with a value that it may not hold yet in front.
func withOwn(own string, all []string) []string {
	if slices.Contains(all, own) {
		return all
	}
	return append([]string{own}, all...)
}

// Spec is one run.
type Spec struct {
	Scenario string
	Set      []string
	Seed     *uint64
}

// spec is what a variant runs at a point.
func (c *Claim) spec(v *Variant, p Point) Spec {
	s := Spec{Scenario: c.Base, Seed: p.Seed}
	if v.Base != "" {
		s.Scenario = v.Base
	}
	fill := strings.NewReplacer("{rate}", or(p.Rate, c.Rate), "{size}", or(p.Size, c.Size))
	lists := [][]string{c.Set, v.Set}
	if p.Off && (c.Off.Only == "" || c.Off.Only == v.Key) {
		lists = append(lists, c.Off.Set)
	}
	for _, list := range lists {
		for _, e := range list {
			s.Set = append(s.Set, fill.Replace(e))
		}
	}
	return s
}

// Shown is the setup with the point's rate and size.
func (c *Claim) Shown(p Point, l lang.Language) string {
	return strings.NewReplacer("{rate}", Pretty(or(p.Rate, c.Rate)), "{size}", Pretty(or(p.Size,
		c.Size))).Replace(c.Setup.In(l))
}

// Pretty is a rate or size as text has it: "400 Gb/s" for 400Gbps.
func Pretty(s string) string {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789."))
	if digits == 0 || digits == len(s) {
		return s
	}
	return s[:digits] + " " + strings.Replace(s[digits:], "bps", "b/s", 1)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Command is what one types to repeat a variant's run.
func (c *Claim) Command(v *Variant, p Point) string {
	s := c.spec(v, p)
	var b strings.Builder
	b.WriteString("hopscope run " + s.Scenario)
	for _, e := range s.Set {
		b.WriteString(" --set " + quoted(e))
	}
	if s.Seed != nil {
		fmt.Fprintf(&b, " --set seed=%d", *s.Seed)
	}
	if v.Seeds > 1 {
		fmt.Fprintf(&b, " --seeds %d", v.Seeds)
	}
	return b.String()
}

// quoted is s as one word of a shell.
func quoted(s string) string {
	if strings.ContainsAny(s, " []{}()*?;&|<>'\"$") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// variant finds a variant by its key.
func (c *Claim) variant(key string) *Variant {
	for i := range c.Variants {
		if c.Variants[i].Key == key {
			return &c.Variants[i]
		}
	}
	panic(fmt.Sprintf("claims: %q has no variant %q", c.Says.EN, key))
}

// All lists the claims in the article's order. A claim's number is its place, from 1.
func All() []Claim {
	all := slices.Concat(switchesClaims(), layersClaims(), congestionClaims(), deadlockClaims(), lossyClaims(),
		creditClaims(),
		hostClaims(), verbsClaims(), gpuClaims(), trainingClaims(), choosingClaims(), operatingClaims())
	slices.SortStableFunc(all, func(a, b Claim) int { return int(a.Chapter) - int(b.Chapter) })
	return all
}

// Find finds a claim by its number as somebody writes it.
func Find(all []Claim, word string) (number int, err error) {
	if _, err := fmt.Sscanf(word, "%d",
		&number); err != nil || fmt.Sprint(number) != word || number < 1 || number > len(all) {
		return 0, fmt.Errorf("%q is no claim; there are 1 to %d, which hopscope claims lists", word, len(all))
	}
	return number, nil
}
