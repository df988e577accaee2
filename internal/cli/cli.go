// Package cli is the command line: one file per command. It parses flags,
// calls the pipeline and hands what comes back to the reports.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/typo"
	"github.com/hopscope/hopscope/internal/visible"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit statuses.
const (
	exitOK          = 0
	exitFailure     = 1   // the run failed: deadlock, stall, a file that cannot be written
	exitUser        = 2   // the command line or the scenario is wrong
	exitHangup      = 129 // 128 + SIGHUP, as shells have it
	exitInterrupted = 130 // 128 + SIGINT
	exitPipe        = 141 // 128 + SIGPIPE
	exitTerminated  = 143 // 128 + SIGTERM
)

// Pipeline is what the commands call: run.Do and run.List, or stand-ins.
type Pipeline struct {
	// Do runs a scenario. A *scenario.Error is the user's to mend. An
	// interrupted or deadlocked run is returned like any other.
	Do   func(context.Context, run.Options) (*record.Run, *scenario.Valid, error)
	List func() []scenario.Info // shipped scenarios
	// Known is what scenarios may name beside what the program has.
	Known scenario.Known
}

// Main runs the command line args (without the program's name) and returns the
// exit status.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, p Pipeline) (code int) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case run.Fault:
			say(stderr, f)
			code = exitFailure
		default:
			panic(f)
		}
	}()
	var unwritten error
	root := newRoot(p, &unwritten)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	helpAndCompletion(root) // which keep where they write
	err := unfilled(stdout, cmp.Or(root.ExecuteContext(ctx), unwritten))
	if err == nil {
		return exitOK
	}
	say(stderr, err)
	var s *status
	if errors.As(err, &s) {
		return s.code
	}
	return exitUser // what is not wrapped comes from the command line itself
}

// unfilled is err, or a failure in the same words for all commands when it is that standard
// output could not be written.
func unfilled(stdout io.Writer, err error) error {
	var bad *fs.PathError
	if out, is := stdout.(*os.File); is && errors.As(err, &bad) && err.Error() == bad.Error() && bad.Path == out.Name() {
		return failure(cannotWrite(bad))
	}
	return err
}

// say writes an error on a line, of several each on its own, and below it on a terminal the line of the file that it
// points at.
func say(stderr io.Writer, err error) {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) && err.Error() == errors.Join(several.Unwrap()...).Error() {
		for _, e := range several.Unwrap() {
			say(stderr, e)
		}
		return
	}
	if msg := oneLine(err.Error()); msg != "" {
		fmt.Fprintln(stderr, "hopscope: "+msg)
	}
	var wrong *scenario.Error
	if _, ok := terminal(stderr); ok && errors.As(err, &wrong) {
		fmt.Fprint(stderr, excerpt(wrong))
	}
}

// status is an error with an exit status of its own.
type status struct {
	code int
	err  error
}

func (s *status) Error() string { return s.err.Error() }
func (s *status) Unwrap() error { return s.err }

// failure marks err as the run's fault rather than the user's.
func failure(err error) error {
	var known *status
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &status{exitFailure, err}
}

// oneLine joins the lines of messages that others wrote. They may quote files, which no
// terminal is to obey.
func oneLine(s string) string { return visible.Text(strings.Join(strings.Fields(s), " ")) }

// newRoot is the command line; unwritten becomes what kept help from being written.
func newRoot(p Pipeline, unwritten *error) *cobra.Command {
	root := &cobra.Command{
		Use:   "hopscope",
		Short: "Simulate RDMA networks packet by packet and say what congestion did",
		Long: "hopscope follows data from host to host and says who detected congestion, fed it\n" +
			"back, slowed, held traffic, recovered what was lost and rerouted.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return writeHelp(c) },
	}
	root.SetVersionTemplate("hopscope {{.Version}}\n")
	root.AddCommand(newClaims(p), newTour(p))
	when := colourAuto
	root.PersistentFlags().Var(&when, "color", "`WHEN` text has colour: always, never, or auto: on a terminal, unless NO_COLOR is set")
	root.AddCommand(newDecode())
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { *unwritten = writeHelp(c) })
	root.AddCommand(newRun(p), newCompare(p), newSweep(p), newShow(p), newPacket(), newReport(), newScenarios(p), newCheck(p), newSchema(p), newWhatif(p),
		newDiagnose(p), newImport(p), newFabric(p), newHost(), newPath(p), newFidelity(), newVersion())
	root.AddCommand(newAdvise(p), newTune(p), newDiff(), newHeadroom(p), newECN(p), newBuffer(p))
	completions(root, p)
	return root
}

// knownCommand refuses what is no command, and says which one was probably meant.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if meant := typo.Nearest(args[0], names); meant != "" {
		return fmt.Errorf("there is no command %s; did you mean %s?", args[0], meant)
	}
	for _, s := range scenario.List() {
		if s.Name == args[0] {
			return fmt.Errorf("%s is a scenario, not a command; hopscope run %s runs it", args[0], args[0])
		}
	}
	return fmt.Errorf("there is no command %s; hopscope --help lists the commands", args[0])
}

// noArgument refuses words behind a command that takes none, and says what shows a scenario
// that was named.
func noArgument(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for _, s := range scenario.List() {
		if s.Name == args[0] {
			return fmt.Errorf("%s takes no argument, and %q is one; hopscope show %s prints that scenario",
				c.Name(), args[0], args[0])
		}
	}
	return fmt.Errorf("%s takes no argument, and %q is one; leave it out", c.Name(), args[0])
}

// helpAndCompletion makes these two commands of the library, and has them refuse a word that they
// do not know as the others do.
func helpAndCompletion(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if found, _, _ := root.Find(args); found != root { // of commands below it
					return nil
				}
				return knownCommand(root, args)
			}
		case "completion":
			c.RunE = func(c *cobra.Command, _ []string) error { return writeHelp(c) }
			c.Args = func(c *cobra.Command, args []string) error {
				var shells []string
				for _, sub := range c.Commands() {
					shells = append(shells, sub.Name())
				}
				if len(args) == 0 {
					return nil
				}
				return fmt.Errorf("completion has no shell %q; %s", args[0], oneOf(args[0], shells))
			}
			for _, sub := range c.Commands() {
				sub.Args = noArgument
			}
		}
	}
}

// oneOf ends an error about a word that is not in a list: the one that was probably meant, or
// all.
func oneOf(word string, words []string) string {
	if meant := typo.Nearest(word, words); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "use one of " + strings.Join(words, ", ")
}

// flagError words what the flag library found wrong for people who do not read
// Go.
func flagError(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if meant := typo.Nearest(unknown.GetSpecifiedName(), names); meant != "" && len(unknown.GetSpecifiedName()) > 1 {
			return fmt.Errorf("%w; did you mean --%s?", err, meant)
		}
	}
	if !errors.As(err, &bad) {
		return fmt.Errorf("%w; %s --help lists the flags", err, c.CommandPath())
	}
	f := bad.GetFlag()
	want := "a value of type " + f.Value.Type()
	switch f.Value.Type() {
	case "uint64":
		want = "a whole number from 0 to 18446744073709551615"
	case "int":
		want = "a whole number"
	case "bool":
		want = "true or false"
	case "when":
		want = "always, never or auto"
	case onceType:
		want = "it once; a pattern such as 'h*->h4', or a workload's name, stands for several"
	case "language":
		return fmt.Errorf("--%s: %s", f.Name, lang.Check(bad.GetValue()))
	}
	return fmt.Errorf("--%s %s: give %s", f.Name, bad.GetValue(), want)
}
