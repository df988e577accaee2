package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/claims"
	"github.com/hopscope/hopscope/internal/cli"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/tour"
)

// The guide's chapters show what their commands print and draw, and every number in their text
// stands in what they show. Every language has the same chapters with the same commands. With
// -update outputs and figures are written again; what the text says of them is mended by hand.
func TestReadmeGuide(t *testing.T) {
	t.Setenv("COLUMNS", "")
	folder := t.TempDir() // has the files that commands name, and takes those that they write
	pages, err := filepath.Abs("../docs")
	if err == nil {
		err = os.Symlink(pages, filepath.Join(folder, "docs"))
	}
	if err != nil {
		t.Skip(err) // a system without links
	}
	t.Chdir(folder)
	root := os.DirFS("docs")
	runs := &memory{}
	english, err := tour.Read(root, "en")
	if err != nil || len(english) == 0 {
		t.Fatalf("no chapters: %v", err)
	}
	for _, lang := range tour.Languages(root) {
		chapters, err := tour.Read(root, lang)
		if err != nil {
			t.Fatal(err)
		}
		for i := range chapters {
			c := &chapters[i]
			t.Run(lang+"/"+strconv.Itoa(c.Number), func(t *testing.T) {
				if e := english[min(i, len(english)-1)]; filepath.Base(e.File) != filepath.Base(c.File) {
					t.Errorf("docs/%s stands where the English guide has %s", c.File, e.File)
				} else {
					sameCommands(t, lang, &e, c)
				}
				guideChapter(t, c, lang, runs)
			})
		}
		index, err := os.ReadFile("docs/guide/" + lang + "/README.md")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chapters {
			row := fmt.Sprintf("%d. [%s](%s)", c.Number, c.Title, filepath.Base(c.File))
			if !strings.Contains(string(index), row) || !strings.Contains(strings.Join(strings.Fields(string(index)), " "), c.Summary) {
				t.Errorf("docs/guide/%s/README.md lacks %q or the summary %q", lang, row, c.Summary)
			}
		}
	}
}

// sameCommands holds that a translation runs what the English chapter runs, in its language.
func sameCommands(t *testing.T, lang string, english, c *tour.Chapter) {
	t.Helper()
	if len(english.Steps) != len(c.Steps) {
		t.Errorf("docs/%s has %d commands, the English chapter %d", c.File, len(c.Steps), len(english.Steps))
		return
	}
	for i := range c.Steps {
		if want, is := english.Steps[i].Command, strings.ReplaceAll(c.Steps[i].Command, " --lang "+lang, ""); want != is {
			t.Errorf("docs/%s, command %d: %s, in English %s", c.File, i+1, is, want)
		}
	}
}

// changeThis is the heading of a chapter's last part, by language; looked up, never iterated.
var changeThis = map[string]string{"en": "## Change this", "zh": "## 改一改"}

