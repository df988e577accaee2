package scenario

import (
	"strings"
)

// key declares one key of a scenario. It is all that is said of the key: the reader, the JSON
// Schema, the tables of docs/formats/scenario.md, `hopscope show` of a key and the warnings of
// settings without effect come from it. CONTRIBUTING.md says how to add one.
type key struct {
	name string
	text string // what it means, for people who know networks; Markdown

	forms  []jsonSchema                     // of values other than sections
	values []string                         // the same in words, for docs
	parse  func(o object, name string) bool // reads a value into its place
	now    func() string                    // what stands in that place; "": nothing to speak of
	shown  func() string                    // the same always
	amount func() int64                     // the same as a number
	words  []meaning                        // texts that stand for something else
	inner  []key                            // keys of the section that may stand here
	later  func() []key                     // the same for a section that is read elsewhere, made when asked for
	many   many                             // how many such sections
	short  string                           // the inner key that a single value stands for
	into   *object                          // where the section is kept
	opens  []func(o object)                 // called with the section before its keys are read
	then   []func(o object)                 // called after the key was read, with the section that it stands in
	after  []func(o object)                 // called with its own section, after the section's keys were read

	preset  string          // what holds without the key, in words; "": what now says
	needed  string          // what to give, if the key cannot be left out
	idle    []func() string // why it has no effect; "": it has one
	group   string          // keys that several sections share: their table in docs
	renamed string          // the key's present name: it is known for the sake of the error alone
	one     bool            // exactly one of its section's keys is given
	choice  bool            // likewise, or a word, which stands for one with what holds without more
	uses    use             // which entries of the workload take it
}

// many tells how a section stands under a key.
type many uint8

const (
	oneSection     many = iota // the section itself
	namedSections              // sections under names that the scenario chooses
	listedSections             // a list of sections
)

// meaning is a text with a meaning of its own.
type meaning struct {
	text string
	set  func()
}

// wordTexts lists the texts that stand for something else.
func (k *key) wordTexts() (texts []string) {
	for _, w := range k.words {
		texts = append(texts, w.text)
	}
	return texts
}

// or lets a text stand in place of a value or section.
func (k key) or(text string, set func()) key {
	k.words = append(k.words, meaning{text, set})
	return k
}

// otherwise says what holds without the key.
func (k key) otherwise(text string) key { k.preset = text; return k }

// need makes the key one that cannot be left out; how says what to give.
func (k key) need(how string) key { k.needed = how; return k }

// within bounds a quantity; what ends the error that begins with the value.
func (k key) within(lo, hi int64, what string) key {
	amount, shown, name := k.amount, k.shown, k.name
	return k.check(func(o object) {
		if n := amount(); n < lo || n > hi {
			o.fail(name, "%s %s", shown(), what)
		}
	})
}

// nonzero refuses 0; what ends the error.
func (k key) nonzero(what string) key {
	amount, name := k.amount, k.name
	return k.check(func(o object) {
		if amount() == 0 {
			o.fail(name, "0 %s", what)
		}
	})
}

// check looks at the value after it was read, and at what else the section says.
func (k key) check(look func(o object)) key { k.then = append(k.then, look); return k }

// unless adds a reason for which the key has no effect; it is asked when all is read.
func (k key) unless(why func() string) key { k.idle = append(k.idle, why); return k }

// exactlyOne says that its section has one key.
func (k key) exactlyOne() key { k.one = true; return k }

// choices says that its section has one key, and that words stand for such a section.
func (k key) choices() key { k.choice = true; return k }

// in keeps the section that stands under the key.
func (k key) in(o *object) key { k.into = o; return k }

// opening is called with the section that stands under the key before its keys are read.
func (k key) opening(begin func(o object)) key { k.opens = append(k.opens, begin); return k }

// finish looks at the section when all its keys were read.
func (k key) finish(look func(o object)) key { k.after = append(k.after, look); return k }

// shortFor lets a single value stand for a section that has only the named key.
func (k key) shortFor(name string) key { k.short = name; return k }

// grouped names the table in docs that keys of several sections share.
func grouped(group string, keys []key) []key {
	for i := range keys {
		keys[i].group = group
	}
	return keys
}

// unless adds a reason for which none of the keys has an effect.
func unless(keys []key, why func() string) []key {
	for i := range keys {
		keys[i].idle = append(keys[i].idle, why)
	}
	return keys
}

// join puts lists of keys together.
func joinKeys(lists ...[]key) (all []key) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// keyNames lists the names of keys.
func keyNames(keys []key) (names []string) {
	for i := range keys {
		if keys[i].renamed == "" {
			names = append(names, keys[i].name)
		}
	}
	return names
}

// keys are the keys of the key's section.
func (k *key) keys() []key {
	if k.later != nil {
		return k.later()
	}
	return k.inner
}

// find returns the key of a name; nil: there is none.
func find(keys []key, name string) *key {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// read reads the values of keys in their order, as far as they are given.
func (o object) read(keys []key) {
	for i := range keys {
		k := &keys[i]
		v := o.n.Get(k.name)
		switch {
		case o.d.err != nil:
			return
		case v == nil && k.needed != "":
			o.d.fail(o.n.Pos, "%s has no %s; %s", o.path, k.name, k.needed)
		case v != nil && k.renamed == "":
			k.read(o, v)
		}
	}
}

// read reads a key's value and looks at it.
func (k *key) read(o object, v *node) {
	if k.take(o, v) && o.d.err == nil {
		for _, look := range k.then {
			look(o)
		}
	}
}

// take reads what stands under the key; false: nothing more is to be done about it.
func (k *key) take(o object, v *node) bool {
	if v.Kind == scalarNode {
		for _, w := range k.words {
			if v.Text == w.text {
				w.set()
				return false
			}
		}
	}
	switch {
	case len(k.words) > 0 && k.inner != nil && k.short == "" && k.parse == nil && v.Kind == scalarNode:
		o.fail(k.name, "%q is not known; give %s, or a mapping with the keys %s", v.Text, strings.ReplaceAll(quoted(k.wordTexts()), "`", ""), strings.Join(keyNames(k.inner), ", "))
		return false
	case k.short != "" && v.Kind == scalarNode:
		long := object{o.d, &node{Kind: mappingNode, Pos: v.Pos, Fields: []field{{Key: k.short, Pos: v.Pos, Value: v}}}, o.join(k.name), true}
		k.readSection(long)
	case k.inner != nil && k.many == oneSection && (k.parse == nil || v.Kind != scalarNode):
		k.readSection(o.object(k.name, k.inner))
	case k.parse != nil:
		return k.parse(o, k.name)
	}
	return true
}

// readSection reads the keys of a section.
func (k *key) readSection(s object) {
	if k.into != nil {
		*k.into = s
	}
	for _, begin := range k.opens {
		begin(s)
	}
	s.read(k.inner)
	for _, look := range k.after {
		if s.d.err == nil {
			look(s)
		}
	}
}

// useless says why a key has no effect; "": it has one.
func (k *key) useless() string {
	for _, f := range k.idle {
		if f == nil {
			continue
		}
		if why := f(); why != "" {
			return why
		}
	}
	return ""
}

// keyAt finds the key of a path such as switch.pfc.alpha; names and list items in between
// stand for any. nil: there is none.
func keyAt(keys []key, path string) *key {
	var k *key
	skip := false
	for part := range strings.SplitSeq(path, ".") {
		name, _, _ := strings.Cut(part, "[")
		if skip {
			skip = false
			continue
		}
		if k = find(keys, name); k == nil {
			return nil
		}
		keys, skip = k.keys(), k.many == namedSections
	}
	return k
}
