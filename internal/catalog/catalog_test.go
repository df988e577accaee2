package catalog

import (
	"encoding"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/lang"
)

// Every ID has a name of its own, by which it comes back; another name is none.
func TestNames(t *testing.T) {
	for what, n := range map[string]int{
		"question":  count(t, questions, func(k int) textual { q := Question(k); return &q }),
		"service":   count(t, services, func(k int) textual { s := Service(k); return &s }),
		"drop":      count(t, drops, func(k int) textual { d := Drop(k); return &d }),
		"mechanism": count(t, mechanisms, func(k int) textual { m := Mechanism(k); return &m }),
		"layer":     count(t, layerNames, func(k int) textual { l := Layer(k); return &l }),
		"part":      count(t, parts, func(k int) textual { p := Part(k); return &p }),
		"place":     count(t, placeKinds, func(k int) textual { p := PlaceKind(k); return &p }),
		"cause":     count(t, causes, func(k int) textual { c := Cause(k); return &c }),
		"reason":    count(t, reasons, func(k int) textual { r := Reason(k); return &r }),
		"verdict":   count(t, verdicts, func(k int) textual { v := Verdict(k); return &v }),
	} {
		if n < 2 {
			t.Errorf("%d of %s", n, what)
		}
	}
	all := Stages()
	if n := count(t, all, func(k int) textual { s := all[k]; return &s }); n < 150 {
		t.Errorf("%d stages", n)
	}
}

// textual is a pointer to an ID.
type textual interface {
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

// count checks the IDs of a table and counts them.
func count[T any](t *testing.T, table []T, of func(k int) textual) int {
	t.Helper()
	seen := map[string]bool{}
	for k := range table {
		id := of(k)
		text, err := id.MarshalText()
		if err != nil || seen[string(text)] {
			t.Errorf("%T %d is called %q, as is another: %v", id, k, text, err)
		}
		seen[string(text)] = true
		back := reflect.New(reflect.TypeOf(id).Elem()).Interface().(textual)
		if err := back.UnmarshalText(text); err != nil || !reflect.DeepEqual(back, id) {
			t.Errorf("%q comes back as %v: %v", text, back, err)
		}
		if err := back.UnmarshalText([]byte("no such name")); err == nil {
			t.Errorf("%T takes any name", id)
		}
	}
	return len(seen)
}

// Every stage belongs to a part, also among a READ's responses; all of an acknowledgement
// belongs to the answer, but one that was lost, which is recovery.
func TestStagesBelongToParts(t *testing.T) {
	for _, s := range Stages() {
		switch p := s.Part(); {
		case p == PartUnknown:
			t.Errorf("%s belongs to nothing", s)
		case s.Leg() == LegAck && p != PartAnswer && s.row().part != PartLost:
			t.Errorf("%s belongs to %s", s, p)
		}
	}
	if StageAckLost.Part() != PartLost || StageQueue.On(LegAck).Part() != PartAnswer || StageQueue.On(LegResponse).Part() != PartQueued {
		t.Error("stages of acknowledgements and responses")
	}
}

// Every mechanism of the ledger answers a question, and every layer's vocabulary is made of
// mechanisms of the roles that it gives them.
func TestVocabularies(t *testing.T) {
	for k := range mechanisms {
		if m := Mechanism(k); k > 0 && k < int(Rerouting) && (m.Question() == NoQuestion || m.Noun() == "") {
			t.Errorf("%s answers %q and counts %q", m, m.Question(), m.Noun())
		}
	}
	for k := range layerNames {
		v, words := Layer(k).Vocabulary(), Layer(k).English()
		for m, role := range map[Mechanism]Role{v.Mark: RoleMark, v.Tell: RoleTell, v.Slow: RoleSlow, v.Fill: RoleFill, v.Hold: RoleHold, v.Reroute: RoleReroute} {
			if m.Role() != role {
				t.Errorf("%s: %s has role %d, not %d", Layer(k), m, m.Role(), role)
			}
		}
		if v.Held.Part() != PartHeld {
			t.Errorf("%s: what is held is %s", Layer(k), v.Held)
		}
		w := reflect.ValueOf(words)
		for i := range w.NumField() {
			if w.Field(i).IsZero() {
				t.Errorf("%s has no word for %s", Layer(k), w.Type().Field(i).Name)
			}
		}
	}
}

// Every kind of cause stands in the documentation by its name.
func TestCausesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/models/accounts.md")
	if err != nil {
		t.Fatal(err)
	}
	for c := NoCause + 1; int(c) < len(causes); c++ {
		if !strings.Contains(string(doc), "`"+c.String()+"`") {
			t.Errorf("%q does not stand in docs/models/accounts.md", c)
		}
	}
}

// Every question, mechanism, stage, part, cause of drops, verdict, fabric and API has a Chinese name of its own, and
// every word of a link layer is there.
func TestChinese(t *testing.T) {
	const zh = lang.Chinese
	names := func(what string, n int, of func(k int) (english, chinese string)) {
		seen := map[string]bool{}
		for k := range n {
			e, c := of(k)
			if e != "" && (c == "" || seen[c]) {
				t.Errorf("%s %q is called %q in Chinese, as is nothing or another", what, e, c)
			}
			seen[c] = true
		}
	}
	names("question", len(questions), func(k int) (string, string) { return questions[k], chineseQuestions[k] })
	names("mechanism", len(mechanisms), func(k int) (string, string) { return mechanisms[k].name, chineseMechanisms[k] })
	names("stage", len(stages), func(k int) (string, string) { return stages[k].name, chineseStages[k] })
	names("answer", len(answers), func(k int) (string, string) { return answers[k].name, chineseAnswers[k] })
	names("part", len(parts), func(k int) (string, string) { return parts[k], chineseParts[k] })
	names("drop", len(drops), func(k int) (string, string) { return drops[k].name, chineseDrops[k] })
	names("verdict", len(verdicts), func(k int) (string, string) { return verdicts[k], chineseVerdicts[k] })
	names("fabric", len(fabrics), func(k int) (string, string) { return fabrics[k], chineseFabrics[k] })
	names("API", len(apis), func(k int) (string, string) { return apis[k], chineseAPIs[k] })
	for k := range english {
		words := reflect.ValueOf(Layer(k).Words(zh))
		for i := range words.NumField() {
			if words.Field(i).String() == "" {
				t.Errorf("link layer %v has no %s in Chinese", Layer(k), words.Type().Field(i).Name)
			}
		}
	}
	if a, b := StageQueue.On(LegAck).In(zh), StageQueue.In(zh); a != "ACK："+b {
		t.Errorf("%q is the queue of an ACK, %q that of a message", a, b)
	}
}
