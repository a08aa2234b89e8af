package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		// Windows lets few users make symbolic links, and hard links only on one disk.
		if err := link(binary, filepath.Join(dir, host.Program(name)), os.Symlink, os.Link, duplicate); err != nil {
			return "", fmt.Errorf("link %s: %w", name, err)
		}
	}
	return dir, nil
}

// link makes name a link to target by the first of ways that works, in one step:
// tests of another project may be starting the old one right now.
func link(target, name string, ways ...func(from, to string) error) error {
	is, err := os.Stat(target)
	if err != nil {
		return err
	}
	if old, err := os.Stat(name); err == nil && (os.SameFile(old, is) || old.Size() == is.Size() && old.ModTime().Equal(is.ModTime())) {
		return nil
	}
	return host.Replace(host.OSFiles{}, name, func(draft string) (err error) {
		for _, way := range ways {
			if err = way(target, draft); err == nil {
				return nil
			}
		}
		return err
	})
}

// duplicate copies a program with its time, by which link knows it again.
func duplicate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
