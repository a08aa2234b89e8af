package project

import "sigs.k8s.io/kubebuilder/v3/pkg/config"

// Config is the configuration that the hooks of plugins work on.
func (f *File) Config() config.Config { return f.config }
