package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/localrun"
)

// exploreHistory is for how long an operator's cluster can be shown to it as it
// was: a trial is shorter.
const exploreHistory = 5 * time.Minute

type exploreOptions struct {
	time          time.Duration
	seed          uint64
	kinds, checks []string
	env           []string
	replay        string
	asIs          bool
	tests         string // directory
	keep          bool
	kept          bool // the cluster
	control       state.Control
	output        string
}

// NewExplore is 'mysdk explore'.
func NewExplore(f *cli.Factory) *cobra.Command {
	o := &exploreOptions{}
	c := &cobra.Command{
		Use: "explore", Short: "Find bugs in the operator from its CRDs and samples", GroupID: "run",
		Long: `Find bugs in the operator from its CRDs and samples.

The operator runs on an embedded cluster of its own, which is deleted at the
end. Its samples are created, changed in the ways that their schema allows, and
deleted, over and over: undisturbed, with the operator killed after each of its
writes, with answers of the API lost or refused, and with an operator that sees
old data or misses events. The final state is compared with that of an
undisturbed run. A finding is reported only if it occurs three times out of
three. If there was no time to confirm it, the report says so.

Ctrl-C prints what was found so far, and exits with 130 as everywhere.

` + exploreChecks(),
		Example: `  # two minutes, all samples, all checks
  mysdk explore

  # longer, one kind, only faults
  mysdk explore --time 20m --kind Memcached --checks faults

  # check the fix of a finding
  mysdk explore --replay 3f2a9c11

  # a Go test for each finding, that fails until it is fixed
  mysdk explore --write-tests test/explore

  # in CI: exit code 3 when there are findings
  mysdk explore -o junit`,
		RunE: func(c *cobra.Command, _ []string) error { return runExplore(c.Context(), f, o) },
	}
	c.Flags().DurationVar(&o.time, "time", 2*time.Minute, "how long to explore, once the operator runs")
	c.Flags().Uint64Var(&o.seed, "seed", 1, "random seed; the same seed gives the same order")
	c.Flags().StringSliceVar(&o.kinds, "kind", nil, "kinds whose samples to explore (default: all)")
	c.Flags().StringSliceVar(&o.checks, "checks", nil, "checks to make (default: all)")
	c.Flags().StringArrayVar(&o.env, "env", nil, "KEY=VALUE for the operator's environment; may be repeated")
	c.Flags().StringVar(&o.replay, "replay", "", "only try the finding with this ID again, from the last exploration of this project")
	c.Flags().BoolVar(&o.asIs, "no-generate", false, "use code and manifests as they are, for projects that edit controller-gen's output")
	c.Flags().BoolVar(&o.keep, "keep", false, "with --replay: keep the cluster at the end of the trial")
	c.Flags().StringVar(&o.tests, "write-tests", "", "write a Go test for each finding to this directory of the project")
	cli.OutputFlag(c, &o.output, "html", "junit", "sarif")
	return c
}

// exploreChecks is the part of the help that lists the checks.
func exploreChecks() string {
	var b strings.Builder
	b.WriteString("Checks:\n")
	for _, c := range explore.Checks {
		fmt.Fprintf(&b, "  %-12s %s\n", c[0], c[1])
	}
	fmt.Fprintf(&b, "\n%s stands for crash, stale and unreachable.", explore.Faults)
	return b.String()
}

// check refuses what cannot be explored before anything is started.
func (o *exploreOptions) check() error {
	names := explore.CheckNames()
	for _, name := range o.checks {
		if !slices.Contains(names, name) {
			return clierr.Usagef("use some of: "+strings.Join(names, ", "), "--checks: there is no check %q", name)
		}
	}
	if o.keep && o.replay == "" {
		return clierr.Usagef("name the finding to look into, as --replay ID", "--keep requires --replay")
	}
	return nil
}

// runExplore explores, or replays what an earlier run has found. Findings are kept
// and turned into tests even if the time is over or the user ends the run: what was
// found stays true.
func runExplore(ctx context.Context, f *cli.Factory, o *exploreOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	tied, untie, err := f.Host.Tied(ctx)
	if err != nil {
		return err
	}
	defer untie()
	f = f.In(f.Host.Dir)
	f.Host = tied
	p, _, err := f.LoadProject()
	if err != nil {
		return err
	}
	if f.AsIs = o.asIs; !f.AsIs {
		f.Say("generating code and manifests")
		if _, err := regenerate(ctx, f); err != nil {
			return err
		}
	}
	crds, err := f.SomeCRDs(ctx)
	if err != nil {
		return err
	}
	what, err := exploreSamples(ctx, f, crds, o.kinds)
	if err != nil {
		return err
	}
	what.Time, what.Seed, what.Checks, what.Progress = o.time, o.seed, o.checks, f.Stage
	what.RoleNamespace = p.RoleNamespace()
	project, err := o.testsFor(f)
	if err != nil {
		return err
	}
	kept, err := localrun.CacheFile(f.Host, f.Host.Dir, "explored.json")
	if err != nil {
		return err
	}
	if what.Replay, err = o.replayed(f, kept); err != nil {
		return err
	}
	report, err := o.drive(ctx, f, p.Name, crds, what)
	if report == nil {
		return err
	}
	if what.Replay == nil {
		err = errors.Join(err, keep(f, kept, *report))
	}
	if project != nil {
		project.Beside = what.Beside
		err = errors.Join(err, writeTests(context.WithoutCancel(ctx), f, *project, report.Findings))
	}
	return o.report(f, *report, err)
}

