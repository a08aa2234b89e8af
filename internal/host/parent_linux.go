package host

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// start starts x; the function that it returns must be called once x has
// ended. For c.DieWithParent the kernel kills x when the thread that started it
// ends, not the whole process. So a thread is kept for it until then.
func start(x *exec.Cmd, c Cmd) (func(), error) {
	if !c.DieWithParent || c.Detach {
		return func() {}, x.Start()
	}
	if x.SysProcAttr == nil {
		x.SysProcAttr = &syscall.SysProcAttr{}
	}
	x.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := x.Start()
		started <- err
		if err == nil {
			<-ended
		}
	}()
	return sync.OnceFunc(func() { close(ended) }), <-started
}
