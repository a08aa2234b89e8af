package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/afero"
	"sigs.k8s.io/kubebuilder/v3/pkg/config"
	cfgv3 "sigs.k8s.io/kubebuilder/v3/pkg/config/v3"
	"sigs.k8s.io/kubebuilder/v3/pkg/machinery"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin"
	"sigs.k8s.io/kubebuilder/v3/pkg/plugin/external"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/host"
)

// protocol is the version of the requests and responses.
const protocol = "v1alpha1"

// largestSent is the size in bytes of the largest file that plugins get to
// see. Scaffolds are far smaller, and built binaries far larger.
const largestSent = 4 << 20

// request is kubebuilder/v3's with the fields that kubebuilder v4 added.
type request struct {
	external.PluginRequest
	PluginChain []string       `json:"pluginChain,omitempty"`
	Config      map[string]any `json:"config,omitempty"`
}

// timeouts say how long a plugin may take to tell about itself, and to
// scaffold.
type timeouts struct{ ask, scaffold time.Duration }

func defaultTimeouts() timeouts { return timeouts{ask: 30 * time.Second, scaffold: 5 * time.Minute} }

// External is a plugin that is a program: it gets the project's files as JSON
// on stdin and answers with those it writes (kubebuilder's phase 2 plugins).
// It never writes to the project itself.
type External struct {
	host     host.Host
	name     string
	version  plugin.Version
	path     string // of the executable
	timeouts timeouts
}

// Name implements plugin.Plugin.
func (p *External) Name() string { return p.name }

// Version implements plugin.Plugin.
func (p *External) Version() plugin.Version { return p.version }

// SupportedProjectVersions implements plugin.Plugin.
func (p *External) SupportedProjectVersions() []config.Version {
	return []config.Version{cfgv3.Version}
}

// key is the plugin's name in PROJECT's layout.
func (p *External) key() string { return plugin.KeyFor(p) }

// refusal is a response with error: true.
type refusal struct {
	key      string
	messages []string
}

func (r *refusal) Error() string {
	if len(r.messages) == 0 {
		return "plugin " + r.key + " failed without an error message"
	}
	return "plugin " + r.key + ": " + strings.Join(r.messages, "\n")
}

// call runs the plugin once. A response that says error is a *refusal.
func (p *External) call(ctx context.Context, req request, limit time.Duration) (*external.PluginResponse, error) {
	req.APIVersion = protocol
	if req.Universe == nil {
		req.Universe = map[string]string{}
	}
	in, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", p.key(), err)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, said bytes.Buffer
	err = host.Run(limited, p.host.Exec, host.Cmd{
		Name: p.path, Dir: p.host.Dir, Env: p.host.Environ(), Group: true, DieWithParent: true, Grace: 2 * time.Second,
		Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &said,
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, clierr.Failedf("run "+p.path+" yourself to see what it waits for", "plugin %s: no answer to %q within %s", p.key(), req.Command, limit)
	}
	res := &external.PluginResponse{}
	bad := json.Unmarshal(out.Bytes(), res)
	switch {
	case bad == nil && res.Error:
		return nil, clierr.WithHint(&refusal{p.key(), res.ErrorMsgs}, "nothing was written; --help shows the plugin's flags")
	case err != nil:
		return nil, clierr.Failedf("correct or reinstall "+p.path, "plugin %s: %q: %w%s", p.key(), req.Command, err, lastLines(said.String()))
	case bad != nil:
		return nil, clierr.Failedf("its stdout must be one JSON object, a PluginResponse; other output belongs on stderr",
			"plugin %s: the answer to %q is not what the protocol asks for: %w%s", p.key(), req.Command, bad, lastLines(out.String()))
	case res.APIVersion != "" && res.APIVersion != protocol:
		return nil, clierr.Failedf("use a version of the plugin for "+protocol, "plugin %s speaks version %q of the protocol, and mysdk %s", p.key(), res.APIVersion, protocol)
	}
	_, err = p.host.IO.Err.Write(said.Bytes())
	return res, err
}

// lastLines are the end of what a program printed, on lines of their own.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-5):]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	for i, l := range lines {
		if len(l) > 200 {
			lines[i] = strings.ToValidUTF8(l[:200], "") + "…"
		}
	}
	return "\n  " + strings.Join(lines, "\n  ")
}

// Metadata is what the plugin says about a subcommand in help texts: init,
// api, webhook or edit. Both texts may be empty.
func (p *External) Metadata(ctx context.Context, subcommand string) (plugin.SubcommandMetadata, error) {
	res, _, err := p.ask(ctx, "metadata", subcommand)
	return res.Metadata, err
}

