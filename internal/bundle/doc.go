// Package bundle makes the bundle that OLM installs an operator from: the
// ClusterServiceVersion, the CRDs and other objects, the annotations and the
// Dockerfile; and it reads bundles back. It knows the registry+v1 format, what
// goes where in a CSV, and the markers that describe one. It does not know the
// PROJECT file, the Go compiler, images or a cluster, and it writes nothing:
// what it makes is a fileset.Set.
package bundle
