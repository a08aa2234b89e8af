package host

import (
	"os"
	"os/exec"
	"syscall"
)

func setGroup(x *exec.Cmd, c Cmd) {
	if c.Detach || c.Group {
		x.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	}
}

// interrupt kills: Windows has no signal that asks another process to stop.
func interrupt(p *os.Process) error { return p.Kill() }
