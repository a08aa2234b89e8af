package host

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

func setGroup(x *exec.Cmd, c Cmd) {
	if c.Detach || c.Group {
		x.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	}
	if c.Detach {
		x.SysProcAttr.CreationFlags |= windows.CREATE_NO_WINDOW // or it ends with the window of the console
	}
}

// interrupt kills: Windows has no signal that asks another process to stop.
func interrupt(x *exec.Cmd) error { return x.Process.Kill() }

func kill(x *exec.Cmd) error { return x.Process.Kill() }

// sweep does nothing: Windows does not report who is left of a group.
func sweep(*exec.Cmd) {}

// BrokenPipe is false: on Windows a broken pipe is an error of the program's own.
func BrokenPipe(error) bool { return false }

// KillGroup kills the process pid.
func KillGroup(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// IgnoreTerminalStops does nothing: there is no background to read from.
func IgnoreTerminalStops() {}
