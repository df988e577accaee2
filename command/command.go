// Package command is the command line of hopscope, for programs that add something to what scenarios may
// name: a program that calls Main with its own library has every command, with its own algorithms in
// scenarios, the schema, hopscope show and completion.
package command

import (
	"context"
	"io"

	"github.com/hopscope/hopscope"
	"github.com/hopscope/hopscope/internal/cli"
	"github.com/hopscope/hopscope/internal/run"
)

// Main runs the command line args, without the program's name, and returns the exit status.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, lib *hopscope.Library) int {
	return cli.Main(ctx, args, stdout, stderr, cli.Pipeline{Do: run.Do, List: run.List, Known: lib.Known()})
}
