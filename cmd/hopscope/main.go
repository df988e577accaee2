// Command hopscope simulates RDMA networks packet by packet and says what
// congestion did.
package main

import (
	"context"
	"os"

	"github.com/hopscope/hopscope/internal/cli"
	"github.com/hopscope/hopscope/internal/run"
)

func main() {
	pipeline := cli.Pipeline{Do: run.Do, List: run.List}
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, pipeline))
}
