package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hopscope/hopscope/docs"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/tour"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newTour(p Pipeline) *cobra.Command {
	var g guide
	c := &cobra.Command{
		Use:   "tour [N]",
		Short: "Walk from the switch to the GPU's memory in eight chapters whose commands run as you read",
		Long: "tour lists the chapters of the guide (docs/guide). tour N goes through one in the terminal: it\n" +
			"shows a piece of text and the command that comes next, waits for Enter, runs it and shows what\n" +
			"it prints. q leaves. Files that commands write go to a folder that is removed at the end.",
		Example: "  hopscope tour\n" +
			"  hopscope tour 1\n" +
			"  hopscope tour 3 --lang zh\n" +
			"  hopscope tour 1 --all | less",
		RunE: func(c *cobra.Command, args []string) error { return g.walk(c, args, p) },
	}
	c.Flags().StringVar(&g.lang, "lang", "en", "`LANGUAGE` of the text: "+strings.Join(tour.Languages(docs.FS), " or "))
	c.Flags().BoolVar(&g.all, "all", false, "do not wait for Enter; needs no terminal")
	return c
}

// guide is one call of hopscope tour.
type guide struct {
	lang  string
	all   bool
	opt   report.TextOptions
	words phrases
	out   io.Writer
	err   error // the first that came of writing
}

// write writes a text, unless that has failed before.
func (g *guide) write(text string) {
	if g.err == nil {
		_, g.err = io.WriteString(g.out, text)
	}
}

// written is what kept the text from being read; a reader who stops is told nothing.
func (g *guide) written() error {
	if errors.Is(g.err, syscall.EPIPE) {
		return &status{exitPipe, errors.New("")}
	}
	return failure(g.err)
}

// phrases are what the tour itself says.
type phrases struct{ list, run, runs, next, leave, whole, file, end, last string }

// phrasesOf are those of a language; there is English where it has none of its own.
func phrasesOf(lang string) phrases {
	if lang == "zh" {
		return phrases{
			list:  "hopscope tour N --lang zh 逐步走完第 N 章；q 键随时退出。",
			run:   "回车：运行",
			runs:  "运行中……",
			next:  "回车：继续",
			leave: "q：退出",
			whole: "a：全部输出",
			file:  "本章文字：",
			end:   "下一章：hopscope tour %d --lang zh\n",
			last:  "导览到此结束。\n",
		}
	}
	return phrases{
		list:  "hopscope tour N goes through chapter N step by step; q leaves it.",
		run:   "Enter: run it",
		runs:  "running",
		next:  "Enter: go on",
		leave: "q: leave",
		whole: "a: all it printed",
		file:  "This chapter as a page: ",
		end:   "Next: hopscope tour %d\n",
		last:  "That was the tour.\n",
	}
}

// walk lists the chapters, or goes through one.
func (g *guide) walk(c *cobra.Command, args []string, p Pipeline) error {
	if msg := tour.CheckLanguage(docs.FS, g.lang); msg != "" {
		return fmt.Errorf("--lang: %s", msg)
	}
	chapters, err := tour.Read(docs.FS, g.lang)
	if err != nil {
		return err
	}
	g.words, g.opt, g.out = phrasesOf(g.lang), textOptions(c), c.OutOrStdout()
	if g.opt.Width == 0 {
		g.opt.Width = report.DefaultWidth
	}
	switch {
	case len(args) > 1:
		return fmt.Errorf("tour goes through one chapter, not %d (%s)", len(args), strings.Join(args, ", "))
	case len(args) == 1:
		chapter, err := chapterOf(chapters, args[0])
		if err != nil {
			return err
		}
		return g.through(c, chapter, len(chapters), p)
	}
	var rows [][2]string
	for i := range chapters {
		rows = append(rows, [2]string{fmt.Sprintf("%d  %s", chapters[i].Number, chapters[i].Title), chapters[i].Summary})
	}
	var b strings.Builder
	twoColumns(&b, rows, 0, g.opt.Width)
	b.WriteString("\n" + tour.Text(g.words.list, g.opt.Width, false))
	_, err = io.WriteString(g.out, b.String())
	return failure(err)
}

// chapterChoices are the chapters of a language for the shell.
func chapterChoices(lang string) (out []string) {
	chapters, _ := tour.Read(docs.FS, lang) // of a language that there is not, none
	for i := range chapters {
		out = append(out, described(strconv.Itoa(chapters[i].Number), chapters[i].Title))
	}
	return out
}

// chapterOf is the chapter that a word names.
func chapterOf(chapters []tour.Chapter, word string) (*tour.Chapter, error) {
	n, err := strconv.Atoi(word)
	for i := range chapters {
		if err == nil && chapters[i].Number == n {
			return &chapters[i], nil
		}
	}
	return nil, fmt.Errorf("there is no chapter %s; hopscope tour lists them, 1 to %d", word, len(chapters))
}

// errLeft is that the reader has had enough.
var errLeft = errors.New("left")

