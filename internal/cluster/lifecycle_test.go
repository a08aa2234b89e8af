package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/example/mysdk/internal/clierr"
	"github.com/example/mysdk/internal/cluster/state"
	"github.com/example/mysdk/internal/host"
	"github.com/example/mysdk/internal/host/hosttest"
)

// TestStopAndStart: data, port and keys stay, and deletions go on; a port that
// is taken is given up, and damaged data fail the start with the reason.
func TestStopAndStart(t *testing.T) {
	h := realHost(t)
	fsync := true
	first, c := start(t, h, Options{Name: "one", Nodes: 2, FSync: &fsync})
	if first.State != Running || !first.Ready || first.AlreadyRunning || first.PID == 0 || len(first.Stages) == 0 {
		t.Errorf("Start() = %+v", first)
	}
	c.post(configMaps, configMap("kept"))
	const going = "/api/v1/namespaces/going"
	c.post("/api/v1/namespaces", object{"metadata": object{"name": "going"}})
	c.post(going+"/configmaps", object{"metadata": object{"name": "held", "finalizers": []string{"example.com/hold"}}})
	c.del(going)
	c.post(deployments, deployment("old", 2))
	c.await(deployments+"/old", is("status.readyReplicas", 2.0))
	// A context's namespace is the user's choice.
	own := strings.Replace(readAll(t, first.StateDir)[first.Kubeconfig], "namespace: default", "namespace: shop", 1)
	if err := os.WriteFile(first.Kubeconfig, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	before := readAll(t, first.StateDir)

	again, err := Start(t.Context(), h, Options{Name: "one"})
	if err != nil || !again.AlreadyRunning || again.PID != first.PID {
		t.Errorf("second Start() = %+v, %v, want the one that runs", again, err)
	}
	for want := range 2 {
		stopped, err := Stop(t.Context(), h, "one")
		if err != nil || stopped != (want == 0) {
			t.Errorf("Stop() no. %d = %v, %v", want+1, stopped, err)
		}
	}
	if now, err := Status(t.Context(), h, "one"); err != nil || now.State != Stopped || now.PID != 0 || now.Server != first.Server {
		t.Errorf("Status() after the stop = %+v, %v", now, err)
	}
	if _, err := os.Stat(filepath.Join(first.StateDir, "run")); !os.IsNotExist(err) {
		t.Errorf("the sockets are still there: %v", err)
	}
	second, _ := start(t, h, Options{Name: "one"})
	if second.Nodes != 2 || !second.FSync {
		t.Errorf("started with %d nodes, had 2; with fsync: %t", second.Nodes, second.FSync)
	}
	if second.Server != first.Server || second.PID == first.PID {
		t.Errorf("started at %s as %d, was %s as %d", second.Server, second.PID, first.Server, first.PID)
	}
	for file, content := range readAll(t, second.StateDir) {
		if before[file] != content {
			t.Errorf("%s has changed", file)
		}
	}
	// The client of the first start still has good credentials.
	if got := c.get(configMaps + "/kept").at("data.k"); got != "v" {
		t.Errorf("the data are %v", got)
	}
	// What was being deleted goes on being deleted.
	c.do(http.MethodPatch, going+"/configmaps/held", object{"metadata": object{"finalizers": nil}})
	c.await(going, nil)
	testNewAddresses(t, c)
	testPortIsTaken(t, h, second)
	testDamagedData(t, h, second)
}

// testNewAddresses: pods get addresses that none from before the start has.
func testNewAddresses(t *testing.T, c *client) {
	t.Helper()
	c.post(deployments, deployment("new", 2))
	c.await(deployments+"/new", is("status.readyReplicas", 2.0))
	seen := map[string]bool{}
	for _, item := range c.get("/api/v1/namespaces/default/pods")["items"].([]any) {
		seen[fmt.Sprint(object(item.(map[string]any)).at("status.podIP"))] = true
	}
	if len(seen) != 4 {
		t.Errorf("four pods have the addresses %v", seen)
	}
}

func testPortIsTaken(t *testing.T, h host.Host, first *Info) {
	t.Helper()
	if _, err := Stop(t.Context(), h, "one"); err != nil {
		t.Fatal(err)
	}
	blocker, err := new(net.ListenConfig).Listen(t.Context(), "tcp", strings.TrimPrefix(first.Server, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blocker.Close() })
	second, c := start(t, h, Options{Name: "one", Nodes: 1})
	if second.Server == first.Server {
		t.Errorf("started at %s, which is taken", second.Server)
	}
	if nodes := c.get("/api/v1/nodes")["items"].([]any); len(nodes) != 1 {
		t.Errorf("there are %d nodes, want 1", len(nodes))
	}
}

func testDamagedData(t *testing.T, h host.Host, info *Info) {
	t.Helper()
	if _, err := Stop(t.Context(), h, "one"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(info.StateDir, "etcd", "member", "snap", "db"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), h, Options{Name: "one"})
	if err == nil || !strings.Contains(err.Error(), "etcd") || !strings.Contains(clierr.HintOf(err), "start --fresh") {
		t.Errorf("Start() = %v, hint %q; want an error that names etcd", err, clierr.HintOf(err))
	}
	if now, err := Status(t.Context(), h, "one"); err != nil || now.State == Running {
		t.Errorf("Status() = %+v, %v", now, err)
	}
}

// readAll returns the credentials in a cluster's directory.
func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "pki", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("pki holds %v, %v", files, err)
	}
	content := map[string]string{}
	for _, f := range append(files, filepath.Join(dir, "kubeconfig")) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		content[f] = string(data)
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
			t.Errorf("mode of %s = %o, want 600", f, mode)
		}
	}
	return content
}

