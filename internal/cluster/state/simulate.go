package state

import "slices"

// ProcessAnnotation marks a pod that programs of this machine serve: KWOK
// leaves it alone. It is put on pods whose image has a program; where somebody
// else puts it on, a container without a program waits as one whose image
// cannot be pulled.
const ProcessAnnotation = "mysdk.dev/process"

// SimulateAnnotation on a pod that no program serves says what its containers
// are to look like instead of running. Without it they run.
const SimulateAnnotation = "mysdk.dev/simulate"

// Annotations of such a pod that say what each of its containers uses, as
// quantities like 250m and 64Mi, for those who ask metrics.k8s.io.
const (
	CPUAnnotation    = "mysdk.dev/cpu"
	MemoryAnnotation = "mysdk.dev/memory"
)

// What a pod may look like.
const (
	SimulateCrash     = "crash"      // its containers end with exit code 1 and are started again and again
	SimulateNotReady  = "not-ready"  // its containers run, and are not ready
	SimulatePullError = "pull-error" // its images cannot be pulled
	// SimulateConfig is set by the control plane: the containers wait for the
	// Secrets and ConfigMaps that they name.
	SimulateConfig = "config"
)

// Simulations are the values that users may choose.
func Simulations() []string { return []string{SimulateCrash, SimulateNotReady, SimulatePullError} }

// Simulates reports whether a pod's annotation has a meaning.
func Simulates(what string) bool {
	return what == SimulateConfig || slices.Contains(Simulations(), what)
}
