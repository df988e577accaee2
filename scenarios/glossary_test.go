package scenarios_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
)

// glossary is the catalogue as tables, each name in the page's language first.
func glossary(l lang.Language) string {
	other, heads := lang.Chinese, map[string]string{"question": "Questions", "mechanism": "Mechanisms", "stage": "Stages of a message's time",
		"drop": "Causes of drops", "verdict": "Verdicts", "name": "name", "in": "Chinese", "answers": "question", "part": "part"}
	if l == lang.Chinese {
		other, heads = lang.English, map[string]string{"question": "六个问题", "mechanism": "机制", "stage": "消息时间的阶段", "drop": "丢包原因",
			"verdict": "结论", "name": "名称", "in": "英文", "answers": "问题", "part": "归类"}
	}
	var b strings.Builder
	table := func(head string, columns ...string) {
		fmt.Fprintf(&b, "\n### %s\n\n| %s |\n|%s\n", heads[head], strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	}
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	table("question", heads["name"], heads["in"])
	for _, q := range catalog.Questions {
		row(q.In(l), q.In(other))
	}
	table("mechanism", heads["name"], heads["in"], heads["answers"])
	for m := catalog.NoMechanism + 1; m <= catalog.NagleHeld; m++ {
		q := m.Question().In(l)
		if m.Question() == catalog.NoQuestion {
			q = "-"
		}
		row(m.In(l), m.In(other), q)
	}
	table("stage", heads["name"], heads["in"], heads["part"])
	for _, s := range catalog.Stages() {
		if s.Leg() == catalog.LegThere || s.Base() > catalog.StageCopy { // those of other legs are called after these
			row(s.In(l), s.In(other), s.Part().In(l))
		}
	}
	table("drop", heads["name"], heads["in"])
	for d := catalog.NoDrop + 1; d < catalog.NumDrops; d++ {
		row(d.In(l), d.In(other))
	}
	table("verdict", heads["name"], heads["in"])
	for v := catalog.NoVerdict + 1; v <= catalog.VerdictJobs; v++ {
		row(v.In(l), v.In(other))
	}
	return b.String() + "\n"
}

// The glossaries hold every name of the catalogue, and the same terms in both languages.
func TestReadmeGlossary(t *testing.T) {
	terms := map[lang.Language][]string{}
	for file, l := range map[string]lang.Language{"../docs/glossary.md": lang.English, "../docs/glossary.zh.md": lang.Chinese} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(page), "<!-- catalogue -->\n")
		had, after, closed := strings.Cut(rest, "<!-- end -->\n")
		if !found || !closed {
			t.Fatalf("%s has no place for the catalogue", file)
		}
		if now := glossary(l); *update {
			if err := os.WriteFile(file, []byte(before+"<!-- catalogue -->\n"+now+"<!-- end -->\n"+after), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if line, a, b := firstDifference(had, now); line > 0 {
			t.Errorf("%s, catalogue line %d\nshown   %s\nnow     %s\nmake golden writes it", file, line, a, b)
		}
		for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(before, -1)[1:] {
			pair := m[1] + " = " + m[2]
			if l == lang.Chinese {
				pair = m[2] + " = " + m[1]
			}
			terms[l] = append(terms[l], pair)
		}
	}
	if en, zh := terms[lang.English], terms[lang.Chinese]; len(en) < 40 || !slices.Equal(en[1:], zh[1:]) {
		t.Errorf("the glossaries have other terms:\n%q\n%q", en, zh)
	}
}
