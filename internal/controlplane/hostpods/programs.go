package hostpods

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"k8s.io/kubernetes/pkg/util/parsers"

	"github.com/example/mysdk/internal/cluster/state"
)

// maxProgram bounds a request that sets a program, in bytes.
const maxProgram = 1 << 20

// programs are the programs that serve images, kept in a file.
type programs struct {
	file string

	mu      sync.Mutex
	byKey   map[string]state.Program // by what programKey makes of it
	changed chan struct{}            // closed at the next change
}

// openPrograms reads the file. One that a crash left unreadable is as good as
// none: whoever needs a program registers it before use.
func openPrograms(l state.Layout) (*programs, error) {
	p := &programs{file: l.Programs(), byKey: map[string]state.Program{}, changed: make(chan struct{})}
	data, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the programs of images: %w", err)
	}
	var list []state.Program
	if json.Unmarshal(data, &list) != nil {
		return p, nil
	}
	for _, one := range list {
		if keys := imageKeys(one.Image); len(keys) > 0 {
			p.byKey[programKey(one.Workload, keys[0])] = one
		}
	}
	return p, nil
}

// imageKeys are the names that an image is looked up by, the most exact one
// first: a digest says more than a tag. A name that cannot be parsed has none.
func imageKeys(image string) []string {
	repo, tag, digest, err := parsers.ParseImageName(image)
	if err != nil {
		return nil
	}
	var keys []string
	if digest != "" {
		keys = append(keys, repo+"@"+digest)
	}
	if tag != "" {
		keys = append(keys, repo+":"+tag)
	}
	return keys
}

// programKey is what a program is kept under: the image, and whose pods it is
// for.
func programKey(workload, image string) string { return workload + " " + image }

// find returns what serves an image in the pods of a workload: what was said of
// them, else what was said of the image.
func (p *programs) find(image, workload string) (state.Program, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := imageKeys(image)
	for _, whose := range []string{workload, ""} {
		for _, key := range keys {
			if one, ok := p.byKey[programKey(whose, key)]; ok {
				return one, true
			}
		}
	}
	return state.Program{}, false
}

// watch returns a channel that is closed at the next change.
func (p *programs) watch() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *programs) list() []state.Program {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sorted()
}

func (p *programs) sorted() []state.Program {
	return slices.SortedFunc(maps.Values(p.byKey), func(a, b state.Program) int {
		return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Workload, b.Workload))
	})
}

func (p *programs) set(one state.Program) error {
	if err := checkProgram(one); err != nil {
		return err
	}
	return p.change(func() { p.byKey[programKey(one.Workload, imageKeys(one.Image)[0])] = one })
}

func (p *programs) remove(image, workload string) error {
	keys := imageKeys(image)
	if len(keys) == 0 {
		return fmt.Errorf("%q is not the name of an image", image)
	}
	return p.change(func() { delete(p.byKey, programKey(workload, keys[0])) })
}

// change keeps what f changes, in memory and in the file, and reports it.
func (p *programs) change(f func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := maps.Clone(p.byKey)
	f()
	data, err := json.MarshalIndent(p.sorted(), "", "  ")
	if err == nil {
		err = state.WriteFile(p.file, append(data, '\n'))
	}
	if err != nil {
		p.byKey = before
		return fmt.Errorf("keep the programs of images: %w", err)
	}
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}

func checkProgram(p state.Program) error {
	switch {
	case len(imageKeys(p.Image)) == 0:
		return fmt.Errorf("%q is not the name of an image", p.Image)
	case p.Problem != "" && p.Path != "":
		return errors.New("it has a path and a problem: only one of them can be")
	case p.Problem != "":
		return nil
	case !filepath.IsAbs(p.Path):
		return fmt.Errorf("the program's path %q is not absolute", p.Path)
	}
	info, err := os.Stat(p.Path)
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	if !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not a program", p.Path)
	}
	return nil
}

// Handle answers on the control socket.
func (p *programs) Handle(mux *http.ServeMux) {
	mux.HandleFunc("GET "+state.ProgramsPath, func(w http.ResponseWriter, _ *http.Request) {
		// Ignore write errors: the client is gone.
		_ = json.NewEncoder(w).Encode(p.list())
	})
	mux.HandleFunc("PUT "+state.ProgramsPath, func(w http.ResponseWriter, r *http.Request) {
		var one state.Program
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxProgram)).Decode(&one)
		if err == nil {
			err = p.set(one)
		}
		refuse(w, err)
	})
	mux.HandleFunc("DELETE "+state.ProgramsPath, func(w http.ResponseWriter, r *http.Request) {
		refuse(w, p.remove(r.URL.Query().Get("image"), r.URL.Query().Get("workload")))
	})
}

func refuse(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	}
}
