package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// Kubeconfig returns the path of the cluster's kubeconfig, and what is the cluster's
// in it. The cluster need not run, but it must have been started once.
func Kubeconfig(h host.Host, name string) (path string, content []byte, err error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return "", nil, err
	}
	content, err = h.Files.ReadFile(l.Kubeconfig())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, clierr.Failedf(fmt.Sprintf("run '%s' first", state.Command("start", name)),
			"cluster %s has no kubeconfig: it was never started", name)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
	}
	own := state.ContextName(name)
	content, err = entriesOf(content, func(entry string) bool { return entry == own }, own)
	if err == nil && content == nil {
		err = fmt.Errorf("it has no context %s", own)
	}
	if err != nil {
		return "", nil, clierr.Failedf(fmt.Sprintf("run '%s', then '%s', which repairs the file", state.Command("stop", name), state.Command("start", name)),
			"read the kubeconfig of cluster %s: %w", name, err)
	}
	return l.Kubeconfig(), content, nil
}

// KeepOthers copies what other tools wrote to the cluster's kubeconfig, and one that a
// start could not read, to files that stay after a reset, and returns their paths.
func KeepOthers(h host.Host, name string) (kept []string, err error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return nil, err
	}
	own, stateDir := state.ContextName(name), filepath.Dir(filepath.Dir(l.Dir))
	for _, suffix := range []string{"", state.BrokenSuffix} {
		content, err := h.Files.ReadFile(l.Kubeconfig() + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return kept, fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
		}
		if others, err := entriesOf(content, func(entry string) bool { return entry != own }, ""); err == nil {
			content = others // what cannot be read is kept whole
		}
		if content == nil {
			continue
		}
		file := filepath.Join(stateDir, "kubeconfig-"+name+h.Now().Format("-20060102-150405")+suffix)
		if err := replaceFile(h.Files, file, content, 0o600); err != nil {
			return kept, fmt.Errorf("keep what other tools wrote to the kubeconfig of cluster %s: %w", name, err)
		}
		kept = append(kept, file)
	}
	return kept, nil
}

// MergeKubeconfig puts the cluster's context into the user's kubeconfig and
// returns the path of the file that was changed. The entries of others and the current
// context stay; comments and the order do not, as with 'kubectl config'.
func MergeKubeconfig(h host.Host, name string) (string, error) {
	own, add, err := Kubeconfig(h, name)
	if err != nil {
		return "", err
	}
	files, err := userKubeconfigs(h)
	if err != nil {
		return "", fmt.Errorf("find your kubeconfig: %w", err)
	}
	// The file that kubectl would change: the first that exists, else the last.
	path := files[len(files)-1]
	if i := slices.IndexFunc(files, func(f string) bool { _, err := h.Files.Lstat(f); return err == nil }); i >= 0 {
		path = files[i]
	}
	clusters := resolved(filepath.Dir(filepath.Dir(own)))
	if below, err := filepath.Rel(clusters, path); err == nil && filepath.IsLocal(below) {
		return "", clierr.Failedf("unset KUBECONFIG, or set it to a file of yours",
			"merge the kubeconfig of cluster %s: KUBECONFIG names an embedded cluster's own file", name)
	}
	chosen := slices.ContainsFunc(files, func(file string) bool {
		data, _ := h.Files.ReadFile(file)
		config, err := loadConfig(data)
		return err == nil && config.CurrentContext != "" // one that cannot be read chooses nothing
	})
	_, err = edit(h.Files, path, func(old []byte) ([]byte, error) {
		return mergeKubeconfig(old, add, state.ContextName(name), !chosen)
	})
	return path, err
}

// UnmergeKubeconfig takes the cluster's context out of the user's kubeconfig
// files and returns the paths of those that were changed. A context of the same
// name that MergeKubeconfig did not put there stays.
func UnmergeKubeconfig(h host.Host, name string) ([]string, error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return nil, err
	}
	own, err := ownKubeconfig(h, l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
	}
	return editMerged(h, l, func(old []byte) ([]byte, error) { return unmergeKubeconfig(old, own, state.ContextName(name)) })
}

// ownKubeconfig reads the kubeconfig that only the cluster writes. An older mysdk made
// none beside the one for users.
func ownKubeconfig(h host.Host, l state.Layout) ([]byte, error) {
	data, err := h.Files.ReadFile(l.OwnKubeconfig())
	if errors.Is(err, fs.ErrNotExist) {
		return h.Files.ReadFile(l.Kubeconfig())
	}
	return data, err
}

