package project

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cli"
	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/fileset"
	"github.com/example/mysdk/internal/grafana"
	"github.com/example/mysdk/internal/project"
)

// runDashboards is 'edit --plugins grafana/v1-alpha'.
func runDashboards(ctx context.Context, f *cli.Factory, force, dryRun bool) error {
	p, _, err := f.LoadProject()
	if err != nil {
		return err
	}
	in, err := dashboardsInput(ctx, f, p)
	if err != nil {
		return err
	}
	set := fileset.Set{}
	if err := errors.Join(putDashboards(f, &set, in, force), recordDashboards(f, &set)); err != nil {
		return err
	}
	if set, err = f.Changed(set); err != nil {
		return err
	}
	if set.Len() == 0 {
		f.Say("Nothing to do: the dashboards are up to date")
		return nil
	}
	if err := f.Write(ctx, set, dryRun); err != nil || dryRun {
		return err
	}
	for _, name := range set.Paths() {
		f.Say("  %s", name)
	}
	next := "import the dashboards into Grafana"
	if _, ok := set.Get(grafana.AlertsFile); ok {
		next += "; ../prometheus in config/default/kustomization.yaml deploys the alerts"
	}
	f.Say("Next: %s", next)
	return nil
}

// readIfThere returns a file of the project, nil for none.
func readIfThere(f *cli.Factory, name string) ([]byte, error) {
	data, err := f.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// dashboardsInput finds the metrics, and what config/default calls the operator.
func dashboardsInput(ctx context.Context, f *cli.Factory, p *project.Project) (in grafana.Input, err error) {
	found, problems, err := grafana.Find(os.DirFS(f.Host.Dir), p.Repo)
	if err != nil {
		return in, clierr.Failedf("correct the Go code and run the command again", "%w", err)
	}
	for _, problem := range problems {
		f.Warn("%s; list the metric in %s", problem, grafana.ConfigFile)
	}
	data, err := readIfThere(f, grafana.ConfigFile)
	if err != nil {
		return in, err
	}
	config, err := grafana.ReadConfig(data)
	if err != nil {
		return in, err
	}
	in = grafana.Input{Project: p.Name, Namespace: p.SystemNamespace(), Job: p.Name + "-controller-manager-metrics-service", Metrics: grafana.Merge(found, config)}
	there := *f
	there.AsIs = true
	_, objects, err := there.OperatorManifests(ctx, "")
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Service" && strings.Contains(o.GetName(), "metrics")
	})
	switch {
	case err != nil:
		f.Warn("the queries are for the metrics Service %s in namespace %s, as config/default does not tell: %v", in.Job, in.Namespace, err)
	case i < 0:
		f.Warn("the queries are for the metrics Service %s, and config/default has none", in.Job)
	default:
		in.Namespace, in.Job = cmp.Or(objects[i].GetNamespace(), in.Namespace), objects[i].GetName()
	}
	return in, nil
}

// putDashboards adds the files to the set, but for those that the user changed.
func putDashboards(f *cli.Factory, set *fileset.Set, in grafana.Input, force bool) error {
	files, err := grafana.Render(in)
	if err != nil {
		return err
	}
	list, err := readIfThere(f, grafana.KustomizationFile)
	switch {
	case err != nil:
		return err
	case list == nil:
		f.Warn("there is no %s: no alerts are written", grafana.KustomizationFile)
		delete(files, grafana.AlertsFile)
	default:
		if list, err = grafana.ListAlerts(list); err != nil {
			return err
		}
		if err := set.Put(grafana.KustomizationFile, fileset.File{Data: list}); err != nil {
			return err
		}
	}
	if _, made := files[grafana.CustomFile]; !made {
		files[grafana.CustomFile] = nil // removed, if it is there
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		was, err := readIfThere(f, name)
		switch {
		case err != nil:
			return err
		case was != nil && !force && !grafana.Untouched(was):
			f.Warn("%s was kept because you changed it; --force overwrites it", name)
		case was != nil || files[name] != nil:
			if err := set.Put(name, fileset.File{Data: files[name], Removed: files[name] == nil}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordDashboards notes the plugin in PROJECT.
func recordDashboards(f *cli.Factory, set *fileset.Set) error {
	file, err := project.Load(f.Host.Dir)
	if err == nil {
		file, err = file.WithPluginField(grafana.PluginKey, "", "")
	}
	if err != nil {
		return err
	}
	data, err := file.Bytes()
	if err != nil {
		return err
	}
	return set.Put(project.FileName, fileset.File{Data: data})
}
