package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/claims"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/visible"
)

// claimWords are the words around claims, in a language.
type claimWords struct {
	claim, setup, command, figures, outside, verdict, without, refuted, refutes, stays, note, article, seeds string
	atLeast, atMost, times, none, yes, no, inAll                                                             string
	// Punctuation.
	colon, comma, list, part, stop string
}

func claimWordsOf(l lang.Language) claimWords {
	if l == lang.Chinese {
		return claimWords{claim: "论断", setup: "实验", command: "复现命令", figures: "数据", outside: "条件不满足时的同一比较", verdict: "结论",
			without: "对照（去掉机制）", refuted: "推翻条件", stays: "结论不变的范围", note: "说明", article: "对应原文陈述", seeds: "种子",
			refutes: "以上任一比较不成立。对照实验（%s）中应当如此：hopscope claims %d --off",
			atLeast: "不小于 ", atMost: "不大于 ", times: "的 %s 倍", none: "无", yes: "是", no: "否",
			inAll: "共 %d 条：成立 %d，有条件成立 %d，不成立 %d。", colon: "：", comma: "，", list: "、", part: "；", stop: "。"}
	}
	return claimWords{claim: "claim", setup: "setup", command: "command", figures: "figures",
		outside: "the same where the condition is not met", verdict: "verdict",
		without: "taken away", refuted: "refuted if", stays: "does not turn for", note: "note", article: "article",
		seeds:   "seeds",
		refutes: "a comparison above is false. Without the mechanism, %s, one must be: hopscope claims %d --off",
		atLeast: "at least ", atMost: "at most ", times: "%s x ", none: "none", yes: "yes", no: "no",
		inAll: "%d claims: %d hold, %d hold under a condition, %d do not.", colon: ": ", comma: ", ", list: ", ",
		part: "; ", stop: "."}
}

// verdictText is the verdict with its condition.
func verdictText(r *claims.Result, l lang.Language) string {
	switch {
	case r.Verdict != claims.HoldsWhen:
		return r.Verdict.In(l)
	case l == lang.Chinese:
		return r.Verdict.In(l) + "（" + r.Claim.When.ZH + "）"
	}
	return r.Verdict.In(l) + " " + r.Claim.When.EN
}

// figureName is a figure and of which run it is.
func figureName(v *claims.Value, l lang.Language) string {
	if l == lang.Chinese {
		return v.Figure.Name.ZH + "（" + v.Of.Name.ZH + "）"
	}
	return v.Figure.Name.EN + " (" + v.Of.Name.EN + ")"
}

// spaced puts a space in front of what begins with a Latin letter, behind a Chinese one.
func spaced(s string) string {
	if s != "" && s[0] < utf8.RuneSelf {
		return " " + s
	}
	return s
}

// checkText is a comparison in a line: the figure, what it must be, and by what.
func checkText(c *claims.Checked, l lang.Language) string {
	w := claimWordsOf(l)
	value := func(v *claims.Value, x float64) string {
		if !v.OK {
			return w.none
		}
		return v.Figure.Unit.Format(x)
	}
	side := w.atLeast
	if c.Check.Most {
		side = w.atMost
	}
	text := figureName(&c.Left, l) + w.colon + value(&c.Left, c.Left.Value) + w.comma + side
	if c.Check.Right == nil {
		return text + c.Left.Figure.Unit.Format(c.Check.Times)
	}
	text += value(&c.Right, c.Check.Times*c.Right.Value)
	times := ""
	if c.Check.Times != 1 {
		times = fmt.Sprintf(w.times, strconv.FormatFloat(c.Check.Times, 'g', -1, 64))
	}
	if l == lang.Chinese {
		return text + "，即" + spaced(figureName(&c.Right, l)) + times
	}
	return text + " = " + times + figureName(&c.Right, l)
}

// Claims writes the verdict, statement and first figure of each claim, by chapter, and then what no claim shows.
func Claims(w io.Writer, results []claims.Result, l lang.Language, opt TextOptions) error {
	t := wideText(opt)
	words := claimWordsOf(l)
	counts := map[claims.Verdict]int{}
	for i := range results {
		r := &results[i]
		if i == 0 || results[i-1].Claim.Chapter != r.Claim.Chapter {
			if i > 0 {
				t.line("")
			}
			t.line(t.paint.bold(r.Claim.Chapter.Title().In(l)))
		}
		counts[r.Verdict]++
		t.claimLine(r, l)
	}
	t.line("")
	t.wide(fmt.Sprintf(words.inAll, len(results), counts[claims.Holds], counts[claims.HoldsWhen],
		counts[claims.DoesNot]), 0, plain)
	return t.end(w)
}

