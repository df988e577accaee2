// Command hopscope simulates RDMA networks packet by packet and says what
// congestion did.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/hopscope/hopscope/internal/cli"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, pipeline()))
}

// pipeline wires the commands to the packages that do the work.
func pipeline() cli.Pipeline {
	return cli.Pipeline{
		Do: func(context.Context, cli.Options) (*record.Run, *scenario.Valid, error) {
			return nil, nil, errors.New("this build cannot run scenarios yet")
		},
		List: func() []cli.Named { return nil },
	}
}
