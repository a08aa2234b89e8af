package image

import "github.com/example/mysdk/internal/registry"

// Access says how the registry of an image may be spoken to.
type Access = registry.Access
