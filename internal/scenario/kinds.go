package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
)

// The functions here make keys, one for each kind of value. The place that a value goes to
// holds the default when the key is made.

// quantityKey is a number with a unit.
func quantityKey[T ~int64](name string, dst *T, kind, pattern string, parse func(string) (T, error), text string) key {
	return key{name: name, text: text, values: []string{kind}, forms: []jsonSchema{quantityOf(pattern)},
		parse:  func(o object, name string) bool { return read(o, name, dst, parse) },
		now:    func() string { return positive(*dst, fmt.Sprint(*dst)) },
		shown:  func() string { return fmt.Sprint(*dst) },
		amount: func() int64 { return int64(*dst) }}
}

// positive is a text, or nothing where the number is a mark for what is not given.
func positive[T ~int64](n T, text string) string {
	if n <= 0 {
		return ""
	}
	return text
}

func timeKey(name string, dst *units.Time, text string) key {
	return quantityKey(name, dst, "time", units.TimePattern(), units.ParseTime, text)
}

func rateKey(name string, dst *units.Rate, text string) key {
	return quantityKey(name, dst, "rate", units.RatePattern(), units.ParseRate, text)
}

func sizeKey(name string, dst *units.Bytes, text string) key {
	return quantityKey(name, dst, "size", units.BytesPattern(), units.ParseBytes, text)
}

func lengthKey(name string, dst *units.Length, text string) key {
	return quantityKey(name, dst, "length", units.LengthPattern(), units.ParseLength, text)
}

// costKey is a time that something takes at a host.
func costKey(name string, dst *units.Time, text string) key {
	return timeKey(name, dst, text).within(0, int64(maxHostCost),
		fmt.Sprintf("is longer than anything a host does for one message; give at most %v", units.Time(maxHostCost)))
}

// numberKey is a whole number from lo to hi.
func numberKey[T ~int | ~int64 | ~uint8 | ~uint16 | ~uint32](name string, dst *T, lo, hi int, text string) key {
	return key{name: name, text: text, values: []string{fmt.Sprintf("%d to %d", lo, hi)}, forms: []jsonSchema{wholeNumber(lo, hi)},
		parse: func(o object, name string) bool {
			text, ok := o.scalar(name)
			if !ok {
				return false
			}
			v, err := strconv.Atoi(text)
			if err != nil || v < lo || v > hi {
				o.fail(name, "%q is not a whole number from %d to %d", text, lo, hi)
				return false
			}
			*dst = T(v)
			return true
		},
		now: func() string {
			if n := int(*dst); n >= lo && n <= hi {
				return strconv.Itoa(n)
			}
			return ""
		},
		amount: func() int64 { return int64(*dst) }}
}

// probabilityKey is a number from 0 to 1, or a percentage.
func probabilityKey(name string, dst *float64, text string) key {
	return key{name: name, text: text, values: []string{"probability"},
		forms: []jsonSchema{{"type": []string{"string", "number"}, "minimum": 0, "maximum": 1}},
		parse: func(o object, name string) bool { return read(o, name, dst, units.ParseProbability) },
		now:   func() string { return strconv.FormatFloat(*dst, 'g', -1, 64) }}
}

// realKey is a number.
func realKey(name string, dst *float64, text string) key {
	return key{name: name, text: text, values: []string{"number"}, forms: []jsonSchema{{"type": "number"}},
		parse: func(o object, name string) bool {
			return read(o, name, dst, func(text string) (float64, error) {
				v, err := strconv.ParseFloat(text, 64)
				if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
					return 0, fmt.Errorf("%q is not a number such as 0.95", text)
				}
				return v, nil
			})
		},
		now: func() string { return strconv.FormatFloat(*dst, 'g', -1, 64) }}
}

