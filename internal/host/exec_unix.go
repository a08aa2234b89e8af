//go:build !windows

package host

import (
	"os"
	"os/exec"
	"syscall"
)

func setGroup(x *exec.Cmd, c Cmd) {
	if c.Detach || c.Group {
		x.SysProcAttr = &syscall.SysProcAttr{Setsid: c.Detach, Setpgid: c.Group && !c.Detach}
	}
}

func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
