package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// usualFactor is how far from what a scenario has a parameter is tried where no bounds are given.
const usualFactor = 16

// param is a key that is tuned.
type param struct {
	scenario.Declared
	name string // of the key, without its section
	// Of a continuous one: bounds, what the scenario has, and what values are multiples of, in
	// the kind's own unit (bytes, bit/s, ps, mm, or a number).
	lo, hi, now, step float64
	words             []string // of an enumeration: what it may be
	word              string   // and what the scenario has; "": not known
	outside           bool     // what the scenario has lies outside of the bounds that were given
	below, above      int      // of thresholds that keep their order: the lower or upper one's number; -1: none
}

// enumeration reports whether there are words to choose from, rather than a scale.
func (p *param) enumeration() bool { return p.words != nil }

// parse reads a value of the parameter's kind in its own unit.
func (p *param) parse(text string) (float64, error) {
	whole := func(v int64, err error) (float64, error) { return float64(v), err }
	switch p.Kind {
	case scenario.SizeKey:
		v, err := units.ParseBytes(text)
		return whole(int64(v), err)
	case scenario.RateKey:
		v, err := units.ParseRate(text)
		return whole(int64(v), err)
	case scenario.TimeKey:
		v, err := units.ParseTime(text)
		return whole(int64(v), err)
	case scenario.LengthKey:
		v, err := units.ParseLength(text)
		return whole(int64(v), err)
	case scenario.ProbabilityKey:
		return units.ParseProbability(text)
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil {
		err = fmt.Errorf("%q is not a number", text)
	}
	return v, err
}

// text writes a value as a scenario has it.
func (p *param) text(v float64) string {
	switch p.Kind {
	case scenario.SizeKey:
		return units.Bytes(v).String()
	case scenario.RateKey:
		return units.Rate(v).String()
	case scenario.TimeKey:
		return units.Time(v).String()
	case scenario.LengthKey:
		return units.Length(v).String()
	case scenario.WholeKey:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// rounded is a value to three digits and in whole steps, so that what is tried can be written
// into a switch or a card.
func (p *param) rounded(v float64) float64 {
	if v <= 0 {
		return v
	}
	digits := math.Pow(10, math.Floor(math.Log10(v))-2)
	v = math.Round(v/digits) * digits
	if p.step > 0 {
		v = max(p.step, math.Round(v/p.step)*p.step)
	}
	return min(max(v, p.lo), p.hi)
}

// params reads the keys that are to be tuned, and where they lie in a scenario.
func (t *tuner) readParams() error {
	for i, path := range t.Params {
		if slices.Contains(t.Params[:i], path) {
			return wrong("--params names %s twice; once is enough", path)
		}
		k, err := t.Known.Declared(path)
		if err != nil {
			return wrong("--params: %w", err)
		}
		switch path {
		case "seed", "stop", "name", "description":
			return wrong("--params: %s is nothing that makes a network better; leave it out", path)
		}
		p := param{Declared: k, name: path[strings.LastIndexByte(path, '.')+1:], below: -1, above: -1}
		if err := t.bound(&p); err != nil {
			return err
		}
		t.params = append(t.params, p)
	}
	for path := range t.Bounds {
		if !slices.Contains(t.Params, path) {
			return wrong("--bounds %s: --params does not name it; parameters are %s", path, strings.Join(t.Params, ", "))
		}
	}
	return t.order()
}

// bound finds what a parameter may be.
func (t *tuner) bound(p *param) error {
	given, has := t.Bounds[p.Path]
	now := t.valueOf(p.Path)
	switch {
	case p.Kind == scenario.WordKey || strings.Contains(given, "|"):
		p.words, p.word = p.Declared.Words, now
		if has {
			p.words = strings.Split(given, "|")
			p.outside = now != "" && !slices.ContainsFunc(p.words, func(w string) bool { return p.same(w, now) })
		}
		if len(p.words) < 2 {
			return wrong("--bounds %s=%s: give two values or more, as in %s=a|b", p.Path, given, p.Path)
		}
		return nil
	case p.Kind == scenario.RatioKey:
		return t.powers(p, given, has, now)
	case p.Kind == scenario.OtherKey:
		return wrong(
			"--params: %s is no number or choice; give what it may be, as in --bounds '%s=a|b'",
			p.Path,
			p.Path,
		)
	}
	known := p.around(now)
	if !has && !known {
		if why := t.idle(p.Path, p.some()); why != "" {
			return wrong("--params: %s has no effect: %s", p.Path, why)
		}
		return wrong(
			"%s is not a parameter with a value above 0 to begin from (%s); give bounds, as in --bounds %s=LO..HI",
			p.Path,
			word(now),
			p.Path,
		)
	}
	if has {
		if err := p.between(given); err != nil {
			return err
		}
	}
	if p.hi <= p.lo {
		return wrong(
			"%s can be %s alone; leave it out, or give bounds, as in --bounds %s=LO..HI",
			p.Path,
			p.text(p.lo),
			p.Path,
		)
	}
	return nil
}

// same reports whether two words are the same value: 100KB and 0.1MB.
func (p *param) same(a, b string) bool {
	read := p.parse
	switch p.Kind {
	case scenario.RatioKey:
		read = ratio
	case scenario.WordKey, scenario.OtherKey:
		return a == b
	}
	x, errA := read(a)
	y, errB := read(b)
	return a == b || errA == nil && errB == nil && !(x < y) && !(x > y)
}

// some is a value of the parameter's kind.
func (p *param) some() string {
	return map[scenario.KeyKind]string{scenario.SizeKey: "100KB", scenario.RateKey: "1Gbps", scenario.TimeKey: "1us",
		scenario.LengthKey: "1m", scenario.ProbabilityKey: "0.1", scenario.NumberKey: "1",
		scenario.WholeKey: strconv.FormatInt(max(1, p.Declared.Lo), 10)}[p.Kind]
}

// idle says why a key has no effect in the scenario, set to a value; "": it has one, or the value
// is refused.
func (t *tuner) idle(path, value string) string {
	opt := t.Run
	opt.Set = append(slices.Clone(t.Run.Set), path+"="+value)
	v, err := run.Load(opt)
	if err != nil {
		return ""
	}
	for _, idle := range v.Idle {
		if path == idle.Key || strings.HasPrefix(path, idle.Key+".") {
			return idle.Why
		}
	}
	return ""
}

// around takes what the scenario has as the middle, and bounds by the usual factor; false: it has
// nothing to begin from.
func (p *param) around(now string) bool {
	v, err := p.parse(now)
	known := err == nil && v > 0
	switch p.Kind {
	case scenario.WholeKey, scenario.SizeKey, scenario.LengthKey:
		p.step = 1
	case scenario.RateKey: // what cards take
		p.step = float64(units.Mbps)
	case scenario.TimeKey:
		if p.step = float64(units.Microsecond); known && v < 10*p.step {
			p.step = float64(units.Nanosecond)
		}
	}
	if !known {
		return false
	}
	p.now, p.lo, p.hi = v, v/usualFactor, v*usualFactor
	switch p.Kind {
	case scenario.ProbabilityKey:
		p.hi = min(p.hi, 1)
	case scenario.WholeKey:
		p.lo, p.hi = max(p.lo, float64(p.Declared.Lo), 1), min(p.hi, float64(p.Declared.Hi))
	}
	p.lo, p.hi = max(p.lo, p.step), max(p.hi, p.step)
	return true
}

// between takes bounds that were given.
func (p *param) between(given string) (err error) {
	lo, hi, ok := strings.Cut(given, "..")
	if !ok {
		return wrong("--bounds %s=%s: write LO..HI, or a|b for a choice", p.Path, given)
	}
	if p.lo, err = p.parse(lo); err == nil {
		p.hi, err = p.parse(hi)
	}
	if err == nil && (p.lo <= 0 || p.hi <= p.lo) {
		err = fmt.Errorf("%s to %s is no range on a logarithmic scale; give 0 < LO < HI", lo, hi)
	}
	if err != nil {
		return wrong("--bounds %s: %w", p.Path, err)
	}
	if p.now == 0 {
		p.now = math.Sqrt(p.lo * p.hi)
	}
	p.outside = p.now < p.lo || p.now > p.hi
	p.now = min(max(p.now, p.lo), p.hi)
	return nil
}

// word is a text, or that there is none.
func word(s string) string {
	if s == "" {
		return "a run notes none"
	}
	return "a run notes " + s
}

// powers makes an enumeration of a ratio: switches take powers of two.
func (t *tuner) powers(p *param, given string, has bool, now string) error {
	lo, hi := 1.0/128, 128.0
	if has {
		a, b, ok := strings.Cut(given, "..")
		var errA, errB error
		lo, errA = ratio(a)
		hi, errB = ratio(b)
		if !ok || errA != nil || errB != nil || lo <= 0 || hi < lo {
			return wrong("--bounds %s=%s: write LO..HI, such as 1/64..4, or a|b for a choice", p.Path, given)
		}
		v, err := ratio(now)
		p.outside = err == nil && (v < lo || v > hi)
	} else if v, err := ratio(now); err == nil && v > 0 {
		lo, hi = v/8, v*8
	}
	p.word = now
	for e := -14; e <= 14; e++ {
		v := math.Ldexp(1, e)
		if v < lo || v > hi {
			continue
		}
		text := fmt.Sprintf("1/%d", 1<<max(0, -e))
		if e >= 0 {
			text = strconv.Itoa(1 << e)
		}
		p.words = append(p.words, text)
	}
	if len(p.words) < 2 {
		return wrong("--bounds %s=%s: fewer than two powers of two lie there; switches take those alone", p.Path, given)
	}
	return nil
}

// ratio reads 1/8 or 0.125.
func ratio(text string) (float64, error) {
	num, den, cut := strings.Cut(text, "/")
	a, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if err != nil || !cut {
		return a, err
	}
	b, err := strconv.ParseFloat(strings.TrimSpace(den), 64)
	return a / b, err
}

// valueOf is what the scenario has of a key, as it notes it; "": nothing.
func (t *tuner) valueOf(path string) string {
	if section, name, _ := strings.Cut(path, "switch.ecn."); section == "" && name != "" {
		if red := t.red(); red.KMax > 0 {
			switch name {
			case "kmin":
				return red.KMin.String()
			case "kmax":
				return red.KMax.String()
			case "pmax":
				return strconv.FormatFloat(red.PMax, 'g', -1, 64)
			}
		}
	}
	for _, n := range t.base.Notes {
		if n.Key == path {
			return n.Value
		}
	}
	return ""
}

// red is the first marking curve of the scenario's switches.
func (t *tuner) red() fabric.RED {
	for n := range t.base.Switches {
		for port := range t.base.Switches[n].Ports {
			for _, r := range t.base.Switches[n].Ports[port].RED {
				if r.KMax > 0 {
					return r
				}
			}
		}
	}
	return fabric.RED{}
}

// order keeps kmin at or below kmax, whichever of them is tuned.
func (t *tuner) order() error {
	for i := range t.params {
		p := &t.params[i]
		section, name := p.Path[:len(p.Path)-len(p.name)], p.name
		if name != "kmin" && name != "kmax" || p.enumeration() {
			continue
		}
		other := map[string]string{"kmin": "kmax", "kmax": "kmin"}[name]
		at := slices.IndexFunc(t.params, func(o param) bool { return o.Path == section+other && !o.enumeration() })
		fixed, err := p.parse(t.valueOf(section + other))
		switch {
		case at >= 0 && name == "kmin":
			p.above = at
		case at >= 0:
			p.below = at
		case err != nil:
		case name == "kmin":
			p.hi = min(p.hi, fixed)
		default:
			p.lo = max(p.lo, fixed)
		}
		if p.hi <= p.lo {
			return wrong(
				"%s cannot lie from %s to %s beside %s %s; give other bounds, or tune both",
				p.Path,
				p.text(p.lo),
				p.text(p.hi),
				other,
				p.text(fixed),
			)
		}
		p.now = min(max(p.now, p.lo), p.hi)
	}
	return nil
}

// point is one setting of all parameters: a place from 0 to 1 on the logarithmic scale of each
// continuous one, in the order of the parameters, and the number of a word of each enumeration.
type point struct {
	at    []float64
	words []int
}

// low is the lower bound of a continuous parameter at a point: above the threshold that keeps
// below it.
func (t *tuner) low(i int, values []float64) float64 {
	p := &t.params[i]
	if p.below >= 0 {
		return min(max(p.lo, values[p.below]), p.hi)
	}
	return p.lo
}

// values are those of the continuous parameters at a point, 0 for enumerations. Where kmax is
// tuned beside kmin, its scale begins at kmin.
func (t *tuner) values(x point) []float64 {
	out := make([]float64, len(t.params))
	place := func(i, k int) {
		lo, hi := t.low(i, out), t.params[i].hi
		out[i] = max(t.params[i].rounded(lo*math.Pow(hi/lo, fold(x.at[k]))), lo)
	}
	for pass := range 2 { // first those that others depend on
		k := 0
		for i := range t.params {
			p := &t.params[i]
			if p.enumeration() {
				continue
			}
			if (p.below >= 0) == (pass == 1) {
				place(i, k)
			}
			k++
		}
	}
	return out
}

// texts are all values at a point, as scenarios have them.
func (t *tuner) texts(x point) []string {
	values, out := t.values(x), make([]string, len(t.params))
	w := 0
	for i := range t.params {
		p := &t.params[i]
		if p.enumeration() {
			out[i] = p.words[x.words[w]]
			w++
		} else {
			out[i] = p.text(values[i])
		}
	}
	return out
}

// now is the point nearest to what the scenario has.
func (t *tuner) now() point {
	var x point
	values := make([]float64, len(t.params))
	for i := range t.params {
		values[i] = t.params[i].now
	}
	for i := range t.params {
		p := &t.params[i]
		if p.enumeration() {
			x.words = append(x.words, max(0, slices.Index(p.words, p.word)))
			continue
		}
		lo := t.low(i, values)
		at := 0.0
		if p.hi > lo {
			at = math.Log(max(p.now, lo)/lo) / math.Log(p.hi/lo)
		}
		x.at = append(x.at, min(max(at, 0), 1))
	}
	return x
}

// fold brings what lies beyond 0 or 1 back by reflection.
func fold(x float64) float64 {
	x = math.Abs(math.Mod(x, 2))
	if x > 1 {
		x = 2 - x
	}
	return x
}