func guideChapter(t *testing.T, c *tour.Chapter, lang string, runs *memory) {
	var outputs []string
	before, changes := 0, 0
	changing, set := false, false
	shown := c.Summary
	for i := range c.Steps {
		s := &c.Steps[i]
		part, err := tour.Excerpt(runs.hopscope(t, tour.Words(s.Command)[1:]), s.Lines)
		if err != nil {
			t.Fatalf("docs/%s: %s: %v", c.File, s.Command, err)
		}
		outputs = append(outputs, part)
		shown += "\n" + s.Command + "\n" + part
		if changing = changing || strings.Contains("\n"+s.Prose+"\n", "\n"+changeThis[lang]+"\n"); changing {
			changes++
			set = set || strings.Contains(s.Command, "--set") || strings.Contains(s.Command, "--off")
		} else {
			before++
		}
	}
	if before < 3 || before > 6 || changes < 1 || !set {
		t.Errorf("docs/%s has %d commands and %d below %q; 3 to 6 and at least 1 that changes something", c.File, before, changes, changeThis[lang])
	}
	now := c.With(outputs)
	if *update {
		if err := os.WriteFile("docs/"+c.File, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if line, a, b := firstDifference(c.Source, now); line > 0 {
		t.Errorf("docs/%s line %d\nshown   %s\nprinted %s\nmake golden writes it; then mend what the page says of it", c.File, line, a, b)
	}
	guideFigure(t, c, runs)
	guideNumbers(t, c, shown)
}

// drawn is a picture, and behind it the command that draws it and the file that this writes.
var drawn = regexp.MustCompile("!\\[[^\\]]+\\]\\(([^)]+)\\)\n\n[^`]*`(hopscope [^`]+ --svg (\\S+))`[^`]*`(\\S+)/(\\S+)`")

// guideFigure holds that a chapter's figure is what the program draws.
func guideFigure(t *testing.T, c *tour.Chapter, runs *memory) {
	t.Helper()
	m := drawn.FindAllStringSubmatch(c.Source, -1)
	if len(m) != 1 || m[0][3] != m[0][4] || strings.Count(c.Source, "![") != 1 {
		t.Fatalf("docs/%s needs one figure and below it its command and file: `hopscope ... --svg DIR`: `DIR/NAME.svg`", c.File)
	}
	dir := t.TempDir()
	words := tour.Words(m[0][2])[1:]
	runs.hopscope(t, append(words[:len(words)-1:len(words)-1], dir))
	now, err := os.ReadFile(filepath.Join(dir, m[0][5]))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("docs", filepath.Dir(c.File), m[0][1])
	if *update {
		if err := os.WriteFile(file, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if had, err := os.ReadFile(file); err != nil || !bytes.Equal(had, now) {
		t.Errorf("%s is not what `%s` draws (%v); look at it after make golden", file, m[0][2], err)
	}
}

// quantity is a number and its unit, "" if it has none.
type quantity struct {
	value    float64
	unit     string
	decimals int
}

var (
	// units that numbers in text are compared with; what else follows a number is not part of it.
	unitsOf = `ps|ns|us|ms|s|B|KB|MB|GB|KiB|MiB|GiB|b/s|Mb/s|Gb/s|Gbps|Tb/s|GB/s|TFLOP/s|x|%`
	number  = regexp.MustCompile(`(?:^|[^\w.,])(\d[\d,]*(?:\.\d+)?)(?:[  ]?(` + unitsOf + `)(?:$|[^\w/]))?`)
	// named are numbers in names of standards, counted are parts of others in words.
	named   = regexp.MustCompile(`[Cc]hapter \d|第 ?\d ?章|802\.\d\w*|RFC \d+|H100|A100|400G\b|800G\b|100G\b`)
	counted = regexp.MustCompile(`(?i)\b(twice|half|halves|thirds?|quarters?|tenths?|hundredth|thousandth|double[sd]?|` +
		`(two|three|four|five|six|seven|eight|nine|ten|hundred|thousand) times)\b|一半|[一二三四五六七八九十百千两几]倍|分之`)
	notText = regexp.MustCompile("(?s)<!--.*?-->|`[^`]*`|!?\\[[^\\]]*\\]\\([^)]*\\)|(?m:^>.*$)|(?m:^#.*$)|(?m:^ *[0-9]+\\. )")
	checks  = regexp.MustCompile(`<!-- check: (.*?) -->`)
)

// quantities are the numbers in a text.
func quantities(text string) (out []quantity) {
	for at := 0; at < len(text); {
		m := number.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		out = append(out, quantityOf(text[at+m[2]:at+m[3]], text[at:], m))
		at += m[3]
	}
	return out
}

func quantityOf(digits, text string, m []int) quantity {
	q := quantity{}
	q.value, _ = strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64) // as the pattern has it
	if _, after, found := strings.Cut(digits, "."); found {
		q.decimals = len(after)
	}
	if m[4] >= 0 {
		q.unit = strings.Replace(text[m[4]:m[5]], "bps", "b/s", 1) // as commands have it
	}
	return q
}

// shows reports whether q is one of all, or one of them rounded.
func (q quantity) shownIn(all []quantity) bool {
	scale := math.Pow(10, float64(q.decimals))
	return slices.ContainsFunc(all, func(o quantity) bool {
		return (o.unit == q.unit || q.unit == "") && math.Abs(math.Round(o.value*scale)-q.value*scale) < 1e-6
	})
}

// guideNumbers holds what a chapter's text says in numbers. One in digits stands in what the
// chapter's commands and outputs show, or is one of those rounded, or is what a check below it
// works out. A check is a comment: <!-- check: 13.5 MB / 3.52 MB > 3; 12 us - 7 us = 5 us -->; its
// operands stand in what is shown. One in words, such as half, has a check in its paragraph. Code,
// links and quotations (>) are left alone.
func guideNumbers(t *testing.T, c *tour.Chapter, shown string) {
	t.Helper()
	all := quantities(shown)
	text := ""
	for i := range c.Steps {
		text += c.Steps[i].Prose + "\n\n"
	}
	for _, paragraph := range strings.Split(text+c.End, "\n\n") {
		known := slices.Clone(all)
		tests := checks.FindAllStringSubmatch(paragraph, -1)
		for _, m := range tests {
			for _, check := range strings.Split(m[1], "; ") {
				result, err := evaluate(check, all)
				if err != nil {
					t.Errorf("docs/%s: check %s: %v", c.File, check, err)
				}
				known = append(known, result...)
			}
		}
		namesClaims(t, c, paragraph)
		bare := notText.ReplaceAllString(paragraph, " ")
		if w := counted.FindString(bare); w != "" && len(tests) == 0 {
			t.Errorf("docs/%s says %q and no check holds it: %s", c.File, w, strings.TrimSpace(paragraph))
		}
		bare = named.ReplaceAllString(bare, " ")
		for _, q := range quantities(bare) {
			if !q.shownIn(known) {
				t.Errorf("docs/%s says %v %s, which none of its commands and outputs shows: %s", c.File, q.value, q.unit, strings.TrimSpace(paragraph))
			}
		}
	}
}

var (
	claimed   = regexp.MustCompile("`hopscope claims ([0-9 ]+)[^`]*`")
	statement = regexp.MustCompile(`<!-- claim ([0-9]+): (.*?) -->`)
)

// namesClaims holds that a text that sends its reader to a claim, with `hopscope claims 7`, means the
// one that it says below in a comment, how its statement begins: <!-- claim 7: 400G or 800G -->.
// Claims move when others are added.
func namesClaims(t *testing.T, c *tour.Chapter, paragraph string) {
	t.Helper()
	all := claims.All()
	said := map[string]string{} // looked up, never iterated
	for _, m := range statement.FindAllStringSubmatch(paragraph, -1) {
		said[m[1]] = m[2]
	}
	for _, m := range claimed.FindAllStringSubmatch(paragraph, -1) {
		for _, n := range strings.Fields(m[1]) {
			i, err := claims.Find(all, n)
			if err != nil {
				t.Errorf("docs/%s: %v", c.File, err)
			} else if said[n] == "" || !strings.HasPrefix(all[i-1].Says.EN, said[n]) {
				t.Errorf("docs/%s: claim %s is %q, its comment says %q", c.File, n, all[i-1].Says.EN, said[n])
			}
		}
	}
}

var comparison = regexp.MustCompile(`^(.+?)(?: ([-+/*]) (.+?))? ([<>=]) (.+)$`)

// evaluate judges a check. What it works out, of one with =, is returned.
func evaluate(check string, all []quantity) (result []quantity, err error) {
	m := comparison.FindStringSubmatch(check)
	if m == nil {
		return nil, fmt.Errorf("it is none: A / B > C, A - B = C, A < B")
	}
	one := func(s string) quantity {
		if q := quantities(s); len(q) == 1 {
			return q[0]
		}
		err = fmt.Errorf("%q is no number with a unit", s)
		return quantity{}
	}
	left, right := one(m[1]), one(m[5])
	if !left.shownIn(all) {
		return nil, fmt.Errorf("nothing shows %s", m[1])
	}
	value := base(left)
	if m[2] != "" {
		other := one(m[3])
		if !other.shownIn(all) {
			return nil, fmt.Errorf("nothing shows %s", m[3])
		}
		switch m[2] {
		case "/":
			value /= base(other)
		case "*":
			value *= base(other)
		case "+":
			value += base(other)
		case "-":
			value -= base(other)
		}
	}
	want, scale := base(right), base(quantity{value: 1, unit: right.unit})
	holds := false
	switch m[4] {
	case "<":
		holds = value < want
	case ">":
		holds = value > want
	case "=":
		holds = math.Abs(value-want) <= 0.5001*scale*math.Pow(10, -float64(right.decimals))
		result = []quantity{right}
	}
	if !holds && err == nil {
		err = fmt.Errorf("it does not hold: %g", value)
	}
	return result, err
}

// base is a quantity in seconds, bytes or bits a second.
func base(q quantity) float64 {
	factor := map[string]float64{"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20,
		"GiB": 1 << 30, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12, "GB/s": 8e9, "TFLOP/s": 1e12}[q.unit]
	if factor == 0 {
		factor = 1
	}
	return q.value * factor
}

// Numbers are read, rounded and checked as the guide's text has them.
func TestGuideNumbers(t *testing.T) {
	all := quantities("mark 6.42 us, 30,879 times, 13.5 MB in --set switch.buffer=4MB 36.5 Gb/s 85 %")
	for text, want := range map[string]bool{
		"6.42 us": true, "6.4 us": true, "6.5 us": false, "6.42 ms": false, "30,879": true, "30,880": false, "4 MB": true, "37 Gb/s": true, "36 Gb/s": false,
		"85 %": true, "84 %": false, "第 85 % 个": true, "13.5 MB。": true,
	} {
		if q := quantities(text); len(q) != 1 || q[0].shownIn(all) != want {
			t.Errorf("%q: %v, shown %v expected", text, q, want)
		}
	}
	for check, want := range map[string]bool{
		"13.5 MB / 4 MB > 3": true, "13.5 MB / 4 MB > 4": false, "13.5 MB - 4 MB = 9.5 MB": true, "13.5 MB / 4 MB = 3.4": true, "13.5 MB / 4 MB = 3.3": false,
		"5 MB > 4 MB": false, "6.42 us < 13.5 MB / 4 MB": false, "30,879 > 85 %": true,
	} {
		if _, err := evaluate(check, all); (err == nil) != want {
			t.Errorf("%s: %v", check, err)
		}
	}
}

// memory runs each scenario once, whatever the language of its report.
type memory struct {
	keys []string
	runs []*record.Run
	read []*scenario.Valid
}

func (m *memory) do(ctx context.Context, opt run.Options) (*record.Run, *scenario.Valid, error) {
	if opt.Series != nil || opt.Watch != nil || opt.Capture != nil || opt.Snapshots != nil || opt.Check != nil {
		return run.Do(ctx, opt)
	}
	seed := "-"
	if opt.Seed != nil {
		seed = strconv.FormatUint(*opt.Seed, 10)
	}
	key := fmt.Sprintf("%q", []any{opt.Scenario, string(opt.Text), opt.Stack, opt.Stacks, opt.Set, seed, opt.Files, opt.TracePauses, opt.Timeline, opt.Trace})
	if i := slices.Index(m.keys, key); i >= 0 {
		return m.runs[i], m.read[i], nil
	}
	r, v, err := run.Do(ctx, opt)
	if err == nil {
		m.keys, m.runs, m.read = append(m.keys, key), append(m.runs, r), append(m.read, v)
	}
	return r, v, err
}

// hopscope is what the program prints, also of runs that end with a deadlock.
func (m *memory) hopscope(t *testing.T, words []string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := cli.Main(context.Background(), words, &out, &errs, cli.Pipeline{Do: m.do, List: run.List}); status > 1 {
		t.Fatalf("hopscope %v: status %d: %s", words, status, errs.String())
	}
	return out.String() + errs.String()
}
