package recorded

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/recording"
	"github.com/example/mysdk/internal/recording/otlp"
)

const (
	maxValue   = 60 // of a value in a line, in characters
	namesShown = 3  // of objects, in a hint
)

type whyOptions struct {
	name, namespace, output string
	limit                   int
}

// NewWhy is 'mysdk why'.
func NewWhy(f *cli.Factory) *cobra.Command {
	o := &whyOptions{}
	c := &cobra.Command{
		Use: "why [KIND[.GROUP]/NAME | KIND[.GROUP] NAME]", Short: "Show why an object was reconciled, and what each reconcile did", GroupID: "run",
		Long: `Show why an object was reconciled, and what each reconcile did.

'mysdk run local' records each call of Reconcile: the changes that led to it,
what it wrote and in which line of the code, its result and how long it took.
Below the calls, this command lists what repeats itself: writes that change
nothing, conflicts, fields that two writers set back and forth, calls that cause
each other. Without an object it covers all objects.

While 'mysdk run local' runs, this covers the current run, otherwise the last
one; a deployed operator is not recorded.`,
		Example: `  mysdk why memcached/memcached-sample
  mysdk why memcached memcached-sample -o json

  # where two groups have a kind of that name
  mysdk why memcached.cache.example.com/memcached-sample

  # traces for the OpenTelemetry collector's otlpjsonfile receiver
  mysdk why -o otlp --limit 0 > traces.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if one := strings.Join(args, "/"); len(args) > 2 || len(args) > 0 && strings.Count(one, "/") != 1 {
				return clierr.Usagef("such as: mysdk why memcached/memcached-sample", "name one object, as KIND/NAME or KIND NAME, or none for all")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runWhy(c.Context(), f, o, args) },
	}
	c.Flags().StringVar(&o.name, "cluster", state.DefaultName, "")
	describeCluster(c)
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the object; empty for cluster-scoped kinds")
	cli.OutputFlag(c, &o.output, "otlp")
	c.Flags().IntVar(&o.limit, "limit", 10, "reconciles to show, the newest ones; 0 for all")
	return c
}

// runWhy explains the last reconciles. Those that the limit cuts off are explained
// all the same: causes and loops may lie in them.
func runWhy(ctx context.Context, f *cli.Factory, o *whyOptions, args []string) error {
	rec, err := load(ctx, f, &o.name)
	if err != nil {
		return err
	}
	found, err := explain(rec, o.namespace, args)
	if err != nil {
		return err
	}
	all := len(found.Calls)
	if o.limit > 0 && all > o.limit {
		found.Calls = found.Calls[all-o.limit:]
	}
	if rec.Lost > 0 {
		f.Warn("the oldest %d requests are not in the recording any longer", rec.Lost)
	}
	if m := rec.Missing(); m != "" {
		f.Warn("%s", m)
	}
	if o.output == "otlp" {
		return otlp.Write(f.Host.IO.Out, rec, found.Calls)
	}
	return f.Report(o.output, found, func(w io.Writer) {
		if len(found.Calls) < all {
			fmt.Fprintf(w, "%s before these (--limit 0 shows all)\n", cli.Count(all-len(found.Calls), "reconcile"))
		}
		for _, c := range found.Calls {
			writeCall(w, c, len(args) == 0)
		}
		if len(found.Loops) > 0 {
			fmt.Fprintln(w, "Loops: what repeats itself")
		}
		for _, l := range found.Loops {
			over := ""
			if l.Over {
				over = "; over since " + l.Last.Local().Format(time.TimeOnly)
			}
			fmt.Fprintf(w, "  %s%s\n", l.Text(), over)
		}
	})
}

// explain explains the calls for the object that is named, or all of them.
func explain(rec recording.Recording, namespace string, args []string) (explained, error) {
	loops := rec.Loops()
	if len(args) == 0 {
		calls := rec.WhyAll()
		if len(calls) == 0 {
			return explained{}, clierr.Failedf(known(rec, ""), "nothing was reconciled")
		}
		return explained{calls, loops}, nil
	}
	one := strings.Join(args, "/")
	word, name, _ := strings.Cut(one, "/")
	o := named(rec, word)
	o.Namespace, o.Name = namespace, name
	calls := rec.Why(o)
	if len(calls) == 0 {
		return explained{}, clierr.Failedf(known(rec, o.Kind), "%s in namespace %q was not reconciled", one, namespace)
	}
	return explained{calls, recording.LoopsOf(loops, o)}, nil
}

// explained is what -o json prints.
type explained struct {
	Calls []recording.Call `json:"calls"`
	Loops []recording.Loop `json:"loops,omitempty"`
}

// named turns a kind or a resource, with or without its group, into the kind.
func named(rec recording.Recording, word string) recording.Object {
	word, group, _ := strings.Cut(word, ".")
	o := recording.Object{Group: strings.ToLower(group), Kind: word}
	for _, q := range rec.Requests {
		if q.Kind != "" && strings.EqualFold(q.Resource, word) && o.Is(recording.GroupName(q.Group), o.Kind) {
			o.Kind = q.Kind
			break
		}
	}
	return o
}

// known is a hint that names what was reconciled, of a kind as far as there is any, or the
// right whose lack keeps objects of the kind from that; empty: of any kind.
func known(rec recording.Recording, kind string) string {
	ofKind := func(c recording.Reconcile) bool { return kind == "" || c.Kind == "" || strings.EqualFold(c.Kind, kind) }
	some := slices.ContainsFunc(rec.Reconciles, ofKind)
	if lacks := rec.Unwatched(); len(lacks) > 0 && !some {
		return fmt.Sprintf("run 'mysdk rights' for the marker to add: the operator may not %s, and a controller starts only when it may", strings.Join(recording.Summary(lacks), "; "))
	}
	seen := map[string]bool{}
	var list []string
	for _, c := range rec.Reconciles {
		one := c.Command()
		if !seen[one] && len(list) < namesShown && (ofKind(c) || !some) {
			seen[one], list = true, append(list, one)
		}
	}
	if len(list) == 0 {
		return "create an object of the operator's kind: no call of Reconcile was recorded"
	}
	return "objects that were: " + strings.Join(list, "; ")
}

func writeCall(w io.Writer, c recording.Call, named bool) {
	took := "running"
	switch {
	case c.CutOff:
		took = "cut off: the operator ended"
	case !c.End.IsZero():
		took = c.End.Sub(c.Begin).Round(time.Millisecond).String()
	}
	who := c.Controller
	if named {
		who += "  " + strings.TrimPrefix(c.Namespace+"/"+c.Name, "/")
	}
	fmt.Fprintf(w, "%s  %s  %s\n", c.Begin.Local().Format("15:04:05.000"), who, took)
	for _, cause := range c.Causes {
		fmt.Fprintf(w, "  why:    %s\n", cause.Text())
		if cause.Request != nil {
			writeChanges(w, cause.Request.Changes)
		}
	}
	for _, q := range c.Writes {
		text := q.Target() + " " + q.Effect() + at(q.Frames)
		if q.Effect() == recording.Refused {
			text += fmt.Sprintf(" with %d: %s", q.Code, q.Message)
		}
		fmt.Fprintf(w, "  wrote:  %s\n", text)
		writeChanges(w, q.Changes)
	}
	switch {
	case c.Error != "":
		fmt.Fprintf(w, "  error:  %s\n", c.Error)
	case c.After > 0:
		fmt.Fprintf(w, "  next:   after %s\n", c.After)
	case c.Requeue:
		fmt.Fprintln(w, "  next:   at once")
	}
}

// writeChanges lists fields; those of the cause of a write come first.
func writeChanges(w io.Writer, changes []recording.Change) {
	const shown = 8
	for i, c := range changes {
		if i == shown {
			fmt.Fprintf(w, "            and %d more\n", len(changes)-shown)
			return
		}
		fmt.Fprintf(w, "            %s: %s\n", c.Path, c.Text(maxValue))
	}
}
