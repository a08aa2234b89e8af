package run

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/explore"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/kustomize"
	"github.com/example/mysdk/internal/localrun"
)

// explorePrefix begins the names of explore's own clusters.
const explorePrefix = "explore-"

// samplesDir is where a project's samples are.
const samplesDir = "config/samples"

type exploreOptions struct {
	time          time.Duration
	seed          uint64
	kinds, checks []string
	env           []string
	replay        string
	output        string
}

// NewExplore is 'mysdk explore'.
func NewExplore(f *cli.Factory) *cobra.Command {
	o := &exploreOptions{}
	c := &cobra.Command{
		Use: "explore", Short: "Find bugs of the operator from its CRDs and samples", GroupID: "run",
		Long: `Find bugs of the operator from its CRDs and samples.

The operator runs on an embedded cluster of its own, which goes again at the
end. Its samples are created, changed in the ways that their schema allows, and
deleted, over and over: undisturbed, with the operator killed after each of its
writes, with answers of the API lost or refused, and with an operator that sees
old data or misses events. Where that ends is compared with where it ends
undisturbed. Each finding is seen three times before it is reported.

` + exploreChecks(),
		Example: `  # two minutes, all samples, all checks
  mysdk explore

  # longer, one kind, only what a crash does
  mysdk explore --time 20m --kind Memcached --checks crash,stale

  # one finding of the last time, after its repair
  mysdk explore --replay 3f2a9c11

  # in CI: exit code 3 when there are findings
  mysdk explore -o junit`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runExplore(c.Context(), f, o) },
	}
	c.Flags().DurationVar(&o.time, "time", 2*time.Minute, "how long to explore, once the operator runs")
	c.Flags().Uint64Var(&o.seed, "seed", 1, "order of the changes; the same seed has the same order")
	c.Flags().StringSliceVar(&o.kinds, "kind", nil, "kinds whose samples to explore (default: all)")
	c.Flags().StringSliceVar(&o.checks, "checks", nil, "checks to make (default: all)")
	c.Flags().StringArrayVar(&o.env, "env", nil, "KEY=VALUE for the operator's environment; may be repeated")
	c.Flags().StringVar(&o.replay, "replay", "", "try only the finding with this ID again, of the last exploration of this project")
	c.Flags().VarP(cli.Choice(&o.output, "json", "junit", "sarif"), "output", "o", "output format: json, junit or sarif")
	return c
}

