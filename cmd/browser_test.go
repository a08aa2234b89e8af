package cmd_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/example/mysdk/internal/cluster"
	"github.com/example/mysdk/internal/host/hosttest"
	"github.com/example/mysdk/internal/kube"
	"github.com/example/mysdk/internal/ui"
)

// TestBrowser walks through the live view as a person does: makes an object with
// the form, sees it become ready, scales it, sees why the operator reconciled,
// and deletes it. With -update it takes the pictures of the guide.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles an operator and runs it against the control plane")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine; Debian has it as the package chromium")
	}
	r := newReader(t)
	for _, b := range guideBlocks(t, "README") {
		r.do("README", b, nil)
	}
	r.dir = filepath.Join(r.dir, "memcached")
	if err := r.background("mysdk run local", &block{text: "operator started: …\n"}); err != nil {
		t.Fatalf("%v\n%s", err, r.terminals[0].printed())
	}
	srv := liveView(t, r)
	b := openBrowser(t, program)
	b.terminal = r.terminals[0]
	b.open(srv.URL())
	root, _, _ := strings.Cut(srv.URL(), "/?")
	b.walk(root)
	b.checkConsole()
	b.run(chromedp.Navigate("about:blank")) // so that it does not miss the server
	r.stopAll()
}

// liveView serves the live view of the reader's cluster until the test ends.
func liveView(t *testing.T, r *reader) *ui.Server {
	t.Helper()
	w := hosttest.New(t)
	for _, e := range r.env {
		key, value, _ := strings.Cut(e, "=")
		w.Env[key] = value
	}
	control, err := cluster.Control(t.Context(), w.Host, cluster.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	info, err := cluster.Status(t.Context(), w.Host, cluster.DefaultName)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kube.Connect(t.Context(), kube.Options{Kubeconfig: info.Kubeconfig, Host: w.Host})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := ui.Listen(t.Context(), ui.Source{
		Project: "memcached", Dir: r.dir, Cluster: cluster.DefaultName, Now: time.Now, Recording: control.Recording,
		Connect: func(context.Context) (*kube.Client, error) { return client, nil },
		Samples: ui.SamplesIn(w.Host, r.dir),
		Inject:  control.Inject,
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return srv
}

// walk is what the person does at the live view at root.
func (b *browser) walk(root string) {
	b.until(`[...document.querySelectorAll("nav a")].length >= 5`)
	links := strings.Fields(b.text(`[...document.querySelectorAll("nav a")].map(a => a.href).join(" ")`))

	// A form that says what is wrong while one types.
	b.until(`fetch("/try?kind=Memcached.cache.example.com").then(r => r.text()).then(t => t.includes("spec.size"))`)
	b.open(root + "/try?kind=Memcached.cache.example.com")
	b.fill(`[name="spec.size"]`, "0")
	b.until(`document.getElementById("e-spec.size").textContent.includes("greater than or equal to 1")`)
	b.picture("try")
	b.fill(`[name="spec.size"]`, "2")
	b.fill(`#form [name="name"]`, "walk")
	b.until(`document.querySelector("#form output:not(:empty)") === null`)
	b.click(`#form button[value=apply]`)

	// Its tree becomes ready, without a reload.
	b.until(`document.querySelector("h2.object .mark")?.textContent === "ready" && document.querySelectorAll("ul.tree li").length >= 4`)
	b.picture("objects")

	b.open(root + "/try")
	b.fill(`#own [name=replicas]`, "3")
	b.click(`#own form:has([name=replicas]) button`)
	b.until(`document.querySelectorAll("ul.tree li").length >= 5 && document.querySelector("h2.object .mark")?.textContent === "ready"`)
	// The operator's write names its line.
	b.until(`fetch("/objects?kind=Deployment.apps&namespace=default&name=walk").then(r => r.text()).then(t => /spec\.replicas[^]*by\s*<code>internal\/controller\/memcached_controller\.go:\d+|memcached_controller\.go:\d+[^]*spec\.replicas/.test(t))`)
	b.open(root + "/try")
	b.click(`#own button[value=delete]`)
	b.until(`document.querySelector("h2.object .mark")?.textContent === "deleted"`)

	// What was there before is there to see.
	b.open(root + "/time?namespace=default&at=1")
	b.click(`a[data-change="created Memcached walk"]`)
	b.until(`document.querySelector('#list ul.tree a[href*="name=walk"]') !== null && document.querySelector(".note").textContent.includes("later")`)
	b.picture("time")

	for _, link := range links {
		b.open(link)
		b.until(`document.querySelector("h1") !== null`)
		if b.has(".problem") {
			b.t.Errorf("%s: %s", link, b.text(`document.querySelector(".problem").textContent`))
		}
		b.run(chromedp.EmulateViewport(400, 800))
		if wide := b.text(`String(document.documentElement.scrollWidth)`); wide != "400" {
			b.t.Errorf("%s is %s wide on a screen of 400", link, wide)
		}
		b.run(chromedp.EmulateViewport(width, height))
	}
}

// browserWait is for what a busy machine takes long for.
const browserWait = 5 * time.Minute

// width and height are of the browser's window, in pixels.
const width, height = 1100, 760

// browser is a tab.
type browser struct {
	t        *testing.T
	ctx      context.Context
	terminal *terminal // of mysdk

	mu      sync.Mutex
	console []string // what went wrong
}

// openBrowser starts the browser, which ends with the test.
func openBrowser(t *testing.T, program string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(width, height))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	started, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(started)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	said := chromedp.Console(ctx)
	go func() {
		for m, err := range said {
			if err != nil {
				return // it has ended
			}
			if m.IsException() || m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning {
				b.mu.Lock()
				b.console = append(b.console, m.String())
				b.mu.Unlock()
			}
		}
	}()
	b.run(chromedp.EmulateViewport(width, height))
	return b
}

// checkConsole: no script has failed, and no policy was violated.
func (b *browser) checkConsole() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, said := range b.console {
		b.t.Errorf("the browser says: %s", said)
	}
}

func (b *browser) run(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserWait)
	defer cancel()
	if err := chromedp.Do(ctx, action); err != nil {
		b.fail(err)
	}
}