// drive explores on a cluster of its own. The report is nil if nothing was tried.
func (o *exploreOptions) drive(ctx context.Context, f *cli.Factory, project string, crds []*unstructured.Unstructured, what explore.Options) (report *explore.Report, err error) {
	run := localrun.Options{Dir: f.Host.Dir, Name: project, Env: o.env, Trace: true, Rights: localrun.RightsRole}
	deployed, deployErr := deployedObjects(ctx, f)
	if deployErr == nil { // else manifestsOf says why, where that matters
		run.Deployed = startedBy(deployed)
	}
	quiet, began := f.Host, &beginning{}
	quiet.IO.Out = f.Host.IO.Err // stdout is for the report
	if !f.Verbose {
		quiet.IO.Out, quiet.IO.Err = began, began
	}
	name, err := newTemporary(ctx, f.Host, "explore", o.keep)
	if err != nil {
		return nil, err
	}
	deps := localrun.Deps{
		Host:         quiet,
		StartCluster: func(ctx context.Context, _ bool) (*localrun.Cluster, error) { return o.startCluster(ctx, f, name) },
		Render: func(context.Context) (localrun.Manifests, error) {
			m, err := manifestsOf(f, crds, deployed, deployErr)
			return explorable(m, deployed), err
		},
	}
	f.Say("starting a cluster and building the operator")
	err = localrun.Drive(ctx, run, deps, func(ctx context.Context, d *localrun.Driver) error {
		began.end()
		if what.Replay != nil {
			f.Say("trying finding %s again", o.replay)
		} else {
			f.Say("exploring %s for %s", cli.Count(len(what.Samples), "sample"), o.time)
		}
		rig := &explore.Rig{Cluster: d.Client(), Control: o.control, Operator: d, Now: f.Host.Now, Keep: o.keep, Beside: what.Beside}
		r, err := explore.Run(ctx, rig, what)
		report, o.kept = &r, o.keep && err == nil
		return err
	})
	if report == nil {
		return nil, errors.Join(began.tell(f.Host.IO.Err), err)
	}
	if o.kept {
		f.Say("the cluster is kept; look with 'mysdk kubectl --cluster %s get all -A', remove it with 'mysdk cluster reset --yes --cluster %s'", name, name)
	}
	return report, err
}

// startCluster starts a cluster that goes with mysdk, and leaves nothing, unless
// it is kept: then from the moment that the trial is over.
func (o *exploreOptions) startCluster(ctx context.Context, f *cli.Factory, name string) (*localrun.Cluster, error) {
	info, err := cluster.Start(ctx, f.Host, cluster.Options{
		Name: name, DieWithParent: !o.keep, RemovedAPIs: true, History: exploreHistory, Progress: f.Progress, Detail: f.Stage,
	})
	if err != nil {
		return nil, err
	}
	if o.control, err = cluster.Control(ctx, f.Host, name); err != nil {
		return nil, err
	}
	return &localrun.Cluster{
		Name: info.Name, Control: o.control, Socket: o.control.Socket, Kubeconfig: info.Kubeconfig,
		Stop: func(ctx context.Context) error {
			if o.kept {
				return nil
			}
			_, err := cluster.Reset(ctx, f.Host, name)
			return err
		},
	}, nil
}

// beginning keeps what is said until the operator runs: it is of interest where
// that fails.
type beginning struct {
	mu   sync.Mutex
	text bytes.Buffer
	over bool
}

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.text.Write(p)
	}
	return len(p), nil
}

// end forgets it.
func (b *beginning) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.text.Reset()
}

// tell prints what was kept.
func (b *beginning) tell(w io.Writer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.text.WriteTo(w)
	return err
}

// replayed is the finding that --replay names, of the report in the file kept;
// nil without the flag.
func (o *exploreOptions) replayed(f *cli.Factory, kept string) (*explore.Finding, error) {
	if o.replay == "" {
		return nil, nil
	}
	var last explore.Report
	data, err := f.Host.Files.ReadFile(kept)
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the last report: %w", err)
	}
	ids := []string{}
	for i, one := range last.Findings {
		if one.ID == o.replay {
			return &last.Findings[i], nil
		}
		ids = append(ids, one.ID)
	}
	hint := "run 'mysdk explore' first"
	if len(ids) > 0 {
		hint = "use one of: " + strings.Join(ids, ", ")
	}
	return nil, clierr.Usagef(hint, "--replay: the last exploration of this project has no finding %s", o.replay)
}

// keep keeps a report for --replay, unless it was cut short before it found anything.
func keep(f *cli.Factory, kept string, r explore.Report) error {
	if len(r.Findings) == 0 && r.Ended != explore.EndedDone && r.Ended != explore.EndedTime {
		return nil
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = f.Host.Files.WriteFile(kept, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	return nil
}

// report prints what was found, and returns what failed before anything else:
// an exploration that was cut short is not one with findings, or without.
func (o *exploreOptions) report(f *cli.Factory, r explore.Report, failed error) error {
	if err := errors.Join(failed, o.print(f, r)); err != nil || len(r.Findings) == 0 {
		return err
	}
	return clierr.OutOfDatef("read each finding from its first line on; -v shows every trial", "explore: %s", cli.Count(len(r.Findings), "finding"))
}

func (o *exploreOptions) print(f *cli.Factory, r explore.Report) error {
	switch o.output {
	case "junit":
		return explore.WriteJUnit(f.Host.IO.Out, r)
	case "html":
		return explore.WriteHTML(f.Host.IO.Out, r, func(name string) ([]byte, error) { return f.Host.Files.ReadFile(f.Host.Path(name)) })
	case "sarif":
		return f.Report("json", explore.SARIF(r, f.InRepository(".")), nil)
	}
	return f.Report(o.output, r, func(w io.Writer) { explore.WriteText(w, r) })
}
