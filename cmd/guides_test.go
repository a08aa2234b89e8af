package cmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/example/mysdk/internal/host/hosttest"
)

const guidesDir = "../docs/guides"

// guides are the pages that are typed and run block by block.
var guides = []string{
	"events", "metrics", "predicates", "rate-limiting", "finalizers",
	"versions", "leader-election", "third-party-types", "run-local", "run-bundle", "why",
}

// TestGuidesParse checks what can be checked of the pages without running them.
func TestGuidesParse(t *testing.T) {
	for _, name := range append([]string{"README"}, guides...) {
		t.Run(name, func(t *testing.T) {
			for _, b := range guideBlocks(t, name) {
				switch b.lang {
				case "go":
					got, err := format.Source([]byte(b.text))
					if err != nil || string(got) != b.text {
						t.Errorf("%s.md:%d: not as gofmt writes it: %v", name, b.line, err)
					}
				case "sh":
					for line := range strings.Lines(b.text) {
						checkCommand(t, name, b.line, line)
					}
				}
			}
		})
	}
}

// checkCommand refuses what a reader may not have. Commands of mysdk are
// TestDocsShowRealCommands' business.
func checkCommand(t *testing.T, page string, at int, line string) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return
	}
	if !slices.Contains([]string{"mysdk", "go", "mkdir", "cd", "curl"}, words[0]) {
		t.Errorf("%s.md:%d: the reader may not have %s", page, at, words[0])
	}
}

// TestGuidesIndex checks that the index leads to every page.
func TestGuidesIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(guidesDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(guidesDir, "*.md"))
	if err != nil || len(pages) < len(guides) {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if name != "README.md" && !strings.Contains(string(index), "("+name+")") {
			t.Errorf("README.md has no link to %s", name)
		}
	}
}

// TestGuides does what each page says, in a project of its own: writes the
// files, types the commands and compares what they print. It types all of them
// where MYSDK_NIGHTLY is set, and otherwise only those that need nothing that runs.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles operators and runs them against the control plane")
	}
	var port sync.Mutex // of pages that name one
	// What all pages begin with is typed once.
	begin := newReader(t)
	for _, b := range guideBlocks(t, "README") {
		begin.do("README", b, nil)
	}
	project := filepath.Join(begin.dir, "memcached")
	scaffolded, input, checkers := goCode(t, project), generatedFrom(t, project), typeCheckers{}
	for _, name := range guides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, blocks := hosttest.Nightly(), guideBlocks(t, name)
			if run && slices.ContainsFunc(blocks, func(b block) bool { return strings.Contains(b.text, "127.0.0.1:8383") }) {
				port.Lock()
				defer port.Unlock()
			}
			r := newReader(t)
			r.dir = filepath.Join(r.dir, "memcached")
			if err := os.CopyFS(r.dir, os.DirFS(project)); err != nil {
				t.Fatal(err)
			}
			for i, b := range blocks {
				var output *block
				if i+1 < len(blocks) && blocks[i+1].lang == "output" {
					output = &blocks[i+1]
				}
				if !run && b.lang == "sh" {
					b.text, output = writingLines(b), nil
				}
				if b.text != "" {
					r.do(name, b, output)
				}
			}
			r.stopAll()
			// With the same imports and go.mod, go.mod is as tidy as the scaffold's.
			var commands []string
			switch {
			case run:
				commands = append(commands, "mysdk generate --check")
			case generatedFrom(t, r.dir) != input:
				commands = append(commands, "mysdk generate") // as run local does, which was not typed
			}
			if goCode(t, r.dir) != scaffolded {
				commands = append(commands, "go mod tidy -diff")
			}
			if run {
				commands = append(commands, "go vet ./...")
			} else if err := checkers.check(r.dir, r.env); err != nil {
				t.Errorf("after the page: %v", err)
			}
			for _, command := range commands {
				if out, err := r.sh(command); err != nil {
					t.Errorf("after the page: %s: %v\n%s", command, err, out)
				}
			}
			if out, err := r.sh("gofmt -l ."); out != "" || err != nil {
				t.Errorf("after the page: not formatted: %v\n%s", err, out)
			}
		})
	}
}

// goCode is what decides whether the module in dir is tidy.
func goCode(t *testing.T, dir string) string {
	t.Helper()
	files := hosttest.Snapshot(t, dir)
	imports, err := hosttest.GoImports("example.com/memcached", files)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(imports, "\n") + files["go.mod"] + files["go.sum"]
}