func (b *browser) open(address string) {
	b.t.Helper()
	b.run(chromedp.Navigate(address))
}

// until waits until an expression is true, in whichever page there is then.
func (b *browser) until(expression string) {
	b.t.Helper()
	var last error
	for end := time.Now().Add(browserWait); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
		// A page that goes while it is asked is an error; the next one is asked again.
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`Promise.resolve(`+expression+`).then(Boolean)`, chromedp.EvalAwaitPromise))
		cancel()
		if ok {
			return
		}
		last = err
	}
	b.fail(fmt.Errorf("not true: %s: %w", expression, last))
}

// fail ends the test with what is on the page.
func (b *browser) fail(err error) {
	b.t.Helper()
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`)) // err says more
	b.t.Fatalf("%v\n%s\n%s", err, text, b.terminal.printed())
}

// fill types a value in place of what a field has.
func (b *browser) fill(selector chromedp.CSS, value string) {
	b.t.Helper()
	b.run(chromedp.Steps(chromedp.WaitVisible(selector), chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.querySelector(%q).select()", selector)), chromedp.SendKeys(selector, value)))
}

func (b *browser) click(selector chromedp.CSS) {
	b.t.Helper()
	b.run(chromedp.Click(selector, chromedp.NodeVisible))
}

// has reports whether the page has such an element.
func (b *browser) has(selector string) bool {
	b.t.Helper()
	return b.text(fmt.Sprintf(`String(document.querySelector(%q) !== null)`, selector)) == "true"
}

// text is the value of an expression.
func (b *browser) text(expression string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.fail(err)
	}
	return s
}

// picture is taken for the guide with -update.
func (b *browser) picture(name string) {
	b.t.Helper()
	if !*update {
		return
	}
	quality := int64(80)
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
	if err != nil {
		b.fail(err)
	}
	if err := os.WriteFile(filepath.Join(guidesDir, "live-view-"+name+".webp"), shot.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
