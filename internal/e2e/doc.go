// Package e2e tries mysdk on a cluster whose nodes run containers: the stock
// components of Kubernetes, containerd and OLM's own images on this machine, in
// namespaces that end with the test. It knows how to make such a node, and
// which commands have to work on it; everything is in its tests.
//
// It needs Linux, root, and Debian's packages containerd, runc,
// containernetworking-plugins, iptables, iproute2 and busybox-static, so that
// only `make e2e` runs it.
package e2e
