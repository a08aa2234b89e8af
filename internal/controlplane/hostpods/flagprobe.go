package hostpods

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"

	"github.com/example/mysdk/internal/cluster/state"
)

// flagProbe are what is known of a program: which of the flags that we would add
// it has, and what of a pod it cannot do without.
type flagProbe struct {
	mu      sync.Mutex
	known   map[string]bool // by name, and compiledCerts
	refused map[string]bool // flags that it ended because of
	noLease bool            // its leader election wants a file that only containers have
}

// library remembers the flagProbe of programs by path, size and time.
type library struct {
	mu    sync.Mutex
	books map[string]*flagProbe
}

// of looks into the program the first time. The text of a flag's name in it is
// a good sign that it has the flag; where it has not, learn finds out.
func (l *library) of(p state.Program) (*flagProbe, error) {
	info, err := os.Stat(p.Path)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(p.Path, " ", info.Size(), " ", info.ModTime().UnixNano())
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := l.books[key]; ok {
		return h, nil
	}
	data, err := os.ReadFile(p.Path)
	if err != nil {
		return nil, err
	}
	h := &flagProbe{known: map[string]bool{}, refused: map[string]bool{}}
	for _, text := range []string{ // the flags are those of ports.defaults
		"health-probe-bind-address", "webhook-port", "webhook-host", "metrics-bind-address", compiledCerts,
	} {
		h.known[text] = bytes.Contains(data, []byte(text))
	}
	if l.books == nil {
		l.books = map[string]*flagProbe{}
	}
	l.books[key] = h
	return h, nil
}

func (h *flagProbe) knows(flag string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[flag] && !h.refused[flag]
}

// electsNobody reports whether leader election has to be left out.
func (h *flagProbe) electsNobody() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.noLease
}

// learn reads the last words of a program that failed, and reports whether
// another start will do better.
func (h *flagProbe) learn(words string, added []string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	// The words of the packages flag and pflag, and of controller-runtime.
	unknown := regexp.MustCompile(`(?:flag provided but not defined: -|unknown flag: --)([\w-]+)`)
	for _, m := range unknown.FindAllStringSubmatch(words, -1) {
		if hasFlag(added, m[1]) && !h.refused[m[1]] {
			h.refused[m[1]] = true
			return true
		}
	}
	wantsPod := regexp.MustCompile(`unable to find leader election namespace: not running in-cluster`)
	if !h.noLease && wantsPod.MatchString(words) {
		h.noLease = true
		return true
	}
	return false
}

func withoutElection(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return slices.Contains([]string{"leader-elect", "enable-leader-election"}, flagName(a))
	})
}
