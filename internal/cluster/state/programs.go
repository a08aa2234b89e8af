package state

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
)

// ProgramsPath of the control socket answers GET with a []Program, PUT of one
// Program, and DELETE with the image in the query parameter "image" and the
// workload in "workload".
const ProgramsPath = "/programs"

// Program says what serves the containers of an image: a program on this
// machine, started for each of them, or, with a Problem, nothing. Containers of
// other images are simulated.
type Program struct {
	Image string `json:"image"` // as pods name it; a missing registry and tag mean what they mean everywhere
	// Workload, made by WorkloadName, is whose pods the program is for, and goes
	// before one without: two projects may call their images the same. Empty is
	// every pod of the image.
	Workload string `json:"workload,omitempty"`

	Path string `json:"path,omitempty"` // of the program, absolute
	// Commands are what the program is called in the image: paths, and names
	// that any path may end in. A container whose command is none of them fails
	// as one whose image lacks the file. Without any, every command is the program.
	Commands []string `json:"commands,omitempty"`
	Args     []string `json:"args,omitempty"` // of the image's entrypoint, after its first word
	ID       string   `json:"id,omitempty"`   // the image's digest where there is one; containers restart when it changes

	// Problem is why there is no program. Containers of the image then wait
	// with reason ErrImagePull and this text, instead of being simulated.
	Problem string `json:"problem,omitempty"`
	// Source says where the program comes from, for people.
	Source string `json:"source,omitempty"`
	// Project is the directory of the project that it was built from, where
	// that is known.
	Project string `json:"project,omitempty"`
}

// WorkloadName names what pods belong to: the Deployment behind a ReplicaSet,
// else their controller, else, with kind Pod, the pod itself.
func WorkloadName(namespace, kind, name string) string { return namespace + "/" + kind + "/" + name }

// Process is a container that a program serves, as it is now.
type Process struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Image     string `json:"image"`
	PID       int    `json:"pid,omitempty"`     // 0 while none runs
	State     string `json:"state"`             // running, waiting or terminated
	Reason    string `json:"reason,omitempty"`  // of a state that is not running
	Message   string `json:"message,omitempty"` // of a state that is not running
	Ready     bool   `json:"ready"`
	Restarts  int    `json:"restarts"`
}

// Programs is the file in which the programs of the cluster are kept.
func (l Layout) Programs() string { return filepath.Join(l.Dir, "programs.json") }

// PodLogs is the directory of what the programs wrote.
func (l Layout) PodLogs() string { return filepath.Join(l.Dir, "pods") }

// Programs asks the server for the programs that it was told of, sorted by
// image.
func (c Control) Programs(ctx context.Context) ([]Program, error) {
	return get[[]Program](ctx, c, ProgramsPath)
}

// SetProgram tells the server what serves an image, in place of what it was
// told before. When it returns, pods created from now on are served so; those
// that exist follow.
func (c Control) SetProgram(ctx context.Context, p Program) error {
	return c.sendJSON(ctx, http.MethodPut, ProgramsPath, p, nil)
}

// RemoveProgram makes the server forget the program of an image for a workload,
// or, where that is empty, for all others. Processes that run go on; none is
// started any more. What it was never told of is no error.
func (c Control) RemoveProgram(ctx context.Context, image, workload string) error {
	query := url.Values{"image": {image}, "workload": {workload}}.Encode()
	return c.do(ctx, http.MethodDelete, ProgramsPath+"?"+query, nil)
}