// generatedFrom is what generate reads of the project in dir: its types and the
// markers elsewhere.
func generatedFrom(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	files := hosttest.Snapshot(t, dir)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for line := range strings.Lines(files[name]) {
			if strings.HasSuffix(name, ".go") && (strings.HasPrefix(name, "api/") || strings.Contains(line, "+kubebuilder:")) {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// running is a command that starts something or talks to what is running.
var running = regexp.MustCompile(`(?m)^(?:curl|mysdk (?:cleanup|cluster|kubectl|olm|rights|run|test|why))\b.*\n?`)

// writingLines are the commands of a block that need nothing that runs.
func writingLines(b block) string {
	if b.mode != "" {
		return ""
	}
	return running.ReplaceAllString(b.text, "")
}

func guideBlocks(t *testing.T, name string) []block {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(guidesDir, name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parseGuide(string(page))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("%s.md: %d blocks: %v", name, len(blocks), err)
	}
	return blocks
}

// reader follows a page.
type reader struct {
	t         *testing.T
	dir       string
	env       []string
	terminals []*terminal // with a command that keeps running, the oldest first
}

// newReader gives the reader an empty directory and mysdk in PATH.
func newReader(t *testing.T) *reader {
	t.Helper()
	env := &testscript.Env{WorkDir: t.TempDir(), Vars: os.Environ()}
	if err := setUp(env); err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, dir: env.WorkDir, env: env.Vars}
	t.Cleanup(func() {
		r.stopAll()
		if out, err := r.sh("mysdk cluster stop"); err != nil {
			t.Errorf("mysdk cluster stop: %v\n%s", err, out)
		}
	})
	return r
}

// do does what one block says. Of a command whose output the page shows, the
// output is awaited.
func (r *reader) do(page string, b block, output *block) {
	r.t.Helper()
	if b.lang == "output" {
		return // seen by the command before
	}
	r.t.Logf("%s.md:%d: %s %s", page, b.line, b.lang, b.mode)
	var err error
	switch {
	case b.lang != "sh":
		err = r.write(b)
	case b.mode == "background":
		err = r.background(b.text, output)
	case b.mode == "stop":
		err = r.stopOldest()
	case output != nil:
		err = await(func() error { return r.shows(b, output.text) })
	default:
		err = r.shows(b, "")
	}
	if err != nil {
		for _, term := range r.terminals {
			r.t.Logf("%s\n%s", term.Args, term.printed())
		}
		r.t.Fatalf("%s.md:%d: %v", page, b.line, err)
	}
}

func (r *reader) write(b block) error {
	name := filepath.Join(r.dir, filepath.FromSlash(b.file))
	src, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	data, err := b.applyTo(src)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// shows types the commands of a block and compares how they end, and what they
// print.
func (r *reader) shows(b block, output string) error {
	out, err := r.sh(b.text)
	switch {
	case b.mode == "fails" && err == nil:
		return fmt.Errorf("it does not fail: %s", out)
	case b.mode != "fails" && err != nil:
		return fmt.Errorf("%w\n%s", err, out)
	}
	return showsOutput(out, output)
}

func (r *reader) sh(script string) (string, error) {
	c := exec.Command("sh", "-e", "-c", script)
	c.Dir, c.Env = r.dir, r.env
	out, err := c.CombinedOutput()
	return string(out), err
}

// background starts a command in a terminal of its own.
func (r *reader) background(line string, output *block) error {
	term := &terminal{Cmd: exec.Command("sh", "-c", "exec "+line), ended: make(chan struct{})}
	term.Dir, term.Env = r.dir, r.env
	term.Stdout, term.Stderr = term, term
	if err := term.Start(); err != nil {
		return err
	}
	go func() {
		defer close(term.ended)
		_ = term.Wait() // how it ends says only that it was interrupted
	}()
	r.terminals = append(r.terminals, term)
	if output == nil {
		return nil
	}
	return await(func() error {
		select {
		case <-term.ended:
			return errEnded
		default:
			return showsOutput(term.printed(), output.text)
		}
	})
}

// stopOldest types Ctrl-C in the oldest terminal and waits.
func (r *reader) stopOldest() error {
	if len(r.terminals) == 0 {
		return errors.New("nothing is running")
	}
	term := r.terminals[0]
	r.terminals = r.terminals[1:]
	if err := term.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	<-term.ended
	return nil
}

func (r *reader) stopAll() {
	for len(r.terminals) > 0 {
		slices.Reverse(r.terminals)
		if err := r.stopOldest(); err != nil {
			r.t.Errorf("Ctrl-C: %v", err)
		}
		slices.Reverse(r.terminals)
	}
}

// terminal is a running command and what it has printed so far.
type terminal struct {
	*exec.Cmd
	ended chan struct{} // closed when it has
	lock  sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (t *terminal) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.Write(p)
}

func (t *terminal) printed() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.String()
}

// errEnded says that waiting any longer is in vain.
var errEnded = errors.New("the command has ended, and should run until Ctrl-C")

// errNotYet says that something is not as it is to be, but may become so.
var errNotYet = errors.New("it did not come to this")

// await asks again until check passes, for as long as it may take on a busy
// machine to build an operator. It asks less and less often: each question is a
// process that takes time from what is waited for.
func await(check func() error) error {
	const limit, longest = 10 * time.Minute, 2 * time.Second
	pause := 200 * time.Millisecond
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		if err := check(); err == nil || errors.Is(err, errEnded) || time.Now().After(end) {
			return err
		}
		pause = min(pause+pause/4, longest)
	}
}
