package hostpods

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// loopback is where everything that a program serves is found.
const loopback = "127.0.0.1"

// ports say where on this machine what a container thinks it listens at really
// is. A container has an address of its own; a process shares this machine's
// with all others, so its addresses are moved to free ports of loopback.
type ports struct {
	host     map[int]int  // port of the container to port on loopback
	declared map[int]bool // containerPorts of protocol TCP
	free     func() (int, error)
	err      error // the first of free
	frozen   bool  // no port is moved any more
}

func newPorts(c *corev1.Container, free func() (int, error)) *ports {
	p := &ports{host: map[int]int{}, declared: map[int]bool{}, free: free}
	for _, port := range c.Ports {
		if port.Protocol == "" || port.Protocol == corev1.ProtocolTCP {
			p.declared[int(port.ContainerPort)] = true
		}
	}
	return p
}

// freeLoopbackPort is a port of loopback that nobody listens at. Another process may
// be faster to take it; the container then starts again, with another one.
func freeLoopbackPort() (int, error) {
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// move returns the port on loopback that stands for a port of the container.
func (p *ports) move(port int) int {
	if to, ok := p.host[port]; ok || p.frozen {
		return cmp.Or(to, port)
	}
	to, err := p.free()
	if err != nil && p.err == nil {
		p.err = err
	}
	p.host[port] = to
	return to
}

// at is where a port of the container is found: itself where nothing
// could be moved.
func (p *ports) at(port int) int { return cmp.Or(p.host[port], port) }

// fixed are the declared ports that could not be moved, in their order.
func (p *ports) fixed() []int {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p.declared)), func(port int) bool {
		_, moved := p.host[port]
		return moved
	})
}

func (p *ports) args(args []string) []string {
	moved := make([]string, len(args))
	before := ""
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "-") && joined:
			moved[i] = name + "=" + p.value(name, value)
		case strings.HasPrefix(before, "-") && !strings.Contains(before, "="):
			moved[i] = p.value(before, arg)
		default:
			moved[i] = arg
		}
		before = arg
	}
	return moved
}

// value moves the address that a flag or a variable holds, where it holds one.
// An address without a host is one to listen at. One of this host may also be
// one to call, so its name or the container's ports have to say more.
func (p *ports) value(name, value string) string {
	name = strings.ToLower(name)
	if port, err := strconv.Atoi(value); err == nil {
		if p.declared[port] && strings.Contains(name, "port") {
			return strconv.Itoa(p.move(port))
		}
		return value
	}
	host, port, ok := splitAddress(value)
	if !ok {
		return value
	}
	listens := regexp.MustCompile(`bind|listen|probe|metrics`)
	here := slices.Contains([]string{loopback, "localhost", "::1"}, host)
	everywhere := slices.Contains([]string{"", "*", "0.0.0.0", "::"}, host)
	switch {
	case !everywhere && !here, here && !p.declared[port] && !listens.MatchString(name):
		return value
	case port == 0:
		return loopback + ":0"
	}
	return net.JoinHostPort(loopback, strconv.Itoa(p.move(port)))
}

func splitAddress(s string) (host string, port int, ok bool) {
	host, digits, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, false
	}
	port, err = strconv.Atoi(digits)
	return host, port, err == nil && port >= 0 && port <= 65535
}

// defaults gives the flags by which controller-runtime's scaffolds set an
// address, where the program knows them and the command line does not use
// them: their defaults listen at every address of this machine.
func (p *ports) defaults(c *corev1.Container, args []string, knows func(flag string) bool) []string {
	var added []string
	add := func(flag string, value func() string) {
		if knows(flag) && !hasFlag(args, flag) {
			added = append(added, "--"+flag+"="+value())
		}
	}
	add("health-probe-bind-address", func() string { return net.JoinHostPort(loopback, strconv.Itoa(p.move(healthPort))) })
	add("webhook-port", func() string { return strconv.Itoa(p.move(webhookPort)) })
	add("webhook-host", func() string { return loopback }) // a port alone is one of every address
	add("metrics-bind-address", func() string {
		for _, port := range c.Ports {
			if strings.Contains(port.Name, "metrics") {
				return net.JoinHostPort(loopback, strconv.Itoa(p.move(int(port.ContainerPort))))
			}
		}
		return "0" // off
	})
	return added
}

// Ports that controller-runtime's scaffolds listen at by themselves.
const (
	healthPort  = 8081
	webhookPort = 9443
)

func hasFlag(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return flagName(a) == name })
}

// flagName is the name of the flag that an argument sets; "" for none.
func flagName(arg string) string {
	arg, _, _ = strings.Cut(arg, "=")
	if !strings.HasPrefix(arg, "-") {
		return ""
	}
	return strings.TrimLeft(arg, "-")
}
