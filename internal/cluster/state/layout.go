// Package state is what the two sides of an embedded cluster agree on: where
// a cluster's files lie, what the state file says, how its lock is held, how a
// process is told from a later one with the same number, and how the control
// socket is spoken to. It knows the contract only: neither how a control plane
// is run (internal/controlplane) nor how a user starts one (internal/cluster).
package state

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/filelock"
)

// maxNameLen is the longest name of a cluster: a DNS-1123 label.
const maxNameLen = 63

// DefaultName is the name of the cluster that is meant where none is given.
const DefaultName = "default"

// MaxNodes is the largest number of simulated nodes: one for each address of
// their network.
const MaxNodes = 250

// Variables by which mysdk tells `mysdk-cluster kubectl` which cluster to use
// unless its arguments name one of the user's.
const (
	KubectlDirEnv    = "MYSDK_KUBECTL_DIR"    // directory of the embedded cluster
	KubectlConfigEnv = "MYSDK_KUBECTL_CONFIG" // KUBECONFIG as the user has it
)

// KubernetesEnv is the variable by which mysdk tells the kube-apiserver of tests
// which minor version to behave as: envtest passes no flags of ours.
const KubernetesEnv = "MYSDK_KUBERNETES"

// OutOfPod is an environment without what leads clients to the cluster of the pod
// that mysdk runs in.
func OutOfPod(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "KUBERNETES_MASTER" || name == "KUBERNETES_SERVICE_HOST" || name == "KUBERNETES_SERVICE_PORT"
	})
}

// Layout is a cluster's private directory. All of its paths are below it but
// the sockets, whose names the operating system limits to about 100 bytes; see
// RuntimeDir.
type Layout struct{ Dir string }

// New returns the layout of the cluster of that name below stateDir. The name
// has been checked by CheckName.
func New(stateDir, name string) Layout { return Layout{filepath.Join(Root(stateDir), name)} }

// Root is the directory below which every cluster has its own.
func Root(stateDir string) string { return filepath.Join(stateDir, "clusters") }

// HostPrograms is where the programs are kept that pods of the cluster of that name
// run.
func HostPrograms(stateDir, name string) string { return filepath.Join(stateDir, "programs", name) }

// Runs is where runs of operators note what they have changed in the cluster of that
// UID, the user's own ones among them.
func Runs(stateDir, uid string) string { return filepath.Join(stateDir, "run-local", uid) }

// Kubeconfig is the file with the administrator's credentials, for users. Their tools
// write to it, too.
func (l Layout) Kubeconfig() string { return filepath.Join(l.Dir, "kubeconfig") }

// BrokenSuffix follows the name of a kubeconfig that a start could not read, and put aside.
const BrokenSuffix = ".broken"

// OwnKubeconfig is the same for the cluster's own components. Nobody is told of it.
func (l Layout) OwnKubeconfig() string { return filepath.Join(l.PKI(), "admin.conf") }

// PKI is the directory of keys and certificates.
func (l Layout) PKI() string { return filepath.Join(l.Dir, "pki") }

// Etcd is the directory of etcd's data.
func (l Layout) Etcd() string { return filepath.Join(l.Dir, "etcd") }

// Log is the file that the server's standard streams go to.
func (l Layout) Log() string { return filepath.Join(l.Dir, "server.log") }

// OldLog is the log of the start before.
func (l Layout) OldLog() string { return filepath.Join(l.Dir, "server.log.1") }

// KubectlCache is what kubectl remembers of the cluster's kinds.
func (l Layout) KubectlCache() string { return filepath.Join(l.Dir, "kubectl-cache") }

// LockFile is locked for as long as a server, or a reset, owns the directory.
func (l Layout) LockFile() string { return filepath.Join(l.Dir, "lock") }

// StartLock is locked while a process starts a server, until that is ready.
func (l Layout) StartLock() string { return filepath.Join(l.Dir, "start.lock") }

// StateFile describes the running server, or the one that ran last.
func (l Layout) StateFile() string { return filepath.Join(l.Dir, "state.json") }

// Command spells a command of mysdk for a hint about the cluster of that name.
func Command(verb, name string) string { return "mysdk cluster " + verb + Flag(name) }

// Flag is " --cluster NAME" for any cluster but the default one.
func Flag(name string) string {
	if name == DefaultName {
		return ""
	}
	return " --cluster " + name
}

// ContextName is the name of the cluster's kubeconfig context, cluster and
// user.
func ContextName(name string) string { return "mysdk-" + name }

const nameHint = "use a name like 'dev' or 'test-1'"

// CheckName reports why name is not a cluster's name: it must be a DNS-1123
// label, as it becomes a directory and a kubeconfig context.
func CheckName(name string) error {
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	switch {
	case name == "":
		return clierr.Usagef(nameHint, "the cluster's name is empty")
	case len(name) > maxNameLen:
		return clierr.Usagef(nameHint, "cluster name %q has %d characters, more than %d", name, len(name), maxNameLen)
	case !label.MatchString(name):
		return clierr.Usagef(nameHint, "cluster name %q is not made of a-z, 0-9 and inner '-'", name)
	}
	return nil
}

// ErrLocked says that another process owns the cluster's directory.
var ErrLocked = errors.New("another process owns the cluster's directory")

// lockGrace is how long Lock bears with others: a look by Locked holds the
// lock for a moment.
const lockGrace = 300 * time.Millisecond

// Lock takes l's directory, which must exist, or returns ErrLocked.
func (l Layout) Lock(ctx context.Context) (*filelock.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockGrace)
	defer cancel()
	k, err := filelock.Await(ctx, l.LockFile(), nil)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, ErrLocked
	}
	return k, err
}

// Locked reports whether some process owns l's directory.
func (l Layout) Locked() (bool, error) { return filelock.Held(l.LockFile()) }