// writeOn makes one ConfigMap after the other until the server is killed. The last
// that it acknowledged is the one at risk.
func writeOn(c *client) (acknowledged <-chan int) {
	out := make(chan int, 1)
	go func() {
		n := 0
		for {
			_, code, err := c.try(http.MethodPost, configMaps, configMap(fmt.Sprint("n-", n)))
			if err != nil || code != http.StatusCreated {
				out <- n
				return
			}
			n++
		}
	}()
	c.await(configMaps+"/n-50", is("data.k", "v"))
	return out
}

func awaitUnlocked(t *testing.T, h host.Host, name string) {
	t.Helper()
	l, err := layoutOf(h, name)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(testTimeout)
	for {
		locked, err := l.Locked()
		if err != nil {
			t.Fatal(err)
		}
		if !locked {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server of cluster %s does not end", name)
		}
		time.Sleep(pollInterval)
	}
}

// processesIn returns the processes whose command line names dir.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	var found []string
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range lines {
		// Processes come and go; zombies have an empty command line.
		if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte(dir)) {
			found = append(found, f)
		}
	}
	return found
}

// testSideBySide starts a second cluster beside the first one.
func testSideBySide(t *testing.T, h host.Host, one *Info, c1 *client) {
	t.Helper()
	two, c2 := start(t, h, Options{Name: "two", Nodes: 3})
	if one.Server == two.Server || one.PID == two.PID {
		t.Errorf("both run at %s as %d", one.Server, one.PID)
	}
	if _, code, err := c2.try(http.MethodGet, configMaps+"/old", nil); code != http.StatusNotFound {
		t.Errorf("the other cluster answers %d, %v", code, err)
	}
	if nodes, ok := c2.get("/api/v1/nodes")["items"].([]any); !ok || len(nodes) != 3 {
		t.Errorf("the second cluster has %d nodes, want 3", len(nodes))
	}
	list, err := List(t.Context(), h)
	if err != nil || len(list) != 2 || !list[0].Ready || !list[1].Ready {
		t.Errorf("List() = %+v, %v", list, err)
	}
	if _, err := Stop(t.Context(), h, "two"); err != nil {
		t.Fatal(err)
	}
	c1.get(configMaps + "/old")
}

func TestFreshAndReset(t *testing.T) {
	hosted := newHosted(t)
	h, first, c := hosted.host, hosted.cluster, hosted.client
	if list, err := hosted.control().Programs(t.Context()); err != nil || len(list) != 1 || list[0].Image != operatorImage {
		t.Errorf("Programs() = %+v, %v", list, err)
	}
	c.post(configMaps, configMap("old"))
	testSideBySide(t, h, first, c)
	beside := func() (runs, programs string) {
		t.Helper()
		dir, err := h.StateDir()
		if err != nil {
			t.Fatal(err)
		}
		l, err := layoutOf(h, "one")
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Read()
		if err != nil || s.UID == "" {
			t.Fatalf("the cluster has no UID: %v", err)
		}
		runs, programs = state.Runs(dir, s.UID), state.HostPrograms(dir, "one")
		if err := errors.Join(os.MkdirAll(runs, 0o755), os.MkdirAll(programs, 0o755)); err != nil {
			t.Fatal(err)
		}
		return runs, programs
	}
	gone := func(runs, programs string) {
		t.Helper()
		for _, dir := range []string{runs, programs} {
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		}
	}
	runs, programs := beside()
	file, err := MergeKubeconfig(h, "one")
	if err != nil {
		t.Fatal(err)
	}
	fresh, c := start(t, h, Options{Name: "one", Fresh: true})
	if fresh.AlreadyRunning {
		t.Fatalf("fresh Start() = %+v", fresh)
	}
	if data, err := os.ReadFile(file); err != nil || decode(t, data).Clusters[0].Cluster["server"] != fresh.Server {
		t.Errorf("the user's kubeconfig leads elsewhere than to %s: %v\n%s", fresh.Server, err, data)
	}
	gone(runs, programs)
	runs, programs = beside()
	if _, code, err := c.try(http.MethodGet, configMaps+"/old", nil); code != http.StatusNotFound {
		t.Errorf("old data: %d, %v", code, err)
	}
	if list, err := hosted.control().Programs(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("Programs() of an emptied cluster = %+v, %v", list, err)
	}
	if done, err := Reset(t.Context(), h, "one"); !done || err != nil {
		t.Errorf("Reset() = %v, %v", done, err)
	}
	gone(runs, programs)
	if _, err := os.Stat(first.StateDir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", first.StateDir, err)
	}
}

