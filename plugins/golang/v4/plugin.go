// Package v4 is the kubebuilder plugin go.kubebuilder.io/v4: it writes an
// operator in Go on controller-runtime, in the layout that kubebuilder v4 and
// operator-sdk v1 know, so that each of the three can carry on with a project
// of the others.
//
// It knows the templates, what is filled into them, the markers by which new
// code is wired into existing files, and the flags of its subcommands. It
// works on the machinery.Filesystem it is given and on nothing else: no disk,
// no network, no other process, no clock. It does not know which command line
// or driver calls it, and it does not generate: deep copies, CRDs and roles
// are the caller's.
package v4

import (
	"io/fs"

	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/model/stage"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
)

// pluginName and the version are the key that PROJECT has under layout.
const pluginName = "go.kubebuilder.io"

var (
	_ plugin.Init          = Plugin{}
	_ plugin.CreateAPI     = Plugin{}
	_ plugin.CreateWebhook = Plugin{}
)

// Plugin is the plugin go.kubebuilder.io/v4. The zero value works; the fields
// are what a plugin may not find out for itself.
type Plugin struct {
	// CLIVersion is the version of the tool that runs the plugin, written into
	// files that must know how to install it. Empty stands for "(devel)".
	CLIVersion string

	// Year is the year in the license header, 0 for none.
	Year int

	// ReadFile reads a file that the user named on the command line, such as
	// that of --license-file. Without it the file is looked up in the
	// Filesystem of the scaffold.
	ReadFile func(path string) ([]byte, error)

	// Own reads a file of the project where the Filesystem has only its scaffold,
	// which is to fit tests and groups that other tools wrote. Nil for none.
	Own func(path string) (data []byte, there bool, err error)

	// Templates are those to write from, in the place of the plugin's own, and
	// Pins the versions that go with them: a scaffold as it was written by an
	// earlier release. Nil stands for today's.
	Templates fs.FS
	Pins      *Versions
}

// Name implements plugin.Plugin.
func (Plugin) Name() string { return pluginName }

// Version implements plugin.Plugin.
func (Plugin) Version() plugin.Version {
	return plugin.Version{Number: 4, Stage: stage.Stable}
}

// SupportedProjectVersions implements plugin.Plugin: PROJECT version 3.
func (Plugin) SupportedProjectVersions() []config.Version {
	return []config.Version{cfgv3.Version}
}

// DeprecationWarning implements plugin.Deprecated. It is empty: kubebuilder's
// own command line asks every plugin and takes that for "not deprecated".
func (Plugin) DeprecationWarning() string { return "" }

// GetInitSubcommand implements plugin.Init. Each call returns a new one.
func (p Plugin) GetInitSubcommand() plugin.InitSubcommand {
	return &initSubcommand{plugin: p}
}

// GetCreateAPISubcommand implements plugin.CreateAPI. Each call returns a new
// one.
func (p Plugin) GetCreateAPISubcommand() plugin.CreateAPISubcommand {
	return &createAPISubcommand{creation: creation{plugin: p}}
}

// GetCreateWebhookSubcommand implements plugin.CreateWebhook. Each call returns
// a new one.
func (p Plugin) GetCreateWebhookSubcommand() plugin.CreateWebhookSubcommand {
	return &createWebhookSubcommand{creation: creation{plugin: p}}
}

// WorkflowPath is where the workflow goes that keeps a scaffold up to date.
const WorkflowPath = ".github/workflows/upgrade.yml"

// Workflow renders it. fs.ErrNotExist says that the plugin's templates have
// none.
func (p Plugin) Workflow() ([]byte, error) {
	c := cfgv3.New()
	text, err := render(projectData(p, c), "upgrade/"+WorkflowPath, WorkflowPath)
	if err != nil {
		return nil, err
	}
	return []byte(text), nil
}