// exploreChecks is the part of the help that lists the checks.
func exploreChecks() string {
	var b strings.Builder
	b.WriteString("Checks:\n")
	for _, c := range explore.Checks() {
		fmt.Fprintf(&b, "  %-12s %s\n", c[0], c[1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// check refuses what cannot be explored before anything is started.
func (o *exploreOptions) check() error {
	var names []string
	for _, c := range explore.Checks() {
		names = append(names, c[0])
	}
	for _, name := range o.checks {
		if !slices.Contains(names, name) {
			return clierr.Usagef("use some of: "+strings.Join(names, ", "), "--checks: there is no check %q", name)
		}
	}
	if o.time <= 0 {
		return clierr.Usagef("use a time such as 2m", "--time: %s is no time to explore", o.time)
	}
	return nil
}

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
	f.Say("generating code and manifests")
	if _, err := regenerate(ctx, f); err != nil {
		return err
	}
	crds, err := f.SomeCRDs(ctx)
	if err != nil {
		return err
	}
	samples, err := exploreSamples(ctx, f, crds, o.kinds)
	if err != nil {
		return err
	}
	kept, err := localrun.CacheFile(f.Host, f.Host.Dir, "explored.json")
	if err != nil {
		return err
	}
	again, err := o.replayed(f, kept)
	if err != nil {
		return err
	}
	run := localrun.Options{Dir: f.Host.Dir, Name: p.Name, Env: o.env, Trace: true, Rights: localrun.RightsRole}
	quiet, began := f.Host, &beginning{}
	quiet.IO.Out = f.Host.IO.Err // stdout is for the report
	if !f.Verbose {
		quiet.IO.Out, quiet.IO.Err = began, began
	}
	name := explorePrefix + strings.ToLower(rand.Text()[:8])
	deps := localrun.Deps{
		Host:         quiet,
		StartCluster: func(ctx context.Context, _ bool) (*localrun.Cluster, error) { return clusterForExplore(ctx, f, name) },
		Render:       func(ctx context.Context) (localrun.Manifests, error) { return runManifests(ctx, f) },
	}
	f.Say("starting a cluster and building the operator")
	var report explore.Report
	err = localrun.Drive(ctx, run, deps, func(ctx context.Context, d *localrun.Driver) error {
		began.end()
		f.Say("exploring %s for %s", cli.Count(len(samples), "sample"), o.time)
		report, err = o.explore(ctx, f, d, name, explore.Options{Samples: samples, Replay: again})
		return err
	})
	if err != nil {
		return errors.Join(began.tell(f.Host.IO.Err), err)
	}
	if again == nil {
		if err := keep(f, kept, report); err != nil {
			return err
		}
	}
	return o.report(f, report)
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

// explore explores with a running operator.
func (o *exploreOptions) explore(ctx context.Context, f *cli.Factory, d *localrun.Driver, name string, opts explore.Options) (explore.Report, error) {
	control, err := cluster.Control(ctx, f.Host, name)
	if err != nil {
		return explore.Report{}, err
	}
	client, ok := d.Client().(*kube.Client)
	if !ok {
		return explore.Report{}, fmt.Errorf("explore on a client of type %T", d.Client())
	}
	rig := &explore.Rig{Cluster: client, Control: control, Operator: d, Now: f.Host.Now}
	opts.Time, opts.Seed, opts.Checks, opts.Progress = o.time, o.seed, o.checks, f.Stage
	return explore.Run(ctx, rig, opts)
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

// keep keeps a report for --replay.
func keep(f *cli.Factory, kept string, r explore.Report) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = f.Host.Files.WriteFile(kept, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	return nil
}

// clusterForExplore starts a cluster that goes with mysdk, and leaves nothing.
func clusterForExplore(ctx context.Context, f *cli.Factory, name string) (*localrun.Cluster, error) {
	if err := dropExplored(ctx, f.Host); err != nil {
		return nil, err
	}
	info, err := cluster.Start(ctx, f.Host, cluster.Options{Name: name, DieWithParent: true, Progress: f.Progress, Detail: f.Stage})
	if err != nil {
		return nil, err
	}
	control, err := cluster.Control(ctx, f.Host, name)
	if err != nil {
		return nil, err
	}
	return &localrun.Cluster{
		Control: control, Socket: control.Socket, Kubeconfig: info.Kubeconfig,
		Stop: func(ctx context.Context) error {
			_, err := cluster.Reset(ctx, f.Host, name)
			return err
		},
	}, nil
}

// dropExplored removes what explorations that were killed have left.
func dropExplored(ctx context.Context, h host.Host) error {
	list, err := cluster.List(ctx, h)
	if err != nil {
		return err
	}
	for _, c := range list {
		if strings.HasPrefix(c.Name, explorePrefix) && c.State != cluster.Running {
			if _, err := cluster.Reset(ctx, h, c.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// exploreSamples are the project's samples of its own kinds.
func exploreSamples(ctx context.Context, f *cli.Factory, crds []*unstructured.Unstructured, kinds []string) ([]explore.Sample, error) {
	objs, err := projectSamples(ctx, f)
	if err != nil {
		return nil, err
	}
	var samples []explore.Sample
	for _, u := range objs {
		crd := crdOf(crds, u)
		if crd == nil || len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return strings.EqualFold(k, u.GetKind()) }) {
			continue
		}
		if scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope"); scope != "Namespaced" {
			f.Warn("%s %s is cluster-scoped and is left out: trials have a namespace of their own each", u.GetKind(), u.GetName())
			continue
		}
		u.SetNamespace("")
		samples = append(samples, explore.Sample{Object: u, CRD: crd, File: samplesDir})
	}
	if len(samples) == 0 {
		return nil, clierr.Failedf("write an object of each kind to "+samplesDir+", and list it in its kustomization.yaml",
			"explore: %s has no sample of a kind of this project%s", samplesDir, wanted(kinds))
	}
	return samples, nil
}

func wanted(kinds []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return " that is named " + strings.Join(kinds, " or ")
}

// projectSamples are the objects of config/samples.
func projectSamples(ctx context.Context, f *cli.Factory) ([]*unstructured.Unstructured, error) {
	if _, err := f.Host.Files.Lstat(f.Host.Path(path.Join(samplesDir, "kustomization.yaml"))); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	data, err := kustomize.Build(ctx, kustomize.Source{Dir: f.Host.Dir, Files: f.Host.Files}, samplesDir)
	if err != nil {
		return nil, err
	}
	return kube.ParseManifests(data, samplesDir)
}

// crdOf is the CRD of an object's kind; nil where there is none.
func crdOf(crds []*unstructured.Unstructured, u *unstructured.Unstructured) *unstructured.Unstructured {
	for _, crd := range crds {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group == u.GroupVersionKind().Group && kind == u.GetKind() {
			return crd
		}
	}
	return nil
}

// report prints what was found.
func (o *exploreOptions) report(f *cli.Factory, r explore.Report) error {
	if err := o.print(f, r); err != nil {
		return err
	}
	if len(r.Findings) == 0 {
		return nil
	}
	return clierr.OutOfDatef("read each finding from its first line on; -v shows every trial", "explore: %s", cli.Count(len(r.Findings), "finding"))
}

func (o *exploreOptions) print(f *cli.Factory, r explore.Report) error {
	switch o.output {
	case "junit":
		return explore.WriteJUnit(f.Host.IO.Out, r)
	case "sarif":
		return f.Report("json", explore.SARIF(r), nil)
	}
	return f.Report(o.output, r, func(w io.Writer) { explore.WriteText(w, r) })
}
