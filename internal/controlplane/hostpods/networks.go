package hostpods

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/example/mysdk/internal/cluster/state"
)

// The cluster's addresses exist in names only. They are of 240.0.0.0/4, which is
// reserved (RFC 1112, section 4) and which networks do not route. Operators are
// processes of this machine: what they connect to by the address of a pod or a
// Service must not be somebody's machine.
const (
	// ServiceNetwork has the addresses of Services, the API server's first.
	ServiceNetwork = "240.0.0.0/16"
	// NodeNetwork is the first three octets of the addresses of nodes; room for
	// state.MaxNodes.
	NodeNetwork = "240.1.0"
	// PodNetwork has the addresses that KWOK gives out.
	PodNetwork = "240.2.0.0/16"
	// processNetwork is the first half of the addresses of pods that programs
	// serve.
	processNetwork = "240.3"
)

// NodePrefix begins the names of nodes; their number follows.
const NodePrefix = "node-"

// nodeAddress is the address of a node, which pods are told. One that somebody has
// made has that of the first.
func nodeAddress(name string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(name, NodePrefix))
	if err != nil || n < 1 || n > state.MaxNodes {
		n = 1
	}
	return fmt.Sprintf("%s.%d", NodeNetwork, n)
}
