package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/example/mysdk/internal/host"
)

// State is the content of the state file. A server writes it when it has
// taken the lock and listens on its control socket, and once more with PID 0
// when it stops; a PID that is left belongs to a server that was killed.
type State struct {
	Name         string    `json:"name"`
	PID          int       `json:"pid,omitempty"`
	ProcessStart string    `json:"processStart,omitempty"` // see ProcessStart
	Socket       string    `json:"socket,omitempty"`       // control socket
	RuntimeDir   string    `json:"runtimeDir,omitempty"`   // directory of all sockets
	Port         int       `json:"port,omitempty"`         // of the API server, kept across starts
	Server       string    `json:"server,omitempty"`       // URL of the API server
	UID          string    `json:"uid,omitempty"`          // of the namespace kube-system, which tells clusters apart
	Kubernetes   string    `json:"kubernetes,omitempty"`   // version it reports, of the last start that was complete
	Build        string    `json:"build,omitempty"`        // version of mysdk it was built from
	Nodes        int       `json:"nodes,omitempty"`
	FSync        bool      `json:"fsync,omitempty"`     // every write goes to the disk at once
	Verbosity    int       `json:"verbosity,omitempty"` // of the log
	Tied         bool      `json:"tied,omitempty"`      // ends with the process that started it
	StartedAt    time.Time `json:"startedAt,omitzero"`
}

// Read returns the state of l. A file that is absent, or that a crash left
// unreadable, is the zero State: what it says can be found out again.
func (l Layout) Read() (State, error) {
	var s State
	data, err := os.ReadFile(l.StateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the cluster's state: %w", err)
	}
	if json.Unmarshal(data, &s) != nil {
		return State{}, nil
	}
	return s, nil
}

// ByServer returns the state of the cluster below stateDir that had server as its
// API server when it last ran; the zero State if there is none. Embedded
// clusters are on loopback, so no other address is one of theirs.
func ByServer(stateDir, server string) (State, error) {
	if !OnLoopback(server) {
		return State{}, nil
	}
	names, err := Names(stateDir)
	if err != nil {
		return State{}, err
	}
	var found State
	for _, name := range names {
		s, err := New(stateDir, name).Read()
		if err != nil {
			return State{}, err
		}
		// A port that was given up may be another cluster's now.
		if s.Server == server && !found.Alive() {
			found = s
		}
	}
	return found, nil
}

// Names are the clusters below stateDir, sorted.
func Names(stateDir string) ([]string, error) {
	entries, err := os.ReadDir(Root(stateDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the clusters: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && CheckName(e.Name()) == nil { // unlike what macOS' Finder leaves
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// OnLoopback reports whether the server of a URL is this machine's own.
func OnLoopback(server string) bool {
	u, err := url.Parse(server)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// Write replaces the state of l in one step.
func (l Layout) Write(s State) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the cluster's state: %w", err)
	}
	if err := WriteFile(l.StateFile(), append(data, '\n')); err != nil {
		return fmt.Errorf("write the cluster's state: %w", err)
	}
	return nil
}

// WriteFile puts data at name, readable by its owner only, so that a reader
// sees the old content or the new and never a part.
func WriteFile(name string, data []byte) error {
	return host.ReplaceData(host.OSFiles{}, name, data, 0o600)
}

// Alive reports whether the process of s runs: its number is in use, and by a
// process that started when s says.
func (s State) Alive() bool {
	if s.PID <= 0 || s.ProcessStart == "" {
		return false
	}
	start, err := ProcessStart(s.PID)
	return err == nil && start == s.ProcessStart
}

// runtimePrefix begins the names of runtime directories outside a cluster's
// own one.
const runtimePrefix = "mysdk-cluster-"

// maxSocketPath is the longest path of a unix socket that every system takes,
// in bytes: 104 with its final zero on macOS, 108 on Linux.
const maxSocketPath = 100

// RuntimeDir makes an empty private directory for sockets: run below l, or a
// short one in the system's temporary directory where l's path is so long that
// sockets below it could not be addressed.
func (l Layout) RuntimeDir(longest string) (string, error) {
	dir := filepath.Join(l.Dir, "run")
	if len(filepath.Join(dir, longest)) <= maxSocketPath {
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("clear old sockets: %w", err)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", fmt.Errorf("make a directory for sockets: %w", err)
		}
		return dir, nil
	}
	dir, err := os.MkdirTemp("", runtimePrefix)
	if err != nil {
		return "", fmt.Errorf("make a directory for sockets: %w", err)
	}
	if n := len(filepath.Join(dir, longest)); n > maxSocketPath {
		return "", errors.Join(
			fmt.Errorf("a socket below %s would have a path of %d bytes, more than %d: set TMPDIR to a shorter directory",
				filepath.Dir(dir), n, maxSocketPath), os.Remove(dir))
	}
	return dir, nil
}

// RemoveRuntimeDir removes the runtime directory that s names, and only what
// RuntimeDir can have made: the state file is no licence to delete.
func (l Layout) RemoveRuntimeDir(s State) error {
	if s.RuntimeDir == "" {
		return nil
	}
	own := s.RuntimeDir == filepath.Join(l.Dir, "run")
	temporary := filepath.Dir(s.RuntimeDir) == filepath.Clean(os.TempDir()) &&
		strings.HasPrefix(filepath.Base(s.RuntimeDir), runtimePrefix)
	if !own && !temporary {
		return nil
	}
	if err := os.RemoveAll(s.RuntimeDir); err != nil {
		return fmt.Errorf("remove old sockets: %w", err)
	}
	return nil
}

// Clear takes what says that a server runs out of the state s of l, writes it,
// and removes the server's sockets. It returns what it wrote.
func (l Layout) Clear(s State) (State, error) {
	err := l.RemoveRuntimeDir(s)
	s.PID, s.ProcessStart, s.Socket, s.RuntimeDir = 0, "", "", ""
	return s, errors.Join(err, l.Write(s))
}

// Devel is the version of a build that has none.
const Devel = "(devel)"

// OwnVersion is the version of mysdk that the go command recorded in this
// program, "(devel)" where it knows none.
func OwnVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Devel
	}
	return cmp.Or(info.Main.Version, Devel)
}