// TestStartsAtOnceShareOneServer starts it in a directory whose path is too long
// for sockets.
func TestStartsAtOnceShareOneServer(t *testing.T) {
	h := realHost(t)
	long := filepath.Join(h.Dir, strings.Repeat("long-", 25))
	getenv := h.Getenv
	h.Getenv = func(name string) string {
		if name == "MYSDK_STATE_DIR" {
			return long
		}
		return getenv(name)
	}
	type result struct {
		info *Info
		err  error
	}
	results := make(chan result)
	for range 3 {
		go func() {
			info, err := Start(t.Context(), h, Options{Name: "one"})
			results <- result{info, err}
		}()
	}
	pids, mine := map[int]bool{}, 0
	for range 3 {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
			continue
		}
		pids[r.info.PID] = true
		if !r.info.AlreadyRunning {
			mine++
		}
	}
	if len(pids) != 1 || mine > 1 {
		t.Errorf("servers %v, of which %d say that they are new", pids, mine)
	}
	// And one log: nobody put it aside for that of a server that had to go.
	l, err := layoutOf(h, "one")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(l.OldLog()); !os.IsNotExist(err) {
		t.Errorf("a log was put aside: %s, %v", data, err)
	}
	testSocketsElsewhere(t, h, l, long)
}

func testSocketsElsewhere(t *testing.T, h host.Host, l state.Layout, long string) {
	t.Helper()
	s, err := l.Read()
	if err != nil || !strings.HasPrefix(l.Dir, long) || strings.HasPrefix(s.RuntimeDir, long) {
		t.Errorf("the cluster is in %s, and its sockets in %s, %v", l.Dir, s.RuntimeDir, err)
	}
	if stopped, err := Stop(t.Context(), h, "one"); !stopped || err != nil {
		t.Errorf("Stop() = %v, %v", stopped, err)
	}
	if _, err := os.Stat(s.RuntimeDir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", s.RuntimeDir, err)
	}
}

// parentEnv makes this test binary the parent of a cluster and nothing else.
const parentEnv = "MYSDK_TEST_PARENT"

func TestServerDiesWithItsParent(t *testing.T) {
	h := realHost(t)
	if os.Getenv(parentEnv) != "" {
		h.Getenv = os.Getenv
		info, err := Start(t.Context(), h, Options{Name: "one", DieWithParent: true})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\nstarted %d\n", info.PID)
		select {} // until it is killed
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsParent$")
	parent.Env = append(h.Environ(), parentEnv+"=1", "TMPDIR="+t.TempDir()) // what it leaves when it is killed goes with the test
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "started ") {
		t.Log(lines.Text())
	}
	info, err := Status(t.Context(), h, "one")
	if err != nil || !info.Ready || !info.Tied {
		t.Errorf("Status() = %+v, %v", info, err)
	}
	hosttest.KillProcess(t, parent.Process.Pid)
	var exit *exec.ExitError
	if err := parent.Wait(); !errors.As(err, &exit) {
		t.Errorf("the parent ended with %v", err)
	}
	awaitUnlocked(t, h, "one")
	if now, err := Status(t.Context(), h, "one"); err != nil || now.State != Stopped {
		t.Errorf("Status() = %+v, %v, want a clean stop", now, err)
	}
}

// The server run by hand, as a program of its own in the foreground.
func TestServerByHand(t *testing.T) {
	h := realHost(t)
	l, err := layoutOf(h, "only")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(h.Getenv(BinaryEnv), "serve", "--dir", l.Dir, "--fsync")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(pollInterval) { // or Start would start another one
		now, err := Status(t.Context(), h, "only")
		if err != nil {
			t.Fatal(err)
		}
		if now.State == Running {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill() // before its log is read
			t.Fatalf("it is %s, and ends with %v:\n%s", now.State, cmd.Wait(), &log)
		}
	}
	info, c := start(t, h, Options{Name: "only"})
	if !info.AlreadyRunning || info.PID != cmd.Process.Pid {
		t.Errorf("Start() = %+v, want the one that runs", info)
	}
	c.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip("no interrupts here:", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, &log)
	}
	if now, err := Status(t.Context(), h, "only"); err != nil || now.State != Stopped {
		t.Errorf("Status() = %+v, %v", now, err)
	}
}