// tellBroken says where the kubeconfig is that users had before a start, if the start
// could not read it.
func tellBroken(h host.Host, l state.Layout, o Options, before []byte) {
	file := l.Kubeconfig() + state.BrokenSuffix
	if broken, err := h.Files.ReadFile(file); err == nil && len(before) > 0 && bytes.Equal(broken, before) {
		o.Progress(fmt.Sprintf("the cluster's kubeconfig could not be read; it is written again, and the old one is %s", file))
	}
}

// refreshMerged brings what MergeKubeconfig put into the user's kubeconfig files up
// to date after a start, when the cluster's own file was before. A start that has
// gone well does not fail for a file of the user's.
func refreshMerged(h host.Host, l state.Layout, o Options, before []byte) {
	now, err := ownKubeconfig(h, l)
	if err == nil && (len(before) == 0 || bytes.Equal(before, now)) {
		return
	}
	kubeContext := state.ContextName(o.Name)
	var changed []string
	if err == nil {
		changed, err = editMerged(h, l, func(old []byte) ([]byte, error) { return refreshKubeconfig(old, before, now, kubeContext) })
	}
	for _, file := range changed {
		o.Progress(fmt.Sprintf("context %s in %s follows the cluster to its new address", kubeContext, file))
	}
	if err != nil {
		o.Progress(fmt.Sprintf("if you have merged the cluster into your kubeconfig, run '%s --merge': %v", state.Command("kubeconfig", o.Name), err))
	}
}

// TakeCurrent makes the context of a cluster the current one in its kubeconfig again,
// and reports whether another tool had made another one that.
func TakeCurrent(h host.Host, name string) (taken bool, err error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return false, err
	}
	own := state.ContextName(name)
	taken, err = edit(h.Files, l.Kubeconfig(), func(old []byte) ([]byte, error) {
		config, err := loadConfig(old)
		if err != nil || config.CurrentContext == own || config.Contexts[own] == nil {
			return nil, nil //nolint:nilerr // who uses the file is told
		}
		config.CurrentContext = own
		return clientcmd.Write(*config)
	})
	if err != nil {
		return false, fmt.Errorf("make %s the current context of its kubeconfig again: %w", own, err)
	}
	return taken, nil
}

// editMerged changes the user's kubeconfig files, those where change returns nil
// excepted, and returns the paths of those that it changed.
func editMerged(h host.Host, l state.Layout, change func(old []byte) ([]byte, error)) ([]string, error) {
	files, err := userKubeconfigs(h)
	if err != nil {
		return nil, nil //nolint:nilerr // no place for a kubeconfig, so there is none
	}
	var changed []string
	for _, path := range files {
		if path == resolved(l.Kubeconfig()) {
			continue
		}
		did, err := edit(h.Files, path, change)
		if err != nil {
			return changed, err
		}
		if did {
			changed = append(changed, path)
		}
	}
	return changed, nil
}

// edit replaces the content of a kubeconfig of the user's, which need not exist,
// and keeps its mode. It reports false where change returns nil.
func edit(files host.Files, path string, change func(old []byte) ([]byte, error)) (bool, error) {
	mode := fs.FileMode(0o600)
	old, err := files.ReadFile(path)
	if err == nil {
		var info fs.FileInfo
		if info, err = files.Lstat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read your kubeconfig: %w", err)
	}
	data, err := change(old)
	if err != nil {
		return false, clierr.WithHint(fmt.Errorf("change %s: %w", path, err), "correct the file, or set KUBECONFIG to another one")
	}
	if data == nil {
		return false, nil
	}
	if err := replaceFile(files, path, data, mode); err != nil {
		return false, fmt.Errorf("write your kubeconfig: %w", err)
	}
	return true, nil
}

// userKubeconfigs are the files in KUBECONFIG, else the one in the home
// directory. Links are followed, so that a linked file stays one.
func userKubeconfigs(h host.Host) ([]string, error) {
	files := h.FilesOf("KUBECONFIG", ".kube/config")
	if len(files) == 0 {
		return nil, clierr.Failedf("set KUBECONFIG to a file of yours", "neither KUBECONFIG nor HOME is set")
	}
	for i, path := range files {
		files[i] = resolved(path)
	}
	return files, nil
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// replaceFile replaces the kubeconfig name in one step.
func replaceFile(files host.Files, name string, data []byte, mode fs.FileMode) error {
	if err := host.MkdirAll(files, filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return host.Replace(files, name, func(draft string) error {
		if err := files.WriteFile(draft, data, 0o600); err != nil {
			return err
		}
		if err := files.Chmod(draft, mode); err != nil { // the umask is for new files
			return err
		}
		return files.Sync(draft) // it may have credentials that are nowhere else
	})
}