// claimLine is a claim in a few lines.
func (t *text) claimLine(r *claims.Result, l lang.Language) {
	const indent = 4
	head := fmt.Sprintf("%2d  ", r.Number)
	lines := wrap(verdictText(r, l)+claimWordsOf(l).colon+r.Claim.Says.In(l), t.width-indent)
	for i, s := range lines {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		t.line(head + s)
	}
	if len(r.Checks) > 0 {
		t.wide(checkText(&r.Checks[0], l), indent, t.paint.dim)
	}
}

// Claim writes all of one claim: how to repeat it, its figures, the verdict, and what would refute it.
func Claim(w io.Writer, r *claims.Result, l lang.Language, opt TextOptions) error {
	t := wideText(opt)
	words, c := claimWordsOf(l), r.Claim
	other := lang.Chinese
	if l == lang.Chinese {
		other = lang.English
	}
	t.hung(fmt.Sprintf("%s %d%s%s", words.claim, r.Number, words.colon, c.Says.In(l)), 0, t.paint.bold)
	t.wide(c.Says.In(other), 2, t.paint.dim)
	say := func(label, what string) { t.hung(strings.TrimRight(label+words.colon+what, " "), 0, plain) }
	say(words.setup, c.Shown(r.Point, l))
	if r.Point.Off {
		say(words.without, c.Off.What.In(l))
	}
	for i := range c.Variants {
		say(words.command, c.Variants[i].Name.In(l))
		t.line("  " + c.Command(&c.Variants[i], r.Point))
	}
	say(words.figures, "")
	t.checks(r.Checks, l)
	if len(r.Outside) > 0 {
		say(words.outside, "")
		t.checks(r.Outside, l)
	}
	say(words.verdict, verdictText(r, l))
	say(words.refuted, fmt.Sprintf(words.refutes, c.Off.What.In(l), r.Number)+words.stop)
	say(words.stays, rangeText(c, l))
	if c.Note.EN != "" {
		say(words.note, c.Note.In(l))
	}
	say(words.article, articleText(c.Article, l))
	return t.end(w)
}

// checks writes comparisons, a line each.
func (t *text) checks(list []claims.Checked, l lang.Language) {
	words := claimWordsOf(l)
	for i := range list {
		mark := words.yes
		if !list[i].True {
			mark = words.no
		}
		t.hung(mark+" "+checkText(&list[i], l), 2, plain)
	}
}

// articleText lists statements: "S2, S29".
func articleText(numbers []int, l lang.Language) string {
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = "S" + strconv.Itoa(n)
	}
	return strings.Join(out, claimWordsOf(l).list)
}

// rangeText is where a verdict must not turn.
func rangeText(c *claims.Claim, l lang.Language) string {
	words := claimWordsOf(l)
	var parts []string
	if len(c.Range.Seeds) > 0 {
		seeds := make([]string, len(c.Range.Seeds))
		for i, s := range c.Range.Seeds {
			seeds[i] = strconv.FormatUint(s, 10)
		}
		parts = append(parts, words.seeds+" "+strings.Join(seeds, words.list))
	}
	for _, list := range [][]string{c.Range.Rates, c.Range.Sizes} {
		if len(list) == 0 {
			continue
		}
		shown := make([]string, len(list))
		for i, s := range list {
			shown[i] = claims.Pretty(s)
		}
		parts = append(parts, strings.Join(shown, words.list))
	}
	return strings.Join(parts, words.part)
}

// wide writes prose of any language, indented, each line in a style.
func (t *text) wide(s string, indent int, style func(string) string) {
	for _, l := range wrap(s, t.width-indent) {
		t.line(strings.Repeat(" ", indent) + style(l))
	}
}

// pieces cuts a word where a line may end: before a wide character that closes nothing, and after one.
func pieces(word string) (out []string) {
	start, before := 0, false
	for i, r := range word {
		wide := visible.Width(string(r)) == 2
		closes := strings.ContainsRune("，。；：、！？）》”’」』】%", r)
		if i > start && !closes && (wide || before) {
			out, start = append(out, word[start:i]), i
		}
		before = wide && !strings.ContainsRune("（《“‘「『【", r)
	}
	return append(out, word[start:])
}
