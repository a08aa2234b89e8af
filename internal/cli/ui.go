package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/example/mysdk/internal/host"
)

// Count is a number of things, in the plural where there are several.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Report prints data in the format asked for; text writes tab-separated cells.
func (f *Factory) Report(format string, data any, text func(io.Writer)) error {
	switch format {
	case "json":
		out, err := json.MarshalIndent(data, "", "  ")
		if err != nil {
			return err
		}
		return f.Print(append(out, '\n'))
	case "yaml":
		out, err := yaml.Marshal(data)
		if err != nil {
			return err
		}
		return f.Print(out)
	}
	w := tabwriter.NewWriter(f.Host.IO.Out, 0, 8, 2, ' ', 0)
	text(w)
	return w.Flush()
}

// Megabytes is a size for people to read.
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// The colors that mysdk uses, as ANSI escape sequences.
const (
	Red    = "\x1b[31m"
	green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// Say prints a line of talk on stderr, unless --quiet.
func (f *Factory) Say(format string, args ...any) {
	if !f.Quiet {
		fmt.Fprintf(f.Host.IO.Err, format+"\n", args...)
	}
}

// Detail is Say for --verbose only.
func (f *Factory) Detail(format string, args ...any) {
	if f.Verbose {
		f.Say(format, args...)
	}
}

// Progress prints a line of an engine about work that may take long.
func (f *Factory) Progress(line string) { f.Say("%s", line) }

// Stage prints a line of an engine for --verbose only.
func (f *Factory) Stage(line string) { f.Detail("%s", line) }

// Warn prints a warning on stderr, also with --quiet.
func (f *Factory) Warn(format string, args ...any) {
	fmt.Fprintf(f.Host.IO.Err, "%s %s\n", f.Paint(Yellow, "Warning:"), f.Aim(fmt.Sprintf(format, args...)))
}

// WarnLine prints a warning of an engine.
func (f *Factory) WarnLine(line string) { f.Warn("%s", line) }

// Paint colors s when stderr is a terminal or --color demands it.
func (f *Factory) Paint(color, s string) string {
	if !f.Colored() {
		return s
	}
	return color + s + reset
}

// Colored reports whether stderr gets colors.
func (f *Factory) Colored() bool {
	switch f.Color {
	case "always":
		return true
	case "never":
		return false
	}
	return f.Host.Getenv("NO_COLOR") == "" && f.Host.Getenv("TERM") != "dumb" && host.IsTerminal(f.Host.IO.Err)
}

// Print writes data to stdout.
func (f *Factory) Print(data []byte) error {
	_, err := f.Host.IO.Out.Write(data)
	return err
}

// Since rounds the time from start for people to read.
func (f *Factory) Since(start time.Time) string { return Seconds(f.Host.Now().Sub(start)) }

// Seconds is a duration for people to read.
func Seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// ChoiceValue is a flag that takes one of several words.
type ChoiceValue struct {
	value   *string
	Choices []string
}

// Choice returns a flag value that refuses everything but the choices.
func Choice(value *string, choices ...string) pflag.Value { return &ChoiceValue{value, choices} }

func (c *ChoiceValue) String() string { return *c.value }

// Type implements pflag.Value.
func (c *ChoiceValue) Type() string { return "string" }

// Set implements pflag.Value.
func (c *ChoiceValue) Set(s string) error {
	if !slices.Contains(c.Choices, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.Choices, ", "))
	}
	*c.value = s
	return nil
}