// ratioKey is a positive ratio such as 1/8, 2 or 0.5.
func ratioKey(name string, num, den *int64, text string) key {
	return key{name: name, text: text, values: []string{"ratio"},
		forms: []jsonSchema{{"type": "string", "pattern": `^ *[0-9]+ */ *[0-9]+ *$|^[0-9]+(\.[0-9]{1,4})?$`},
			{"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.0001}},
		parse: func(o object, name string) bool {
			text, ok := o.scalar(name)
			if !ok {
				return false
			}
			n, d, ok := parseFraction(text)
			if !ok {
				o.fail(name, "%q is not a positive ratio such as 1/8, 2 or 0.5 (numerator and denominator up to 65536)", text)
				return false
			}
			*num, *den = n, d
			return true
		},
		now: func() string { return fmt.Sprintf("%d/%d", *num, *den) }}
}

// flagKey is true or false.
func flagKey(name string, dst *bool, text string) key {
	return key{name: name, text: text, values: []string{"`true` or `false`"}, forms: []jsonSchema{{"type": "boolean"}},
		parse: func(o object, name string) bool {
			text, ok := o.scalar(name)
			if !ok {
				return false
			}
			if text != "true" && text != "false" {
				o.fail(name, "%q is neither true nor false", text)
				return false
			}
			*dst = text == "true"
			return true
		},
		now: func() string { return "`" + strconv.FormatBool(*dst) + "`" }}
}

// choiceKey is one of some words, each with its value.
func choiceKey[T comparable](name string, dst *T, words []string, values []T, text string) key {
	return key{name: name, text: text, values: []string{quoted(words)}, forms: []jsonSchema{wordsOf(words...)},
		parse: func(o object, name string) bool {
			text, ok := o.scalar(name)
			if !ok {
				return false
			}
			for i, w := range words {
				if w == text {
					*dst = values[i]
					return true
				}
			}
			o.fail(name, "%q is not known; %s", text, tree.Suggest(text, words))
			return false
		},
		now: func() string {
			for i, v := range values {
				if v == *dst {
					return "`" + words[i] + "`"
				}
			}
			return ""
		}}
}

// wordKey is one of some words.
func wordKey(name string, dst *string, words []string, text string) key {
	return choiceKey(name, dst, words, words, text)
}

// eitherKey is one of two words, of which the second sets dst.
func eitherKey(name string, dst *bool, no, yes, text string) key {
	return choiceKey(name, dst, []string{no, yes}, []bool{false, true}, text)
}

// countedKey is one of the words that name 0, 1, 2, ...
func countedKey[T ~int | ~uint8](name string, dst *T, words []string, text string) key {
	values := make([]T, len(words))
	for i := range values {
		values[i] = T(i)
	}
	return choiceKey(name, dst, words, values, text)
}

// namesOf are the words that values call themselves.
func namesOf[T fmt.Stringer](values []T) (words []string) {
	for _, v := range values {
		words = append(words, v.String())
	}
	return words
}

// spokenKey is one of some values, by the words that they call themselves.
func spokenKey[T interface {
	comparable
	fmt.Stringer
}](name string, dst *T, values []T, text string) key {
	return choiceKey(name, dst, namesOf(values), values, text)
}

// prioritiesKey is a list of priorities 0 to 7, read into a mask.
func prioritiesKey(name string, dst *uint8, text string) key {
	return key{name: name, text: text, values: []string{"list of 0 to 7", "`none`"},
		forms: []jsonSchema{listOf(wholeNumber(0, 7)), wholeNumber(0, 7), wordsOf("none")},
		parse: func(o object, name string) bool { return o.priorities(name, dst) },
		now:   func() string { return "[" + maskText(*dst) + "]" }}
}

// lineKey is a text of one line.
func lineKey(name string, dst *string, text string) key {
	return key{name: name, text: text, values: []string{"text"}, forms: []jsonSchema{anyScalar()},
		parse: func(o object, name string) bool { return read(o, name, dst, plainText) },
		now:   func() string { return *dst }}
}

// otherKey is a key that reads its value itself. values says in words what it takes.
func otherKey(name, values string, forms []jsonSchema, parse func(o object, name string) bool, text string) key {
	return key{name: name, text: text, values: []string{values}, forms: forms, parse: parse}
}

// textKey is a key whose text is read by a function of its own.
func textKey(name, values string, form jsonSchema, parse func(o object, text string), text string) key {
	return otherKey(name, values, []jsonSchema{form}, func(o object, name string) bool {
		text, ok := o.scalar(name)
		if ok {
			parse(o, text)
		}
		return ok
	}, text)
}

// listKey is a list of names, or a single one, which a function looks up.
func listKey(name, values string, parse func(o object, name string) bool, text string) key {
	return otherKey(name, values, []jsonSchema{listOf(anyScalar()), anyScalar()}, parse, text)
}

// sectionKey is a mapping with keys of its own.
func sectionKey(name string, inner []key, text string) key {
	return key{name: name, text: text, inner: inner}
}

// readElsewhere is a section whose keys are read by a function of its own.
func readElsewhere(name string, keys func() []key, text string) key {
	return key{name: name, text: text, later: keys, parse: readLater}
}

// namedKey is a mapping of names, which the scenario chooses, to sections; parse reads it.
func namedKey(name string, keys func() []key, parse func(o object, name string) bool, text string) key {
	return key{name: name, text: text, later: keys, many: namedSections, parse: parse}
}

// listedKey is a list of sections; parse reads it.
func listedKey(name string, keys func() []key, parse func(o object, name string) bool, text string) key {
	return key{name: name, text: text, later: keys, many: listedSections, parse: parse}
}

// readLater is the parse function of a section that is read when what it depends on is known.
func readLater(object, string) bool { return true }

// paramKey is the key of a declared parameter.
func paramKey(p param.Param) key {
	text := p.Text + " " + strings.ToUpper(p.Source[:1]) + p.Source[1:] + "."
	var k key
	switch v := p.Value.(type) {
	case *units.Time:
		k = timeKey(p.Name, v, text)
	case *units.Rate:
		k = rateKey(p.Name, v, text)
	case *units.Bytes:
		k = sizeKey(p.Name, v, text)
	case *int:
		if !p.Bounded() {
			p.Max = 1 << 31
		}
		return numberKey(p.Name, v, int(p.Min), int(p.Max), text) // none has a 0 of its own beside its bounds
	case *bool:
		return flagKey(p.Name, v, text)
	case *float64:
		k = realKey(p.Name, v, text)
	}
	if n, _ := p.Number(); n == 0 && p.Zero != "" {
		k = k.otherwise(p.Zero)
	}
	if p.Bounded() {
		limits := p
		k = k.check(func(o object) {
			if !limits.InRange() {
				o.fail(limits.Name, "%s is out of range; give %s", limits.String(), limits.Range())
			}
		})
	}
	return k
}

// quoted lists words as code: `a`, `b` or `c`.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "`" + w + "`"
	}
	if len(out) > 1 {
		return strings.Join(out[:len(out)-1], ", ") + " or " + out[len(out)-1]
	}
	return strings.Join(out, "")
}

// orFlag lets true or false stand in place of a section; the default is false.
func (k key) orFlag(set func(on bool)) key {
	on := false
	flag := flagKey(k.name, &on, "")
	k.forms, k.values, k.now = append(k.forms, flag.forms...), append(flag.values, k.values...), flag.now
	k.parse = func(o object, name string) bool {
		ok := flag.parse(o, name)
		if ok {
			set(on)
		}
		return ok
	}
	return k
}

// takes says what may stand under a key.
func (k *key) takes() string {
	inner := k.keys()
	values := k.values
	if short := find(inner, k.short); short != nil {
		values = append(values, short.values...)
	}
	if k.words != nil {
		values = append(values, quoted(k.wordTexts()))
	}
	if inner != nil {
		values = append(values, [...]string{"section", "sections by name", "list of sections"}[k.many])
	}
	return strings.Join(values, ", ")
}
