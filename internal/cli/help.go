package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/visible"
	"github.com/spf13/cobra"
)

// writeHelp prints what a command is for and what it takes, as wide as the terminal.
func writeHelp(c *cobra.Command) error {
	width := textOptions(c).Width
	if width == 0 {
		width = report.DefaultWidth
	}
	var b strings.Builder
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	paragraphs(&b, about, width)
	b.WriteString("\nUsage:\n  " + c.UseLine() + "\n")
	if c.HasAvailableSubCommands() {
		b.WriteString("  " + c.CommandPath() + " COMMAND --help\n")
	}
	if c.HasExample() {
		b.WriteString("\nExamples:\n" + c.Example + "\n")
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		var rows [][2]string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				rows = append(rows, [2]string{sub.Name(), sub.Short})
			}
		}
		twoColumns(&b, rows, 2, width)
	}
	if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() {
		b.WriteString("\nFlags:\n" + flags.FlagUsagesWrapped(width))
	}
	if c.HasAvailableInheritedFlags() {
		b.WriteString("\nFlags of all commands:\n" + c.InheritedFlags().FlagUsagesWrapped(width))
	}
	if !c.HasParent() {
		b.WriteString("\n")
		paragraphs(&b, completionHelp, width)
	}
	_, err := io.WriteString(c.OutOrStdout(), b.String())
	return err
}

// completionHelp says how to have the shell complete.
const completionHelp = "Completion of commands, scenarios, stacks, presets and keys: put one of these lines where your " +
	"shell reads it at its start (hopscope completion SHELL --help says more, and how to do so on a Mac).\n\n" +
	"  bash   source <(hopscope completion bash)         in ~/.bashrc; needs bash-completion\n" +
	"  zsh    source <(hopscope completion zsh)          in ~/.zshrc, after compinit\n" +
	"  fish   hopscope completion fish | source          in ~/.config/fish/config.fish\n"

// paragraphs writes a text in lines of at most width columns. A paragraph of which a line
// is indented is an example and stays as it is.
func paragraphs(b *strings.Builder, text string, width int) {
	for i, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		if strings.HasPrefix(p, " ") || strings.HasPrefix(p, "\t") || strings.Contains(p, "\n\t") || strings.Contains(p, "\n ") {
			b.WriteString(p + "\n")
			continue
		}
		for _, line := range wrapWords(p, width) {
			b.WriteString(line + "\n")
		}
	}
}

// twoColumns writes rows of a name and what it is, indented, with the second column
// wrapped. Where the names leave it no room it stands below them.
func twoColumns(b *strings.Builder, rows [][2]string, indent, width int) {
	const gap, least = 2, 24
	names := 0
	for _, r := range rows {
		names = max(names, visible.Width(r[0]))
	}
	left := indent + names + gap
	below := width-left < least
	if below {
		left = indent + 4
	}
	for _, r := range rows {
		for i, line := range wrapWords(r[1], max(width-left, least)) {
			head := strings.Repeat(" ", left)
			switch {
			case i > 0:
			case below:
				head = strings.Repeat(" ", indent) + r[0] + "\n" + head
			default:
				head = fmt.Sprintf("%*s%-*s", indent, "", names+gap, r[0])
			}
			b.WriteString(head + line + "\n")
		}
	}
}

// wrapWords breaks a text into lines of at most width columns; a longer word has a line of
// its own.
func wrapWords(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && visible.Width(line)+1+visible.Width(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
