// Command mysdk scaffolds, runs, tests and ships Kubernetes operators. The commands are below internal/cli; this is the only place that exits.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/example/mysdk/internal/cli/root"
	"github.com/example/mysdk/internal/host"
)

func main() { os.Exit(run()) }

func run() int {
	h, err := host.System()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	// Commands are short: half of a generator's time would go into collecting
	// memory that the process gives back a moment later.
	if h.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for a clean stop; from then on a second one has its
	// usual effect and ends the process at once.
	context.AfterFunc(ctx, stop)
	return root.Main(ctx, h, os.Args[1:])
}
