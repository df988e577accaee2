package cli

import (
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/subnet"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/spf13/cobra"
)

// completions gives every command what the shell offers for its arguments and flags. Of an
// argument that may be a file the shell offers files as well.
func completions(root *cobra.Command, p Pipeline) {
	first := func(offer func() []string) cobra.CompletionFunc {
		return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return matching(typed, offer()), cobra.ShellCompDirectiveDefault
		}
	}
	scenarios := func() []string { return scenarioChoices(p) }
	for _, c := range root.Commands() {
		switch c.Name() {
		case "run", "compare", "check", "fabric", "advise":
			c.ValidArgsFunction = first(scenarios)
		case "whatif":
			c.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 0 {
					return matching(typed, scenarios()), cobra.ShellCompDirectiveDefault
				}
				return matching(typed, explained(args, false)), cobra.ShellCompDirectiveNoFileComp
			}
		case "path":
			c.ValidArgsFunction = completePath(scenarios)
		case "show":
			c.ValidArgsFunction = first(func() []string {
				return append(sheetChoices(p), append(keyChoices(p, ""), scenarios()...)...)
			})
		case "host":
			c.ValidArgsFunction = first(server.Presets)
		case "diagnose":
			c.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 0 { // the log
					return nil, cobra.ShellCompDirectiveDefault
				}
				return matching(typed, scenarios()), cobra.ShellCompDirectiveDefault
			}
		case "tour":
			c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return matching(typed, chapterChoices(c.Flag("lang").Value.String())), cobra.ShellCompDirectiveNoFileComp
			}
		case "report":
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
		}
		completeFlags(c, p)
	}
	offer(root, "color", "always", "never", "auto")
}

// completeFlags offers the values of those flags that take words.
func completeFlags(c *cobra.Command, p Pipeline) {
	stacks := scenario.StackNames()
	if c.Flag("set") != nil {
		complete(c, "set", completeSet(p))
	}
	if c.Flag("vary") != nil {
		complete(c, "vary", completeSet(p))
	}
	offer(c, "stack", stacks...)
	offer(c, "engine", subnet.Engines()...)
	if c.Flag("explain") != nil {
		complete(c, "explain", func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if c.Name() == "report" {
				args = nil // a run directory, which may be large
			}
			return matching(typed, explained(args, true)), cobra.ShellCompDirectiveNoFileComp
		})
	}
	offerList(c, "stacks", stacks)
	var views []string
	for _, v := range scenario.Views() {
		views = append(views, v.Name)
	}
	offer(c, "view", views...)
	offer(c, "lang", string(lang.English), string(lang.Chinese))
	offerList(c, "series", quantityNames())
	offerList(c, "figures", figureNames())
	offer(c, "level", run.Levels()...)
	offer(c, "on", onSlurm, onKubernetes)
	for _, dir := range []string{"csv", "out", "ns3-out", "series-out"} {
		if c.Flag(dir) != nil {
			complete(c, dir, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			})
		}
	}
}

// complete sets how a flag is completed. A flag of a command can be set only once, which is
// here, so that there is no error.
func complete(c *cobra.Command, flag string, how cobra.CompletionFunc) {
	_ = c.RegisterFlagCompletionFunc(flag, how)
}

// offer gives words for a flag, if the command has it.
func offer(c *cobra.Command, flag string, words ...string) {
	if c.Flag(flag) != nil {
		complete(c, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// offerList gives words for a flag that takes a list with commas.
func offerList(c *cobra.Command, flag string, words []string) {
	if c.Flag(flag) == nil {
		return
	}
	complete(c, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		given := typed[:strings.LastIndexByte(typed, ',')+1]
		var out []string
		for _, w := range words {
			if !strings.Contains(","+given, ","+w+",") {
				out = append(out, given+w)
			}
		}
		return matching(typed, out), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// mostOffered is how many pairs of hosts are offered: a screen full.
const mostOffered = 40

// explained are what can be asked about in the scenario that the first argument names: words that hold
// in any, if they are wanted, then collectives, workloads and the ends of messages.
func explained(args []string, words bool) (out []string) {
	if words {
		out = []string{
			described("slowest", "the message that took longest; those that failed or are open come first"),
			described("all", "all messages together"), described("collective", "the slowest collective"),
		}
	}
	if len(args) == 0 {
		return out
	}
	v, err := run.Load(run.Options{Scenario: args[0]})
	if err != nil {
		return out
	}
	names := namesOf(v)
	for _, name := range names.Collectives {
		out = append(out, described(name, "collective"))
	}
	for _, name := range names.Workloads {
		out = append(out, described(name, "workload"))
	}
	seen := map[string]bool{} // looked up, never iterated
	for from, to := range names.Pairs {
		pair := from + "->" + to
		if seen[pair] {
			continue
		}
		if seen[pair] = true; len(seen) > mostOffered {
			break
		}
		out = append(out, described(pair, "message"))
	}
	return out
}

// matching are the choices that begin with what was typed, each name once.
func matching(typed string, choices []string) (out []string) {
	seen := map[string]bool{} // looked up, never iterated
	for _, c := range choices {
		name, _, _ := strings.Cut(c, "\t")
		if strings.HasPrefix(name, typed) && !seen[name] {
			out, seen[name] = append(out, c), true
		}
	}
	return out
}

// described joins a choice with what the shell shows beside it.
func described(name, about string) string { return cobra.CompletionWithDesc(name, oneLine(about)) }

func scenarioChoices(p Pipeline) (out []string) {
	for _, s := range p.List() {
		out = append(out, described(s.Name, s.Description))
	}
	return out
}

// sheetChoices are stacks, presets and tables: by name, of a name that several kinds have by
// both.
func sheetChoices(p Pipeline) (out []string) {
	sheets := p.Known.Sheets()
	count := map[string]int{}
	for i := range sheets {
		count[sheets[i].Name]++
	}
	for i := range sheets {
		name := sheets[i].Name
		if count[name] > 1 {
			name = sheets[i].Kind + "." + name
		}
		out = append(out, described(name, sheets[i].Kind+": "+sheets[i].Summary))
	}
	return out
}

// keyChoices are all keys of scenarios, with end after those that hold a value.
func keyChoices(p Pipeline, end string) (out []string) {
	for _, k := range p.Known.Keys() {
		name := k.Path
		if !k.Section {
			name += end
		} else if end != "" {
			continue
		}
		out = append(out, described(name, k.Meaning))
	}
	return out
}

// completeSet offers key= , and after it the words that the key takes.
func completeSet(p Pipeline) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		const quiet = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		path, _, valued := strings.Cut(typed, "=")
		if !valued {
			return matching(typed, keyChoices(p, "=")), quiet
		}
		var out []string
		for _, w := range p.Known.Words(path) {
			out = append(out, path+"="+w)
		}
		return matching(typed, out), cobra.ShellCompDirectiveNoFileComp
	}
}

// completePath offers scenarios, then the hosts of the one that was named.
func completePath(scenarios func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) (out []string, _ cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return matching(typed, scenarios()), cobra.ShellCompDirectiveDefault
		case 1, 2:
			if v, err := run.Load(run.Options{Scenario: args[0]}); err == nil {
				for i := range v.Graph.Nodes {
					if n := &v.Graph.Nodes[i]; n.Kind == topology.Host {
						out = append(out, n.Name)
					}
				}
			}
		}
		return matching(typed, out), cobra.ShellCompDirectiveNoFileComp
	}
}
