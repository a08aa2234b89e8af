package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
)

// Kubeconfig returns the path and the content of the cluster's kubeconfig. The
// cluster need not run, but it must have been started once.
func Kubeconfig(h host.Host, name string) (path string, content []byte, err error) {
	l, err := layoutOf(h, name)
	if err != nil {
		return "", nil, err
	}
	content, err = h.Files.ReadFile(l.Kubeconfig())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, clierr.Failedf(fmt.Sprintf("run '%s' first", command("start", name)),
			"cluster %s has no kubeconfig: it was never started", name)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
	}
	return l.Kubeconfig(), content, nil
}

// MergeKubeconfig puts the cluster's context into the user's kubeconfig, makes
// it the current one, and returns the path of the file that was changed. All
// else in the file stays, its comments too.
func MergeKubeconfig(h host.Host, name string) (string, error) {
	own, add, err := Kubeconfig(h, name)
	if err != nil {
		return "", err
	}
	path, err := userKubeconfig(h)
	if err != nil {
		return "", fmt.Errorf("find your kubeconfig: %w", err)
	}
	if path == own {
		return "", clierr.Failedf("unset KUBECONFIG, or set it to a file of yours",
			"merge the kubeconfig of cluster %s: KUBECONFIG names the cluster's own file", name)
	}
	mode := fs.FileMode(0o600)
	old, err := h.Files.ReadFile(path)
	if err == nil {
		var info fs.FileInfo
		if info, err = h.Files.Lstat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read your kubeconfig: %w", err)
	}
	merged, err := mergeKubeconfig(old, add, state.ContextName(name))
	if err != nil {
		return "", clierr.Failedf("correct the file, or set KUBECONFIG to another one", "merge into %s: %w", path, err)
	}
	if err := replaceFile(h.Files, path, merged, mode); err != nil {
		return "", fmt.Errorf("write your kubeconfig: %w", err)
	}
	return path, nil
}

// userKubeconfig is the file that kubectl would change: of those in
// KUBECONFIG the first that exists, else the last; else the one in the home
// directory. Links are followed, so that a linked file stays one.
func userKubeconfig(h host.Host) (string, error) {
	path := ""
	for _, p := range filepath.SplitList(h.Getenv("KUBECONFIG")) {
		if p == "" {
			continue
		}
		path = h.Path(p)
		if _, err := h.Files.Lstat(path); err == nil {
			break
		}
	}
	if path == "" {
		variable := "HOME"
		if runtime.GOOS == "windows" {
			variable = "USERPROFILE"
		}
		home := h.Getenv(variable)
		if home == "" {
			return "", clierr.Failedf("set KUBECONFIG to a file of yours", "neither KUBECONFIG nor %s is set", variable)
		}
		path = filepath.Join(home, ".kube", "config")
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path, nil
}

// replaceFile writes data beside name and renames it, so that an interrupted
// write leaves the old file.
func replaceFile(files host.Files, name string, data []byte, mode fs.FileMode) error {
	if dir := filepath.Dir(name); filepath.Base(dir) == ".kube" {
		if err := files.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	tmp := name + ".mysdk-tmp"
	err := files.WriteFile(tmp, data, mode)
	if err == nil {
		err = files.Rename(tmp, name)
	}
	if err != nil {
		// The first error tells more than what the removal may say.
		_ = files.Remove(tmp)
	}
	return err
}
