package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/example/mysdk/internal/host"
)

// The colors that mysdk uses, as ANSI escape sequences.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// say prints a line of talk on stderr, unless --quiet.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.host.IO.Err, format+"\n", args...)
	}
}

// detail is say for --verbose only.
func (a *app) detail(format string, args ...any) {
	if a.verbose {
		a.say(format, args...)
	}
}

// progress and stage print a line that an engine reports: one that may take
// long, and one that is of interest to the curious.
func (a *app) progress(line string) { a.say("%s", line) }
func (a *app) stage(line string)    { a.detail("%s", line) }

// warn prints a warning on stderr, also with --quiet.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.host.IO.Err, "%s %s\n", a.paint(yellow, "Warning:"), fmt.Sprintf(format, args...))
}

// paint colors s when stderr is a terminal or --color demands it.
func (a *app) paint(color, s string) string {
	if !a.colored() {
		return s
	}
	return color + s + reset
}

func (a *app) colored() bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return a.host.Getenv("NO_COLOR") == "" && a.host.Getenv("TERM") != "dumb" && host.IsTerminal(a.host.IO.Err)
}

// print writes data to stdout.
func (a *app) print(data []byte) error {
	_, err := a.host.IO.Out.Write(data)
	return err
}

// since rounds the time from start for people to read.
func (a *app) since(start time.Time) string { return seconds(a.host.Now().Sub(start)) }

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// choiceValue is a flag that takes one of several words.
type choiceValue struct {
	value   *string
	choices []string
}

// choice returns a flag value that refuses everything but the choices.
func choice(value *string, choices ...string) pflag.Value { return &choiceValue{value, choices} }

func (c *choiceValue) String() string { return *c.value }
func (c *choiceValue) Type() string   { return "string" }
func (c *choiceValue) Set(s string) error {
	if !slices.Contains(c.choices, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.choices, ", "))
	}
	*c.value = s
	return nil
}
