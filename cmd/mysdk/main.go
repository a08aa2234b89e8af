// Command mysdk scaffolds, runs, tests and ships Kubernetes operators. The commands are below internal/cli; this is the only place that exits.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/example/mysdk/internal/cli/root"
	_ "github.com/example/mysdk/internal/gcpercent" // before the libraries fill the heap
	"github.com/example/mysdk/internal/host"
)

func main() { os.Exit(run()) }

func run() int {
	klog.SetLogger(logr.Discard()) // what client-go remarks: what fails is an error anyway
	h, err := host.System()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	ctx, stop := host.UntilInterrupted(context.Background())
	defer stop()
	return root.Main(ctx, h, os.Args[1:])
}
