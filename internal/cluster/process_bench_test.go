package cluster

import (
	"fmt"
	"testing"
)

// BenchmarkProcessReady is the time from a Deployment to its Ready pod, which a
// program serves.
func BenchmarkProcessReady(b *testing.B) {
	c := newHosted(b)
	c.namespace = "default"
	for n := 0; b.Loop(); n++ {
		name := fmt.Sprint("bench-", n)
		c.post(c.apps("deployments"), operator(name, nil))
		c.awaitPod(name, isReady)
	}
}
