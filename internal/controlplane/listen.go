package controlplane

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The API server's port is one of these. They lie below the ports that systems
// give to outgoing connections, one of which could otherwise hold a cluster's port
// between two starts.
const (
	firstPort = 20000
	numPorts  = 10000
)

// listen opens the API server's listener on loopback: on kept, the port of the last
// start, and where that is taken on any. A new cluster must not come up where another
// one was: kubectl remembers for hours which kinds the server at an address has.
func listen(kept int) (net.Listener, int, error) {
	if kept != 0 {
		if l, err := listenLoopback(kept); err == nil {
			return l, kept, nil
		}
	}
	const tries = 100
	first := rand.IntN(numPorts) //nolint:gosec // a port needs no secrecy
	var err error
	for i := range tries {
		port := firstPort + (first+i)%numPorts
		var l net.Listener
		if l, err = listenLoopback(port); err == nil {
			return l, port, nil
		}
	}
	return nil, 0, fmt.Errorf("find a free port among %d from %d on: %w", tries, firstPort+first, err)
}

func listenLoopback(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
