package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/cluster/state"
)

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
		{"recording", recordsRequests}, {"kubectl", kubectlOfTheBinary}, {"aggregated kinds", aggregatedKindsAreSeen},
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

func listensOnLoopbackOnly(t *testing.T, c *hosted) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	info := c.cluster
	own := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", info.PID))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil {
			own[target] = true
		}
	}
	const listening, loopback4 = "0A", "0100007F" // as /proc/net/tcp writes them
	var found []string
	for _, file := range []string{"tcp", "tcp6", "udp", "udp6"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", info.PID, file))
		if err != nil {
			continue // no IPv6 here
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) < 10 || !own["socket:["+f[9]+"]"] || (f[3] != listening && strings.HasPrefix(file, "tcp")) {
				continue
			}
			found = append(found, file+" "+f[1])
			if !strings.HasPrefix(f[1], loopback4+":") {
				t.Errorf("listens on %s %s", file, f[1])
			}
		}
	}
	if len(found) != 1 {
		t.Errorf("listens on %v, want the API server's port alone", found)
	}
}

func reportsItsRealVersion(t *testing.T, c *hosted) {
	h, info := c.host, c.cluster
	version, ok := c.get("/version").at("gitVersion").(string)
	if !ok || !regexp.MustCompile(`^v1\.\d+\.\d+$`).MatchString(version) || version != info.Version {
		t.Errorf("the server says %q, its state %q", version, info.Version)
	}
	var out bytes.Buffer
	h.IO.Out, h.IO.Err = &out, &out
	if err := Kubectl(t.Context(), h, "one", []string{"version"}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, line := range []string{"Client Version: " + version, "Server Version: " + version} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("kubectl version lacks %q:\n%s", line, &out)
		}
	}
}

func kubectlOfTheBinary(t *testing.T, c *hosted) {
	h, info := c.host, c.cluster
	c.post(deployments, deployment("web", 1))
	c.await(deployments+"/web", is("status.readyReplicas", 1.0))
	tests := map[string]struct {
		args []string
		want string
		code int
	}{
		"get":                   {[]string{"get", "deployments"}, "web    1/1", 0},
		"context":               {[]string{"config", "current-context"}, "mysdk-one", 0},
		"rights":                {[]string{"auth", "can-i", "*", "*"}, "yes", 0},
		"not there":             {[]string{"get", "pod", "none"}, "NotFound", 1},
		"logs of a simulated":   {[]string{"logs", "deployment/web"}, "is simulated", 0},
		"exec in a simulated":   {[]string{"exec", "deployment/web", "--", "ls"}, "is simulated", 0},
		"unknown command":       {[]string{"gett"}, "unknown command", 1},
		"version of the client": {[]string{"version", "--client"}, info.Version, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			x := h
			x.IO.Out, x.IO.Err = &out, &out
			err := Kubectl(t.Context(), x, "one", tc.args)
			var exit *ExitError
			if (tc.code == 0) != (err == nil) || tc.code != 0 && (!errors.As(err, &exit) || exit.Code != tc.code) {
				t.Errorf("Kubectl() = %v, want exit code %d", err, tc.code)
			}
			if !strings.Contains(out.String(), tc.want) {
				t.Errorf("output lacks %q:\n%s", tc.want, &out)
			}
		})
	}
}

// aggregatedKindsAreSeen sees it by kubectl's kinds, which are forgotten then, too.
func aggregatedKindsAreSeen(t *testing.T, c *hosted) {
	const apis = "/apis/apiregistration.k8s.io/v1/apiservices"
	known := state.Layout{Dir: c.cluster.StateDir}.KubectlCache()
	if err := os.MkdirAll(known, 0o700); err != nil {
		t.Fatal(err)
	}
	c.post(apis, object{"metadata": object{"name": "v1.fruit.example.com"}, "spec": object{
		"group": "fruit.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "insecureSkipTLSVerify": true,
		"service": object{"namespace": "default", "name": "none"},
	}})
	defer c.del(apis + "/v1.fruit.example.com")
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(pollInterval) {
		if _, err := os.Stat(known); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody looked for new kinds")
		}
	}
}

func logAndStatus(t *testing.T, c *hosted) {
	h, info := c.host, c.cluster
	var log bytes.Buffer
	if err := Logs(t.Context(), h, "one", false, &log); err != nil || !strings.Contains(log.String(), "cluster up after") {
		t.Errorf("Logs() = %v:\n%s", err, &log)
	}
	now, err := Status(t.Context(), h, "one")
	if err != nil || now.PID != info.PID || !now.Ready || now.Problem != "" || now.Nodes != 1 {
		t.Errorf("Status() = %+v, %v", now, err)
	}
	if runtime.GOOS == "linux" && now.Memory < 50<<20 {
		t.Errorf("memory = %d bytes", now.Memory)
	}
}
