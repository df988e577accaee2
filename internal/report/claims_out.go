package report

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/claims"
	"github.com/hopscope/hopscope/internal/lang"
)

// claimsVersion is the version of ClaimsJSON. It changes when a field changes its meaning or goes.
const claimsVersion = 1

// claimFigure is a figure of a run.
type claimFigure struct {
	Name  claims.Text `json:"name"`
	Run   string      `json:"run"` // the variant
	Value *float64    `json:"value"`
	Unit  claims.Unit `json:"unit"`
}

// claimCheck is a comparison.
type claimCheck struct {
	Left  claimFigure  `json:"figure"`
	Is    string       `json:"is"` // "at least" or "at most"
	Times float64      `json:"margin"`
	Right *claimFigure `json:"of,omitempty"` // absent: the margin is the bound itself
	True  bool         `json:"true"`
}

// claimRun is a run that a claim compares.
type claimRun struct {
	Key     string      `json:"key"`
	Name    claims.Text `json:"name"`
	Command string      `json:"command"`
}

// claimJSON is a claim with what its runs say.
type claimJSON struct {
	Number    int            `json:"number"`
	Chapter   claims.Text    `json:"chapter"`
	Statement claims.Text    `json:"statement"`
	Article   []int          `json:"article"`
	Setup     claims.Text    `json:"setup"`
	Scenario  string         `json:"scenario"`
	Runs      []claimRun     `json:"runs"`
	Checks    []claimCheck   `json:"checks"`
	Outside   []claimCheck   `json:"outside,omitempty"` // the comparisons where the condition is not met
	Verdict   claims.Verdict `json:"verdict"`
	When      *claims.Text   `json:"when,omitempty"` // the condition under which it holds
	Off       bool           `json:"off"`            // it ran without its mechanism
	Mechanism claims.Text    `json:"without"`        // what --off takes away
	Rates     []string       `json:"rates,omitempty"`
	Sizes     []string       `json:"sizes,omitempty"`
	Seeds     []uint64       `json:"seeds,omitempty"`
	Note      *claims.Text   `json:"note,omitempty"`
}

// claimStatement is what answers a statement of the article.
type claimStatement struct {
	Number int          `json:"number"`
	About  claims.Text  `json:"about"`
	Claims []int        `json:"claims"`
	Words  *claims.Text `json:"words,omitempty"`
}

// ClaimsJSON encodes what became of claims, and what answers each statement of the article, with a newline at the end.
func ClaimsJSON(results []claims.Result) ([]byte, error) {
	out := struct {
		Version    int              `json:"version"`
		Claims     []claimJSON      `json:"claims"`
		Statements []claimStatement `json:"statements"`
	}{Version: claimsVersion}
	for i := range results {
		out.Claims = append(out.Claims, claimOf(&results[i]))
	}
	all, statements := claims.All(), claims.Statements()
	for i := range statements {
		s := &statements[i]
		x := claimStatement{Number: s.Number, About: s.About, Claims: append([]int{}, s.Claims(all)...)}
		if s.Words.EN != "" {
			x.Words = &s.Words
		}
		out.Statements = append(out.Statements, x)
	}
	return indented(out)
}

func claimOf(r *claims.Result) claimJSON {
	c := r.Claim
	out := claimJSON{Number: r.Number, Chapter: c.Chapter.Title(), Statement: c.Says, Article: c.Article,
		Setup:    claims.Text{EN: c.Shown(r.Point, lang.English), ZH: c.Shown(r.Point, lang.Chinese)},
		Scenario: c.Base, Verdict: r.Verdict, Off: r.Point.Off, Mechanism: c.Off.What,
		Rates: c.Range.Rates, Sizes: c.Range.Sizes,
		Seeds: c.Range.Seeds, Checks: claimChecks(r.Checks), Outside: claimChecks(r.Outside)}
	for i := range c.Variants {
		v := &c.Variants[i]
		out.Runs = append(out.Runs, claimRun{v.Key, v.Name, c.Command(v, r.Point)})
	}
	if c.When.EN != "" {
		out.When = &c.When
	}
	if c.Note.EN != "" {
		out.Note = &c.Note
	}
	return out
}

func claimChecks(list []claims.Checked) (out []claimCheck) {
	for i := range list {
		c := &list[i]
		x := claimCheck{Left: figureOf(&c.Left), Is: "at least", Times: c.Check.Times, True: c.True}
		if c.Check.Most {
			x.Is = "at most"
		}
		if c.Check.Right != nil {
			right := figureOf(&c.Right)
			x.Right = &right
		}
		out = append(out, x)
	}
	return out
}