// ask asks about a subcommand. The plugin need not know the question: known is false then.
func (p *External) ask(ctx context.Context, question, subcommand string) (res external.PluginResponse, known bool, err error) {
	answer, err := p.call(ctx, request{PluginRequest: external.PluginRequest{Command: question, Args: []string{"--" + subcommand}}}, p.timeouts.ask)
	if _, ok := errors.AsType[*refusal](err); ok {
		return res, false, nil
	}
	if err != nil {
		return res, false, err
	}
	return *answer, true, nil
}

// flags asks for the flags of a subcommand. known is false where the plugin
// does not tell.
func (p *External) flags(ctx context.Context, subcommand string) (list []external.Flag, known bool, err error) {
	res, known, err := p.ask(ctx, "flags", subcommand)
	for i, f := range res.Flags {
		res.Flags[i].Name = strings.TrimLeft(f.Name, "-")
		if name := res.Flags[i].Name; name == "" || strings.ContainsAny(name, "= \t\n") {
			return nil, false, clierr.Failedf("correct or reinstall "+p.path, "plugin %s: %q cannot be the name of a flag", p.key(), f.Name)
		}
	}
	return res.Flags, known, err
}

// externalSubcommand is one command of an External, in one run.
type externalSubcommand struct {
	ctx     context.Context // hooks take none: kubebuilder's interfaces are older
	plugin  *External
	command string          // as the protocol calls it, such as "create api"
	args    func() []string // the command line, once it is parsed
	chain   []string
	config  config.Config
	extras  map[string]any
}

// InjectConfig implements plugin.RequiresConfig.
func (s *externalSubcommand) InjectConfig(c config.Config) error { s.config = c; return nil }

// InjectExtras takes the PROJECT fields that config does not know.
func (s *externalSubcommand) InjectExtras(extras map[string]any) { s.extras = extras }

// Scaffold implements plugin.Subcommand.
func (s *externalSubcommand) Scaffold(disk machinery.Filesystem) error {
	sent, err := universe(disk.FS)
	if err != nil {
		return err
	}
	req := request{PluginRequest: external.PluginRequest{Command: s.command, Args: s.args(), Universe: sent}, PluginChain: s.chain}
	if s.config != nil {
		if req.Config, err = known(s.config); err != nil {
			return err
		}
		maps.Copy(req.Config, s.extras)
	}
	res, err := s.plugin.call(s.ctx, req, s.plugin.timeouts.scaffold)
	if err != nil {
		return err
	}
	return s.plugin.apply(disk.FS, sent, res.Universe)
}

// universe reads the text files of the project, without what links lead to.
// Others have no form in the protocol.
func universe(disk afero.Fs) (map[string]string, error) {
	out := map[string]string{}
	err := afero.Walk(disk, ".", func(name string, info fs.FileInfo, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // the empty directory of a new project
		case err != nil:
			return err
		case info.IsDir() && slices.Contains([]string{".git", "vendor", "node_modules"}, info.Name()): // of others
			return filepath.SkipDir
		case !info.Mode().IsRegular() || info.Size() > largestSent:
			return nil
		}
		data, err := afero.ReadFile(disk, name)
		if err == nil && utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
			out[filepath.ToSlash(name)] = string(data)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the project for its plugins: %w", err)
	}
	return out, nil
}

// apply writes what a plugin answered and did not merely repeat.
func (p *External) apply(disk afero.Fs, sent, answer map[string]string) error {
	for _, given := range slices.Sorted(maps.Keys(answer)) {
		name := path.Clean(filepath.ToSlash(given))
		switch old, ok := sent[name]; {
		case ok && old == answer[given]:
			continue
		case given == "" || path.IsAbs(name) || filepath.VolumeName(given) != "" || !fs.ValidPath(name) || name == ".":
			return clierr.Failedf("correct or reinstall "+p.path, "plugin %s wants to write %q, which is not a path below the project: refused", p.key(), given)
		case name == ".git" || strings.HasPrefix(name, ".git/"):
			return clierr.Failedf("correct or reinstall "+p.path, "plugin %s wants to write %s, which belongs to git: refused", p.key(), name)
		case name == FileName:
			return clierr.Failedf("correct or reinstall "+p.path, "plugin %s wants to write %s, which only mysdk writes: refused", p.key(), FileName)
		}
		mode := fs.FileMode(0o644)
		if info, err := disk.Stat(name); err == nil {
			mode = info.Mode().Perm()
		}
		err := disk.MkdirAll(path.Dir(name), 0o755)
		if err == nil {
			err = afero.WriteFile(disk, name, []byte(answer[given]), mode)
		}
		if err == nil {
			err = disk.Chmod(name, mode)
		}
		if err != nil {
			return fmt.Errorf("plugin %s: %w", p.key(), err)
		}
	}
	return nil
}
