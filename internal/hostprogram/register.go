package hostprogram

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/mysdk/internal/cluster/state"
)

// ServedImage is an image in the pods of a workload, which is named by
// state.WorkloadName.
type ServedImage struct{ Image, Workload string }

// RegisterImage tells the cluster of the program in an image of this machine,
// so that pods of that image run it from now on, but for those that run a
// program of another project whose image has the same name. An image without a
// program that could run here is none of its business.
func (p Programs) RegisterImage(ctx context.Context, img string) error {
	program, err := p.find(ctx, img)
	if err != nil || program.Image == "" {
		return err
	}
	control, list, err := p.registered(ctx)
	if err != nil {
		return err
	}
	whose := []string{""}
	for _, k := range list {
		if k.Image == img && k.Workload != "" && (k.Problem != "" || k.Project == program.Project) {
			whose = append(whose, k.Workload)
		}
	}
	for _, program.Workload = range whose {
		if err := control.SetProgram(ctx, program); err != nil {
			return err
		}
	}
	return p.collect(ctx)
}

// RegisterProject builds the project and tells the cluster that the pods of its
// Deployments with the operator's image run it. Others stay simulated.
func (p Programs) RegisterProject(ctx context.Context, objects []*unstructured.Unstructured) error {
	img := OperatorImage(objects)
	if img == "" {
		return nil
	}
	p.Project = &Project{Dir: p.Project.Dir, Image: img}
	var own []Deployment
	for _, u := range objects {
		own = append(own, Deployment{
			Name: u.GetName(), Namespace: u.GetNamespace(),
			Containers: slices.DeleteFunc(containersOf(u), func(c Container) bool { return c.Image != img }),
		})
	}
	if _, err := p.Register(ctx, "", own); err != nil {
		return err
	}
	return p.collect(ctx)
}

// Forget makes the cluster forget the programs of an operator that is gone.
func (p Programs) Forget(ctx context.Context, gone []ServedImage) error {
	return p.forget(ctx, func(k state.Program) bool { return slices.Contains(gone, ServedImage{k.Image, k.Workload}) })
}

// ForgetDeployments is Forget for the Deployments among objects, whatever the images
// were called with which they were deployed.
func (p Programs) ForgetDeployments(ctx context.Context, objects []*unstructured.Unstructured) error {
	return p.forget(ctx, func(k state.Program) bool {
		return slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool {
			return k.Workload == state.WorkloadName(u.GetNamespace(), u.GetKind(), u.GetName())
		})
	})
}
