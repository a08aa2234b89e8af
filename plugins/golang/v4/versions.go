package v4

// Versions are what a scaffold builds on. They are pinned together and tested
// together, and they are those that mysdk itself is built with, so that what
// the go command compiled for the one is in its cache for the other.
type Versions struct {
	Go                string // the go directive of go.mod
	GoToolchainImage  string // container image that the operator is built in
	DistrolessImage   string // container image that the operator runs in
	ControllerRuntime string
	Kubernetes        string // k8s.io/api and its siblings
	ControllerTools   string
	GolangciLint      string
}

// CurrentVersions returns the versions that new scaffolds get.
func CurrentVersions() Versions {
	return Versions{
		Go:                "1.26.0",
		GoToolchainImage:  "golang:1.26",
		DistrolessImage:   "gcr.io/distroless/static:nonroot",
		ControllerRuntime: "v0.25.2",
		Kubernetes:        "v0.37.2",
		ControllerTools:   "v0.23.0",
		GolangciLint:      "v2.12.2",
	}
}
