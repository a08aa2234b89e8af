package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/example/mysdk/internal/bundle"
	"github.com/example/mysdk/internal/bundle/validate"
	"github.com/example/mysdk/internal/cli"
	imagecmd "github.com/example/mysdk/internal/cli/image"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/image"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/registry"
	"github.com/example/mysdk/internal/scorecard"
)

// storageImage keeps the files of a test until they are fetched. It is what
// operator-sdk uses, and any image with a shell and tar will do.
const storageImage = "quay.io/operator-framework/scorecard-storage@sha256:a3bfda71281393c7794cabdd39c563fb050d3020fd0b642ea164646bdd39a0e2"

type scorecardOptions struct {
	cli.Target
	bundle, config, selector  string
	namespace, serviceAccount string
	podSecurity, storageImage string
	output, testOutput        string
	list, noCluster, keepPods bool
	useHTTP                   bool
	wait                      time.Duration
}

// NewScorecard is 'mysdk scorecard'.
func NewScorecard(f *cli.Factory) *cobra.Command {
	o := &scorecardOptions{podSecurity: "legacy"}
	c := &cobra.Command{
		Use: "scorecard [BUNDLE]", Short: "Run the tests of a bundle's scorecard configuration", GroupID: "run",
		Long: `Run the tests of a bundle's scorecard configuration.

The bundle is a directory (default bundle), an image or an archive; its tests
are listed in tests/scorecard/config.yaml. The suites basic and olm are built
in: they read the bundle and ask the API server of the embedded or a named
cluster whether it accepts the CRDs and the examples, without any pod. A test
with its own image runs as a pod, on a cluster that runs containers.

The exit code is 1 if a test did not pass.`,
		Example: `  mysdk scorecard
  mysdk scorecard ./bundle --selector suite=olm -o junit

  # your own tests in images need a cluster that runs containers
  mysdk scorecard ghcr.io/you/shop-operator-bundle:v0.1.0 --context kind-dev --wait-time 2m`,
		Args: cli.AtMostOne("a bundle"),
		RunE: func(c *cobra.Command, args []string) error {
			o.bundle = "./bundle" // never an image of that name
			if len(args) == 1 {
				o.bundle = args[0]
			}
			return runScorecard(c.Context(), f, o)
		},
	}
	o.Bind(c.Flags())
	flags := c.Flags()
	flags.StringVarP(&o.config, "config", "c", "", "configuration file (default: the bundle's)")
	flags.StringVarP(&o.selector, "selector", "l", "", "label selector of the tests to run, such as suite=olm")
	flags.BoolVarP(&o.list, "list", "L", false, "list the tests that would run")
	flags.BoolVar(&o.noCluster, "no-cluster", false, "look at the files only, and ask no API server")
	cli.OutputFlag(c, &o.output, "junit", "xunit")
	flags.DurationVarP(&o.wait, "wait-time", "w", time.Minute, "how long all tests may take")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the pods of tests (default: the context's)")
	flags.StringVarP(&o.serviceAccount, "service-account", "s", "default", "service account of the pods of tests, instead of the configuration's")
	flags.Var(cli.Choice(&o.podSecurity, "legacy", "restricted"), "pod-security", "security context of the pods of tests: legacy (none) or restricted")
	flags.BoolVarP(&o.keepPods, "skip-cleanup", "x", false, "keep the pods of the tests")
	flags.StringVarP(&o.storageImage, "storage-image", "b", storageImage, "image that keeps the files of tests, with a shell and tar")
	flags.StringVar(&o.testOutput, "test-output", "test-output", "directory for the files of tests")
	cli.RenameFlag(flags, "-t", "test-output")
	flags.StringP("untar-image", "u", "", "no effect: nothing is unpacked in the pods")
	imagecmd.UseHTTPFlag(c, &o.useHTTP)
	return c
}

// runScorecard runs the tests that were selected. Those that ask a cluster run on
// the embedded one unless another is named; images of custom tests run as pods, for
// which the embedded cluster has no containers.
func runScorecard(ctx context.Context, f *cli.Factory, o *scorecardOptions) error {
	files, _, err := OpenBundle(ctx, f, o.bundle, image.OpenOptions{Access: registry.Access{UseHTTP: o.useHTTP}})
	if err != nil {
		return err
	}
	b, err := bundle.Load(files)
	if err != nil {
		return err
	}
	opts, err := scorecardConfig(f, b, o)
	if err != nil {
		return err
	}
	if o.list || len(scorecard.Selected(opts).Items) == 0 {
		return reportTests(f, scorecard.Selected(opts), o.output)
	}
	subject, err := scorecard.NewSubject(b, func() (problems, warnings []string) {
		return validBundle(ctx, f, files)
	})
	if err != nil {
		return err
	}
	opts.Unasked = o.noCluster && !o.Embedded()
	if !o.noCluster {
		if opts.API, err = f.Connect(ctx, &o.Target, true); err != nil {
			return err
		}
		if opts.API.Embedded == "" {
			opts.Pods = testPods(f, opts.API, o, opts.Config.ServiceAccount)
		}
	}
	list, err := runTests(ctx, subject, opts)
	return conclude(f, b.Name(), list, err, o.output)
}

// conclude prints the results, which there may be where the run has failed, too:
// what it left in the cluster could not be deleted.
func conclude(f *cli.Factory, name string, list scorecard.List, failed error, format string) error {
	if failed != nil && len(list.Items) == 0 {
		return failed
	}
	if err := reportTests(f, list, format); failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	if !scorecard.Passed(list) {
		return clierr.Failedf("what they suggest is printed with each", "not all tests of the bundle %s passed", name)
	}
	return nil
}

// scorecardConfig is the selected part of the configuration.
func scorecardConfig(f *cli.Factory, b *bundle.Bundle, o *scorecardOptions) (opts scorecard.Options, err error) {
	var data []byte
	name := o.config
	if name == "" {
		data, name, err = scorecard.ConfigOf(b)
	} else {
		data, err = f.ReadFile(name)
	}
	if err != nil {
		return opts, err
	}
	opts.Wait = o.wait
	if opts.Config, err = scorecard.ParseConfig(data, name); err != nil {
		return opts, err
	}
	if opts.Selector, err = labels.Parse(o.selector); err != nil {
		return opts, clierr.Usagef("use one such as suite=olm,test!=olm-status-descriptors-test", "--selector: %w", err)
	}
	if len(scorecard.Selected(opts).Items) == 0 {
		f.Warn("no test of %s is selected", name)
	}
	return opts, nil
}

// validBundle runs the validators that every bundle has to pass.
func validBundle(ctx context.Context, f *cli.Factory, files fs.FS) (problems, warnings []string) {
	report, err := validate.Run(ctx, files, validate.Options{Engine: f.Judge})
	if err != nil {
		return []string{err.Error()}, nil
	}
	for _, finding := range report.Findings {
		if finding.Level == validate.Error {
			problems = append(problems, finding.String())
		} else {
			warnings = append(warnings, finding.String())
		}
	}
	return problems, warnings
}

// testPods runs tests as pods of a cluster that runs containers. configured is the
// service account of the configuration; one that was typed or set wins.
func testPods(f *cli.Factory, client *kube.Client, o *scorecardOptions, configured string) *scorecard.Pods {
	namespace, account := cmp.Or(o.namespace, client.Namespace), cmp.Or(configured, o.serviceAccount)
	if f.Running.Flags().Changed("service-account") {
		account = o.serviceAccount
	}
	return &scorecard.Pods{
		Client: client, Run: "scorecard-" + strconv.FormatInt(f.Host.Now().UnixMilli(), 36),
		Namespace: namespace, ServiceAccount: account, Restricted: o.podSecurity == "restricted",
		StorageImage: o.storageImage, KeepPods: o.keepPods, Wait: o.wait,
		Exec: func(ctx context.Context, namespace, pod, container string, command []string) ([]byte, error) {
			return execInPod(ctx, f, client, append([]string{"exec", "-n", namespace, pod, "-c", container, "--"}, command...))
		},
		Keep: func(ctx context.Context, test string, files map[string][]byte) error {
			return keepTestOutput(ctx, f, filepath.Join(o.testOutput, filepath.FromSlash(test)), files)
		},
	}
}

// execInPod runs kubectl on the cluster of a client and returns what it prints.
func execInPod(ctx context.Context, f *cli.Factory, client *kube.Client, args []string) (_ []byte, err error) {
	config, err := client.Kubeconfig()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mysdk-scorecard-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "kubeconfig")
	if err := f.Host.Files.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	h := f.Host
	h.IO.Out = &out
	if err := cluster.Kubectl(ctx, h, state.DefaultName, append([]string{"--kubeconfig", file}, args...)); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// keepTestOutput writes the files that a test has stored.
func keepTestOutput(ctx context.Context, f *cli.Factory, dir string, files map[string][]byte) error {
	var set fileset.Set
	for name, data := range files {
		if err := set.Put(name, fileset.File{Data: data}); err != nil {
			return err
		}
	}
	root := f.Host.Path(dir)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("keep the files of a test: %w", err)
	}
	return fileset.Tree{FS: f.Host.Files, Root: root}.Commit(ctx, set, f.Typed)
}

// runTests runs them between the start and the end of what their pods need.
func runTests(ctx context.Context, s scorecard.Subject, opts scorecard.Options) (list scorecard.List, err error) {
	if opts.Pods != nil && scorecard.NeedsPods(opts) {
		defer func() { err = cmp.Or(err, opts.Pods.Stop(ctx)) }()
		if err := opts.Pods.Start(ctx, s.Files); err != nil {
			return list, err
		}
	}
	return scorecard.Run(ctx, s, opts)
}

func reportTests(f *cli.Factory, list scorecard.List, format string) error {
	out, err := scorecard.Report(list, format)
	if err != nil {
		return err
	}
	return f.Print(out)
}
