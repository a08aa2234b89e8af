package host_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/example/mysdk/internal/host"
)

// TestDieWithParent kills a parent, which this test plays itself, with SIGKILL.
func TestDieWithParent(t *testing.T) {
	if os.Getenv("HOST_TEST_PARENT") != "" {
		playParent(t)
		return
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDieWithParent$")
	parent.Env = append(os.Environ(), "HOST_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent printed %q", line)
	}
	if !alive(child) {
		t.Fatal("the child does not run")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed: that is the point
	awaitEnd(t, child)
}

func playParent(t *testing.T) {
	p, err := host.OSExec{}.Start(t.Context(), host.Cmd{Name: "sleep", Args: []string{"60"}, DieWithParent: true, Group: true})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(p.Pid())
	_ = p.Wait() // never comes: this process is killed first
}

// alive reports whether pid runs; a zombie does not.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// TestDieWithParentOutlives: the thread that starts a process is kept for as
// long as the process runs, so that it is not killed early; and Wait reports how
// it ended.
func TestDieWithParentOutlives(t *testing.T) {
	p, err := host.OSExec{}.Start(t.Context(), host.Cmd{Name: "sh", Args: []string{"-c", "sleep 0.2; exit 3"}, DieWithParent: true})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Wait()
	var exit interface{ ExitCode() int }
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended with %v, want exit code 3", err)
	}
	if _, err := (host.OSExec{}).Start(t.Context(), host.Cmd{Name: "/no/such/program", DieWithParent: true}); err == nil {
		t.Error("a program that does not exist was started")
	}
}
