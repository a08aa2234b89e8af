package explore

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/recording"
)

// Rig is what trials stand on: a cluster of their own, with an operator that
// can be killed.
type Rig struct {
	Cluster  Cluster
	Control  Control
	Operator Operator
	Now      func() time.Time
	Keep     bool // what trials leave is not deleted
	// Beside are objects that samples may refer to, such as Secrets: they are there before
	// a trial's first step, and do not count.
	Beside []*unstructured.Unstructured

	watched map[schema.GroupResource]bool // by the operator; nil: no trial has seen it start
	vain    *activity                     // of the trial whose watch never came: no other has to wait for one again
}

// Cluster is what trials need of *kube.Client.
type Cluster interface {
	Apply(ctx context.Context, objs []*unstructured.Unstructured, o kube.ApplyOptions) ([]kube.Result, error)
	Delete(ctx context.Context, objs []*unstructured.Unstructured, o kube.DeleteOptions) ([]kube.Result, error)
	Edit(ctx context.Context, u *unstructured.Unstructured, change func(live *unstructured.Unstructured) (*unstructured.Unstructured, error)) error
	EnsureNamespace(ctx context.Context, name string) (bool, error)
	List(ctx context.Context, gvk schema.GroupVersionKind, o kube.ListOptions) ([]*unstructured.Unstructured, error)
	Read(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// Control is what trials need of state.Control.
type Control interface {
	Record(ctx context.Context, operator, project string, began func()) error
	Recording(ctx context.Context, at recording.Position, wait time.Duration) (recording.Recording, error)
	Inject(ctx context.Context, f state.Fault, hit func()) error
}

// Operator is the operator's process.
type Operator interface {
	User() string
	Kill()
	Start(ctx context.Context) error
	Ended() (how string, ended bool)
}
