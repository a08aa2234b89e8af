package v4

import (
	"go/format"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/resource"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
)

// project is a project in memory. It stands in for a driver: it calls the
// hooks of subcommands in kubebuilder's order.
type project struct {
	config config.Config
	extras map[string]any
	disk   machinery.Filesystem

	// What subcommands said of resources beyond kubebuilder/v3's model.
	resourceExtras map[resource.GVK]map[string]any
}

// resourceSubcommand is create api or create webhook.
type resourceSubcommand interface {
	plugin.Subcommand
	plugin.HasFlags
	plugin.RequiresConfig
	plugin.RequiresResource
	plugin.HasPreScaffold
	InjectExtras(map[string]any)
	ResourceExtras() map[string]any
}

// newProject runs init.
func newTestProject(t testing.TB, args ...string) *project {
	t.Helper()
	p := &project{config: cfgv3.New(), disk: machinery.Filesystem{FS: afero.NewMemMapFs()}}
	if err := p.init(Plugin{CLIVersion: "v1.0.0", Year: 2026}, args...); err != nil {
		t.Fatalf("init %s: %v", strings.Join(args, " "), err)
	}
	return p
}

func (p *project) init(plug Plugin, args ...string) error {
	sub := plug.GetInitSubcommand().(*initSubcommand)
	flags := pflag.NewFlagSet("init", pflag.ContinueOnError)
	sub.BindFlags(flags)
	if err := flags.Parse(append([]string{"--domain=example.com", "--repo=example.com/shop"}, args...)); err != nil {
		return err
	}
	if err := sub.InjectConfig(p.config); err != nil {
		return err
	}
	p.extras = sub.ProjectExtras()
	return sub.Scaffold(p.disk)
}

// createAPI runs create api with --group, --version, --kind and the rest of
// its flags. Where it fails nothing may have been written.
func (p *project) createAPI(t testing.TB, args ...string) (*createAPISubcommand, error) {
	t.Helper()
	sub := Plugin{CLIVersion: "v1.0.0", Year: 2026}.GetCreateAPISubcommand().(*createAPISubcommand)
	return sub, p.create(t, sub, args...)
}

// createWebhook does the same for create webhook.
func (p *project) createWebhook(t testing.TB, args ...string) (*createWebhookSubcommand, error) {
	t.Helper()
	sub := Plugin{CLIVersion: "v1.0.0", Year: 2026}.GetCreateWebhookSubcommand().(*createWebhookSubcommand)
	return sub, p.create(t, sub, args...)
}

// mustCreateWebhook is createWebhook where it has to succeed.
func (p *project) mustCreateWebhook(t testing.TB, args ...string) *createWebhookSubcommand {
	t.Helper()
	sub, err := p.createWebhook(t, args...)
	if err != nil {
		t.Fatalf("create webhook %s: %v", strings.Join(args, " "), err)
	}
	return sub
}

func (p *project) create(t testing.TB, sub resourceSubcommand, args ...string) error {
	t.Helper()
	gvk := resource.GVK{Domain: p.config.GetDomain()}
	flags := pflag.NewFlagSet("create", pflag.ContinueOnError)
	flags.StringVar(&gvk.Group, "group", "", "")
	flags.StringVar(&gvk.Version, "version", "v1alpha1", "")
	flags.StringVar(&gvk.Kind, "kind", "", "")
	sub.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	res := &resource.Resource{GVK: gvk, Plural: resource.RegularPlural(gvk.Kind), API: &resource.API{}, Webhooks: &resource.Webhooks{}}

	before := p.files(t)
	err := p.runHooks(sub, res)
	if err != nil {
		for name, text := range p.files(t) {
			if before[name] != text {
				t.Errorf("create %s was refused and wrote %s", strings.Join(args, " "), name)
			}
		}
	}
	return err
}

func (p *project) runHooks(sub resourceSubcommand, res *resource.Resource) error {
	sub.InjectExtras(p.extras)
	if s, ok := sub.(interface{ InjectResourceExtras(map[string]any) }); ok {
		s.InjectResourceExtras(p.resourceExtras[res.GVK])
	}
	if err := sub.InjectConfig(p.config); err != nil {
		return err
	}
	if err := sub.InjectResource(res); err != nil {
		return err
	}
	if err := res.Validate(); err != nil {
		return err
	}
	if err := sub.PreScaffold(p.disk); err != nil {
		return err
	}
	if err := sub.Scaffold(p.disk); err != nil {
		return err
	}
	if p.resourceExtras == nil {
		p.resourceExtras = map[resource.GVK]map[string]any{}
	}
	p.resourceExtras[res.GVK] = sub.ResourceExtras()
	return nil
}

// mustCreateAPI is createAPI where it has to succeed.
func (p *project) mustCreateAPI(t testing.TB, args ...string) *createAPISubcommand {
	t.Helper()
	sub, err := p.createAPI(t, args...)
	if err != nil {
		t.Fatalf("create api %s: %v", strings.Join(args, " "), err)
	}
	return sub
}

// files returns the project's files: path with slashes -> content.
func (p *project) files(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := afero.Walk(p.disk.FS, ".", func(name string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := afero.ReadFile(p.disk.FS, name)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write puts a file into the project.
func (p *project) write(t testing.TB, name, text string) {
	t.Helper()
	if err := afero.WriteFile(p.disk.FS, name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	_ plugin.HasFlags       = (*initSubcommand)(nil)
	_ plugin.RequiresConfig = (*createAPISubcommand)(nil)
)

// checkFiles parses every Go and YAML file of the project.
func (p *project) checkFiles(t testing.TB) {
	t.Helper()
	for name, text := range p.files(t) {
		if !fs.ValidPath(name) || strings.ContainsAny(name, "{}") {
			t.Errorf("%q is not a path in the project", name)
		}
		switch path.Ext(name) {
		case ".go":
			formatted, err := format.Source([]byte(text))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if string(formatted) != text {
				t.Errorf("%s is not formatted", name)
			}
		case ".yaml", ".yml":
			for document := range strings.SplitSeq(text, "\n---\n") {
				var tree any
				if err := yaml.UnmarshalStrict([]byte(document), &tree); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
