// Command hopscope simulates RDMA networks packet by packet and says what
// congestion did.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hopscope/hopscope"
	"github.com/hopscope/hopscope/command"
)

func main() {
	lib, err := hopscope.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(command.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, lib))
}