func figureOf(v *claims.Value) claimFigure {
	out := claimFigure{Name: v.Figure.Name, Run: v.Of.Key, Unit: v.Figure.Unit}
	if v.OK {
		out.Value = &v.Value
	}
	return out
}

// ClaimsPage is the page of documentation on all claims, in Markdown.
func ClaimsPage(results []claims.Result, l lang.Language) string {
	var b strings.Builder
	b.WriteString(claimsHead(l))
	for i := range results {
		if i == 0 || results[i-1].Claim.Chapter != results[i].Claim.Chapter {
			b.WriteString("\n## " + results[i].Claim.Chapter.Title().In(l) + "\n")
		}
		claimSection(&b, &results[i], l)
	}
	b.WriteString(statementsTable(l))
	return b.String()
}

func claimsHead(l lang.Language) string {
	if l == lang.Chinese {
		return `# 论断

[English](claims.md)

这里的每一条都是关于 TCP、RoCEv2、InfiniBand 或 GPUDirect 的一句话，连同能推翻它的实验：运行、读数、比较与裕量，都声明在
` + "`internal/claims`" + ` 里。结论由比较得出。去掉背后的机制，结论必须翻转；在所述范围内改变种子、链路速率与消息大小，结论不得翻转，
均有测试保证。本页由声明与运行结果生成，测试保证其与程序一致。

` + "```" + `
hopscope claims                  # 全部运行，逐条一行
hopscope claims 1 --lang zh      # 单条：复现命令、数据、结论
hopscope claims 1 --off          # 去掉机制，看结论翻转
hopscope claims 1 --rate 100Gbps --seed 3
` + "```" + `
`
	}
	return `# Claims

[中文](claims.zh.md)

Each of these is a sentence about TCP, RoCEv2, InfiniBand or GPUDirect with the experiment that would refute it: runs, a
figure, a comparison and its margin, all declared in ` + "`internal/claims`" + `. The verdict is the comparison's.
It must turn when the mechanism behind it is taken away, and must not when seed, link rate and message size change within
the range stated; tests hold both. This page is made from the declarations and the runs, and a test keeps it true.

` + "```" + `
hopscope claims                  # run all, a few lines each
hopscope claims 1                # one: commands that repeat it, figures, verdict
hopscope claims 1 --off          # without its mechanism: the verdict turns
hopscope claims 1 --rate 100Gbps --seed 3
` + "```" + `
`
}

// claimSection is a claim in Markdown.
func claimSection(b *strings.Builder, r *claims.Result, l lang.Language) {
	c, words := r.Claim, claimWordsOf(l)
	fmt.Fprintf(b, "\n### %d. %s\n\n**%s**", r.Number, c.Says.In(l), verdictText(r, l))
	b.WriteString(words.stop + gapOf(l) + c.Shown(r.Point, l) + "\n\n")
	for _, list := range [][]claims.Checked{r.Checks, r.Outside} {
		for i := range list {
			mark := words.yes
			if !list[i].True {
				mark = words.no
			}
			fmt.Fprintf(b, "- %s%s%s\n", mark, words.colon, checkText(&list[i], l))
		}
	}
	b.WriteString("\n```\n")
	for i := range c.Variants {
		b.WriteString(c.Command(&c.Variants[i], r.Point) + "\n")
	}
	b.WriteString("```\n\n")
	if c.Note.EN != "" {
		b.WriteString(c.Note.In(l) + "\n\n")
	}
	for _, p := range [][2]string{
		{words.without, c.Off.What.In(l)}, {words.stays, rangeText(c, l)}, {words.article, articleText(c.Article, l)},
	} {
		b.WriteString("- " + p[0] + words.colon + p[1] + "\n")
	}
}

// gapOf stands between two sentences.
func gapOf(l lang.Language) string {
	if l == lang.Chinese {
		return ""
	}
	return " "
}

// statementsTable maps the article's statements to claims or words.
func statementsTable(l lang.Language) string {
	var b strings.Builder
	if l == lang.Chinese {
		b.WriteString("\n## 原文的 112 条陈述\n\n| 陈述 | 论断 | 说明 |\n|---|---|---|\n")
	} else {
		b.WriteString("\n## The article's 112 statements\n\n| statement | claims | in words |\n|---|---|---|\n")
	}
	all, statements := claims.All(), claims.Statements()
	for i := range statements {
		s := &statements[i]
		numbers := make([]string, 0, 4)
		for _, n := range s.Claims(all) {
			numbers = append(numbers, fmt.Sprint(n))
		}
		fmt.Fprintf(&b, "| S%d %s | %s | %s |\n", s.Number, s.About.In(l), strings.Join(numbers, ", "), s.Words.In(l))
	}
	return b.String()
}
