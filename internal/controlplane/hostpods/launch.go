package hostpods

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/example/mysdk/internal/cluster/state"
)

// launch is how a container's program is started.
type launch struct {
	program   state.Program
	flagProbe *flagProbe
	args      []string
	env       []string // all of it
	dir       string
	mounts    map[string]string // paths in the container, and where they are here
	ports     *ports
	added     []string // of args, those that we have added
	missing   error    // the image has no such command
	leader    bool     // its leader election is left out: only one of its owner may run
	certs     string   // where compiledCerts is to lead; empty where the program does without
}

// waiting is why a container does not run yet, as its status says it.
type waiting struct{ reason, message string }

// Error implements error.
func (w waiting) Error() string { return w.message }

func (c *container) launchOf(ctx context.Context, program state.Program) (*launch, error) {
	pod := c.pod.latest()
	if shell := shellOf(&c.spec); shell != "" {
		return nil, waiting{"CreateContainerError", fmt.Sprintf("the container's command is a script for %s, but %s stands in for the image, not its shell: "+
			"name the program and its arguments in command and args", shell, program.Path)}
	}
	if err := c.pod.volumes.fill(ctx, pod); err != nil {
		return nil, waiting{"ContainerCreating", err.Error()}
	}
	vars, err := sources{c.pod.client, pod}.variables(ctx, &c.spec)
	if err != nil {
		return nil, waiting{"CreateContainerConfigError", err.Error()}
	}
	root, mounts, err := c.pod.volumes.mount(&c.spec, vars)
	if err != nil {
		return nil, waiting{"CreateContainerConfigError", err.Error()}
	}
	l := &launch{program: program, dir: root, mounts: mounts, ports: newPorts(&c.spec, freeLoopbackPort)}
	if l.flagProbe, err = c.pod.library.of(program); err != nil {
		return nil, waiting{"ErrImagePull", fmt.Sprintf("read the program of image %s: %v", c.spec.Image, err)}
	}
	// A program that is told of the path is told where it is on this machine.
	told := func(word string) bool { return strings.Contains(word, compiledCerts) }
	if l.flagProbe.knows(compiledCerts) && !slices.ContainsFunc(slices.Concat(c.spec.Command, c.spec.Args), told) {
		l.certs = mounts[compiledCerts]
	}
	l.missing = l.findCommand(&c.spec, vars)
	l.commandLine(&c.spec, vars, mounts)
	file := filepath.Join(c.pod.dir, "kubeconfig-"+c.spec.Name)
	env := cleanEnvironment(c.pod.getenv, l.dir)
	env["KUBECONFIG"], env["HOSTNAME"] = file, hostname(pod)
	for name, value := range vars { // which go over ours
		env[name] = l.ports.value(name, relocate(value, mounts))
	}
	l.env = environ(env)
	if l.ports.err != nil {
		return nil, waiting{"CreateContainerError", l.ports.err.Error()}
	}
	l.ports.frozen = true // what a probe's command names is where the process is
	if err := c.pod.access.kubeconfig(file, pod, &c.spec, mounts); err != nil {
		return nil, waiting{"CreateContainerError", fmt.Sprintf("write the kubeconfig: %v", err)}
	}
	return l, nil
}

// hostname is the name that a pod has for itself, as a kubelet makes it.
func hostname(pod *corev1.Pod) string {
	name := cmp.Or(pod.Spec.Hostname, pod.Name)
	return strings.TrimRight(name[:min(len(name), validation.DNS1123LabelMaxLength)], "-.")
}

// shellOf is the shell that a container's command calls with a script.
func shellOf(c *corev1.Container) string {
	if len(c.Command) == 0 || !slices.Contains(slices.Concat(c.Command, c.Args), "-c") {
		return ""
	}
	if name := path.Base(c.Command[0]); slices.Contains([]string{"sh", "bash", "ash", "dash"}, name) {
		return name
	}
	return ""
}

// imagePath is the PATH that images have where nothing else is set.
const imagePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// findCommand fails as a container runtime does where the image lacks the
// program that the container's command names.
func (l *launch) findCommand(c *corev1.Container, vars map[string]string) error {
	if len(c.Command) == 0 || len(l.program.Commands) == 0 {
		return nil
	}
	known := func(file string) bool {
		return slices.Contains(l.program.Commands, file) || slices.Contains(l.program.Commands, path.Base(file))
	}
	has := "; the image has " + strings.Join(l.program.Commands, " and ")
	word := expansion.Expand(c.Command[0], expansion.MappingFuncFor(vars))
	if strings.Contains(word, "/") {
		if !path.IsAbs(word) {
			word = path.Join("/", c.WorkingDir, word)
		}
		if !known(path.Clean(word)) {
			return fmt.Errorf("exec: %q: no such file or directory%s", word, has)
		}
		return nil
	}
	search := func(dir string) bool { return known(path.Join(dir, word)) }
	if !slices.ContainsFunc(strings.Split(cmp.Or(vars["PATH"], imagePath), ":"), search) {
		return fmt.Errorf("exec: %q: executable file not found in $PATH%s", word, has)
	}
	return nil
}

// commandLine makes the arguments: those of the spec, else of the image, with
// variables put in, and paths and addresses as they are on this machine.
func (l *launch) commandLine(c *corev1.Container, vars, mounts map[string]string) {
	args := l.program.Args
	if len(c.Command) > 0 {
		args = c.Command[1:]
	}
	args = slices.Concat(args, c.Args)
	for i, arg := range args {
		args[i] = relocate(expansion.Expand(arg, expansion.MappingFuncFor(vars)), mounts)
	}
	if l.flagProbe.electsNobody() {
		if kept := withoutElection(args); len(kept) < len(args) {
			args, l.leader = kept, true
		}
	}
	args = l.ports.args(args)
	l.added = l.ports.defaults(c, args, l.flagProbe.knows)
	// Behind the names of commands, and before anything else that is no flag,
	// which would end the flags.
	command := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	at := slices.IndexFunc(args, func(a string) bool { return !command.MatchString(a) })
	if at < 0 {
		at = len(args)
	}
	l.args = slices.Insert(args, at, l.added...)
}

// apiAccess is how a program reaches the API server.
type apiAccess struct {
	server string // URL
	ca     []byte // PEM
}

// kubeconfig writes the container's kubeconfig to file. It stands in for the
// variables and files that are found inside a container only. The user is the
// pod's service account by its token file, or nobody where the pod has said
// that it wants no token.
func (a apiAccess) kubeconfig(file string, pod *corev1.Pod, c *corev1.Container, mounts map[string]string) error {
	const name = "pod"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: a.server, CertificateAuthorityData: a.ca}
	config.AuthInfos[name] = clientcmdapi.NewAuthInfo()
	if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
		config.AuthInfos[name].TokenFile = filepath.Join(mounts[tokenPath], "token")
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: pod.Namespace}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, file)
}
