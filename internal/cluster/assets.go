package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/example/mysdk/internal/host"
)

// Assets returns a directory for KUBEBUILDER_ASSETS: etcd, kube-apiserver and
// kubectl, which are links to mysdk-cluster. It behaves as each of them when
// it is called by their names. progress is as in Binary.
func Assets(ctx context.Context, h host.Host, progress func(string)) (string, error) {
	binary, err := Binary(ctx, h, progress)
	if err != nil {
		return "", err
	}
	cache, err := h.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "assets")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of the test binaries: %w", err)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := link(binary, filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("link %s: %w", name, err)
		}
	}
	return dir, nil
}

// link makes name a link to target, in one step: tests of another project may
// be starting the old one right now.
func link(target, name string) error {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if old, err := os.Readlink(name); err == nil && old == target {
		return nil
	}
	return host.Replace(host.OSFiles{}, name, func(draft string) error { return os.Symlink(target, draft) })
}
