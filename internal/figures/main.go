// Command figures measures the project itself: how much code there is and of
// what kind, the processor time of the tests by package, and that of a build
// from empty caches. It knows Go's syntax and the go command, none of mysdk's
// packages. `make figures` prints everything beside the goal, `make test-times`
// the tests alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
)

// figure is a row of the table: what is measured, its value and its goal.
type figure struct{ what, value, goal string }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 1 && args[0] == execArg {
		return execTest(args[1], args[2:])
	}
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	times := flags.Bool("times", false, "run the tests of the packages named, and print their CPU-seconds by package")
	if flags.Parse(args) != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *times {
		err = testTimes(ctx, os.Stdout, flags.Args())
	} else {
		err = figures(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		return 1
	}
	return 0
}

// figures prints the table, row by row as it is measured.
func figures(ctx context.Context, out io.Writer) error {
	rows, err := codeFigures(".")
	if err != nil {
		return err
	}
	lanes, err := laneFigures(ctx)
	if err != nil {
		return err
	}
	return table(out, slices.Concat([]figure{{"FIGURE", "VALUE", "GOAL"}}, rows, lanes))
}

func table(out io.Writer, rows []figure) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.what, r.value, r.goal)
	}
	return w.Flush()
}