// through goes through a chapter in a folder of its own, in which commands find the files that
// they name.
func (g *guide) through(c *cobra.Command, chapter *tour.Chapter, last int, p Pipeline) error {
	_, shows := terminal(g.out)
	if !g.all && (!shows || !term.IsTerminal(int(os.Stdin.Fd()))) {
		return fmt.Errorf("tour waits for Enter between its steps and there is no terminal; hopscope tour %d --all "+
			"does not wait, and docs/%s is the same as a page", chapter.Number, chapter.File)
	}
	signal.Ignore(syscall.SIGPIPE) // whoever reads may stop; the folder goes all the same
	dir, back, err := guideFolder()
	if err != nil {
		return failure(err)
	}
	defer os.RemoveAll(dir)
	defer back()
	// Commands that print into memory are told of the width in this way.
	if err := os.Setenv("COLUMNS", strconv.Itoa(g.opt.Width)); err != nil {
		return failure(err)
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	g.prose(fmt.Sprintf("# %d. %s\n\n%s", chapter.Number, chapter.Title, chapter.Summary))
	for i := range chapter.Steps {
		if err = g.step(ctx, &chapter.Steps[i], p); err != nil {
			break
		}
	}
	switch {
	case errors.Is(err, errLeft):
		return nil
	case err != nil:
		return err
	}
	g.prose(chapter.End)
	after := g.words.last
	if chapter.Number < last {
		after = fmt.Sprintf(g.words.end, chapter.Number+1)
	}
	g.write("\n" + g.words.file + "docs/" + chapter.File + "\n" + after)
	return g.written()
}

// prose shows Markdown.
func (g *guide) prose(markdown string) {
	if markdown != "" {
		g.write("\n" + tour.Text(markdown, g.opt.Width, g.opt.Colour))
	}
}

// step shows what comes before a command and the command, runs it when it is let, and shows what
// it printed.
func (g *guide) step(ctx context.Context, s *tour.Step, p Pipeline) error {
	g.prose(s.Prose)
	g.write("\n$ " + s.Command + "\n")
	if err := g.written(); err != nil {
		return err
	}
	if _, err := g.ask(ctx, g.words.run, g.words.leave); err != nil {
		return err
	}
	words := tour.Words(s.Command)[1:]
	if g.opt.Colour {
		words = append(words, "--color=always")
	}
	var printed, errs bytes.Buffer
	g.hint(g.words.runs)
	code := Main(ctx, words, &printed, &errs, p)
	g.unhint()
	if code >= exitHangup { // a signal ended it
		return &status{code, errors.New("")}
	}
	all := printed.String() + errs.String()
	part, err := tour.Excerpt(all, s.Lines)
	if err != nil { // at another width it may look otherwise
		part = all
	}
	g.write(part)
	hint := []string{g.words.next, g.words.leave}
	if part != all {
		hint = []string{g.words.next, g.words.whole, g.words.leave}
	}
	key, err := g.ask(ctx, hint...)
	if err == nil && key == 'a' && part != all {
		g.write("\n" + all)
		_, err = g.ask(ctx, g.words.next, g.words.leave)
	}
	return err
}

// ask shows what keys do and waits for one, unless nobody is asked.
func (g *guide) ask(ctx context.Context, hints ...string) (key byte, err error) {
	if g.all {
		return '\r', nil
	}
	in := int(os.Stdin.Fd())
	before, err := term.MakeRaw(in) // a key acts at once and is not shown
	if err != nil {
		return 0, failure(err)
	}
	g.hint(strings.Join(hints, "   "))
	defer func() {
		err = errors.Join(err, term.Restore(in, before))
		g.unhint()
	}()
	for {
		switch key := <-pressed(ctx); key {
		case '\r', '\n', ' ', 'a':
			return key, nil
		case 'q', ctrlD:
			return 0, errLeft
		case ctrlC:
			return 0, interrupted(ctx, errors.New(""))
		}
	}
}

// hint writes a line that unhint takes away, where somebody is there to read it.
func (g *guide) hint(text string) {
	if g.opt.Colour {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	if !g.all {
		g.write(text)
	}
}

func (g *guide) unhint() {
	if !g.all {
		g.write("\r\x1b[K")
	}
}

// Keys that are signals or the end of a file where a terminal is not raw.
const ctrlC, ctrlD = 3, 4

// pressed is the next key; that of an interruption is ctrlC, that of an input that ends ctrlD.
func pressed(ctx context.Context) <-chan byte {
	keys := make(chan byte, 2)
	go func() { // a read cannot be broken off; this one ends with the program
		var b [1]byte
		if _, err := os.Stdin.Read(b[:]); err != nil {
			b[0] = ctrlD
		}
		keys <- b[0]
	}()
	context.AfterFunc(ctx, func() { keys <- ctrlC })
	return keys
}

// guideFolder makes a folder with the guide's files, makes it the working directory, and returns
// what goes back.
func guideFolder() (dir string, back func(), err error) {
	home, err := os.Getwd()
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp("", "hopscope-tour-"); err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	err = fs.WalkDir(docs.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		to := filepath.Join(dir, "docs", filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(to, 0o777)
		case filepath.Ext(to) != ".yaml":
			return nil
		}
		data, err := docs.FS.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o666)
	})
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.Chdir(home) }, os.Chdir(dir)
}
