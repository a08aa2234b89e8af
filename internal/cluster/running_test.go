package cluster

import "testing"

// TestOnACluster runs everything that only needs a cluster that runs on one, each
// in a namespace of its own.
func TestOnACluster(t *testing.T) {
	c := newHosted(t)
	for _, tc := range []struct {
		name string
		test func(*testing.T, *hosted)
	}{
		// These look at the whole of the server.
		{"listens on loopback only", listensOnLoopbackOnly}, {"log and status", logAndStatus}, {"version", reportsItsRealVersion},
		{"recording", recordsRequests}, {"kubectl", kubectlOfTheBinary},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, c.on(t)) })
	}
	// A CronJob comes to its first job within a minute: until then, the others.
	later := map[string]func(*testing.T){}
	for name, test := range workloadKinds() {
		later[name] = test(t, c.inNamespace(t, name))
	}
	t.Run("beside each other", func(t *testing.T) {
		for name, test := range processes() {
			t.Run(name, func(t *testing.T) { t.Parallel(); test(t, c.inNamespace(t, name)) })
		}
		for name, test := range simulations() {
			name = "simulated-" + name
			t.Run(name, func(t *testing.T) { t.Parallel(); test(t, c.inNamespace(t, name)) })
		}
		for name, test := range workloads() {
			t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newClient(t, c.cluster)) })
		}
	})
	for name, test := range later {
		t.Run(name, test)
	}
}
