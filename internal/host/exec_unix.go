//go:build !windows

package host

import (
	"errors"
	"os/exec"
	signals "os/signal"
	"syscall"
)

func setGroup(x *exec.Cmd, c Cmd) {
	if c.Detach || c.Group {
		x.SysProcAttr = &syscall.SysProcAttr{Setsid: c.Detach, Setpgid: c.Group && !c.Detach}
	}
}

func interrupt(x *exec.Cmd) error { return signal(x, syscall.SIGTERM) }

func kill(x *exec.Cmd) error { return signal(x, syscall.SIGKILL) }

// signal reaches the whole of a process's own group: a script's children are to
// end with it. A process that has been waited for may have lost its number to
// another.
func signal(x *exec.Cmd, s syscall.Signal) error {
	if leads(x) {
		if err := x.Process.Signal(syscall.Signal(0)); err != nil {
			return err
		}
		if syscall.Kill(-x.Process.Pid, s) == nil {
			return nil
		}
	}
	return x.Process.Signal(s)
}

// sweep kills what a process that has ended left of its group. The number
// stays the group's for as long as there is somebody in it.
func sweep(x *exec.Cmd) {
	if leads(x) {
		_ = syscall.Kill(-x.Process.Pid, syscall.SIGKILL) // mostly nobody is left
	}
}

// leads reports whether x has a group of its own, and no session.
func leads(x *exec.Cmd) bool { return x.SysProcAttr != nil && x.SysProcAttr.Setpgid }

// BrokenPipe reports whether err is the end of a process that wrote to a pipe
// which nobody reads any more.
func BrokenPipe(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGPIPE
}

// KillGroup kills the process pid and the group that it leads, if it does.
func KillGroup(pid int) error {
	if syscall.Kill(-pid, syscall.SIGKILL) == nil {
		return nil
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// IgnoreTerminalStops has reads of a terminal fail while this process is in the
// background, where they would stop it otherwise.
func IgnoreTerminalStops() { signals.Ignore(syscall.SIGTTIN) }
