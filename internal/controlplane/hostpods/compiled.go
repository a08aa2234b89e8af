package hostpods

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// compiledCerts is where operators look for the certificates of their webhooks
// that name the directory themselves. Those that leave it to controller-runtime,
// which asks for the directory of temporary files, find theirs in the pod's.
const compiledCerts = "/tmp/k8s-webhook-server/serving-certs"

// leadToCerts has compiledCerts lead to the container's volume where its program
// needs that, until undo is called.
func (c *container) leadToCerts(l *launch) (undo func()) {
	if l.certs == "" {
		return func() {}
	}
	remove, err := lead(compiledCerts, l.certs)
	if err != nil {
		c.pod.event(corev1.EventTypeWarning, "PathTaken", "the program does not find its volume at %s: %v", compiledCerts, err)
		return func() {}
	}
	return func() {
		if err := remove(); err != nil {
			c.pod.log.Printf("remove the link %s: %v", compiledCerts, err)
		}
	}
}

// lead makes path a link to target while a program runs that has the path
// compiled in. What is there already stays and is an error, unless it is a link
// that leads nowhere any more, as that of a cluster which was killed. undo takes
// the link away, and its directory where nothing else is in it.
func lead(path, target string) (undo func() error, err error) {
	if _, err := os.Readlink(path); err == nil {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		}
	}
	if err := makeDirs(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := os.Symlink(target, path); err != nil {
		return nil, err
	}
	return func() error {
		if now, err := os.Readlink(path); err != nil || now != target {
			return err // it is somebody else's
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		// A directory that holds something else stays, whatever the system calls that.
		_ = os.Remove(filepath.Dir(path))
		return nil
	}, nil
}
