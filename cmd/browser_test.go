package cmd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	lazy "go.podman.io/storage/pkg/regexp"
)

// TestBrowser walks through the live view of 'mysdk run local --ui' as a person
// does: applies a sample, makes an object with the form, sees it become ready,
// scales it, sees why the operator reconciled and what it logged, crashes it, has
// it refused, and deletes the object. With -update it takes the guide's pictures.
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
	for _, line := range []string{"mysdk run local --ui --no-open", "mysdk ui --no-open"} {
		output := "http://127.0.0.1:…\n"
		if len(r.terminals) == 0 {
			output += "operator started: …\n"
		}
		if err := r.background(line, &block{text: output}); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, r.terminals[len(r.terminals)-1].printed())
		}
	}
	b := openBrowser(t, program)
	b.terminal = r.terminals[0]
	root := b.enter(r.terminals[0])
	b.keyboard()
	links := strings.Fields(b.text(`[...document.querySelectorAll("nav a")].map(a => a.href).join(" ")`))
	b.walk(root)
	b.readable(links)
	b.besides(r.terminals[1])
	b.checkConsole()
	b.run(chromedp.Navigate("about:blank")) // so that it does not miss the server
	r.stopAll()
}

// viewAddress is what a command prints.
var viewAddress = lazy.Delayed(`(http://127\.0\.0\.1:\d+)/\?token=\S+`)

// enter opens the address that a command has printed, and returns it without the
// token.
func (b *browser) enter(of *terminal) string {
	b.t.Helper()
	m := viewAddress.FindStringSubmatch(of.printed())
	if m == nil {
		b.fail(errors.New("no address was printed"))
	}
	b.open(m[0])
	b.until(`[...document.querySelectorAll("nav a")].length >= 5`)
	return m[1]
}

// keyboard: the first key leads over the navigation, to the page.
func (b *browser) keyboard() {
	b.t.Helper()
	b.run(chromedp.KeyEvent("\t"))
	b.until(`document.activeElement.className === "skip"`)
	b.run(chromedp.KeyEvent("\r"))
	b.until(`location.hash === "#main"`)
}

// walk is what the person does at the live view at root.
func (b *browser) walk(root string) {
	b.open(root + "/try")
	b.click(`button[name=sample]`)
	b.until(`document.querySelector('ul.tree a[href*="memcached-sample"]')?.closest("li").querySelector(".mark").textContent === "ready"`)

	// A form that says what is wrong while one types.
	b.open(root + "/try?kind=Memcached.cache.example.com")
	b.fill(`#form [name="spec.size"]`, "0")
	b.until(`document.getElementById("e-spec.size").textContent.includes("greater than or equal to 1")`)
	b.picture("try")
	b.fill(`#form [name="spec.size"]`, "2")
	b.fill(`#form [name="name"]`, "walk")
	b.until(`document.querySelector("#form output:not(:empty)") === null`)
	b.click(`#form button[value=apply]`)

	// Its tree becomes ready, without a reload.
	b.until(`document.querySelector("h2.object .mark")?.textContent === "ready" && document.querySelectorAll("ul.tree li").length >= 4`)
	b.picture("objects")

	b.open(root + "/try")
	b.fill(`#own [aria-label="Replicas of walk"]`, "3")
	b.click(`#own form:has([aria-label="Replicas of walk"]) button`)
	b.until(`document.querySelectorAll("ul.tree li").length >= 5 && document.querySelector("h2.object .mark")?.textContent === "ready"`)
	// The operator's write names its line.
	b.until(`fetch("/objects?kind=Deployment.apps&namespace=default&name=walk").then(r => r.text()).then(t => /spec\.replicas[^]*by\s*<code>internal\/controller\/memcached_controller\.go:\d+|memcached_controller\.go:\d+[^]*spec\.replicas/.test(t))`)
	b.reasons(root)
	b.hardships(root)

	b.open(root + "/try")
	b.click(`#own tr:has([aria-label="Replicas of walk"]) button[value=delete]`)
	b.until(`document.querySelector("h2.object .mark")?.textContent === "deleted"`)

	// What was there before is there to see.
	b.open(root + "/time?namespace=default&at=1")
	b.click(`a[data-change="created Memcached walk"]`)
	b.until(`document.querySelector('#list ul.tree a[href*="name=walk"]') !== null && document.querySelector(".note").textContent.includes("later")`)
	b.picture("time")
}

// reasons: the page Reconciles says who scaled it and what the operator did then,
// and each way between a reconcile and its log can be walked.
func (b *browser) reasons(root string) {
	b.open(root + "/objects?kind=Memcached.cache.example.com&namespace=default&name=walk")
	b.click(`a[href^="/reconciles?"]`)
	scaled := `[...document.querySelectorAll("ol.calls li")].find(li => /memcacheds walk \(scale\) changed by mysdk/.test(li.textContent)` +
		` && [...li.querySelectorAll("ins")].some(i => i.textContent === "3") && /memcached_controller\.go:\d+/.test(li.textContent))`
	b.until(scaled)
	b.picture("reconciles")
	b.click(`ol.calls a[href^="/logs?reconcile="]`)
	b.until(`document.querySelector("p.note a[href*='#call-']") !== null && document.querySelector("#list td a[href*='#call-']") !== null`)
	b.click(`#list td a[href*="#call-"]`)
	b.until(`document.querySelector("ol.calls li:target") !== null`)
	b.open(root + "/logs")
	b.picture("logs")
	b.fill(`[name=text]`, "no line has this")
	b.click(`form.filter button`)
	b.until(`document.querySelector(".empty")?.textContent === "No line matches."`)
}

// hardships: a crash, and an API server that refuses.
func (b *browser) hardships(root string) {
	b.open(root + "/try")
	b.click(`form:has([value=crash]) button`)
	b.until(`fetch("/reconciles?kind=Memcached&namespace=default&name=walk").then(r => r.text()).then(t => t.includes("the operator started"))`)
	b.open(root + "/try")
	b.fill(`[name=delay]`, "1")
	b.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=code]").value = "503"`))
	b.fill(`[name=seconds]`, "600")
	b.click(`form:has([value=fault]) button`)
	b.until(`document.querySelector("p.note")?.textContent.includes("refused with 503 1ms late")`)
	b.fill(`#own [aria-label="Replicas of walk"]`, "1")
	b.click(`#own form:has([aria-label="Replicas of walk"]) button`)
	b.until(`fetch("/requests?code=503").then(r => r.text()).then(t => t.includes("injected by mysdk"))`)
	b.open(root + "/try")
	b.fill(`[name=seconds]`, "0")
	b.click(`form:has([value=fault]) button`)
	b.until(`document.querySelector("h1")?.textContent === "Try" && document.querySelector("p.note") === null`)
	b.until(`fetch("/objects?kind=Deployment.apps&namespace=default&name=walk").then(r => r.text()).then(t => /spec\.replicas<\/code> <del>3<\/del> <ins>1/.test(t))`)
}

// readable: no page has a problem, is wider than a telephone, has text that is
// hard to tell from what is behind it, by day or by night, or a control without
// a name.
func (b *browser) readable(links []string) {
	for _, link := range links {
		b.open(link)
		b.until(`document.querySelector("h1") !== null`)
		if b.has(".problem") {
			b.t.Errorf("%s: %s", link, b.text(`document.querySelector(".problem").textContent`))
		}
		for _, scheme := range []string{"light", "dark"} {
			features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
			if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
				b.fail(err)
			}
			if faint := b.text(faintText); faint != "" {
				b.t.Errorf("%s is hard to read when it is %s:\n%s", link, scheme, faint)
			}
		}
		if nameless := b.text(`[...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary")].filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).map(e => e.outerHTML).join("\n")`); nameless != "" {
			b.t.Errorf("%s: without a name:\n%s", link, nameless)
		}
		b.run(chromedp.EmulateViewport(400, 800))
		if wide := b.text(`String(document.documentElement.scrollWidth)`); wide != "400" {
			b.t.Errorf("%s is %s wide on a screen of 400", link, wide)
		}
		b.run(chromedp.EmulateViewport(width, height))
	}
}

// faintText lists text with a contrast below 4.5, which WCAG 2.2 asks for (1.4.3).
const faintText = `(() => {
  const rgb = c => c.match(/[\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = rgb(c).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const back = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (rgb(c)[3] !== 0) return c; } return "rgb(255, 255, 255)"; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest("svg")) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(back(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) bad.push(e.outerHTML.slice(0, 100));
  }
  return bad.join("\n");
})()`

// besides: another terminal's view has the log, too, and says what it cannot do.
func (b *browser) besides(other *terminal) {
	root := b.enter(other)
	b.open(root + "/logs")
	b.until(`document.querySelector("#list td a[href*='#call-']") !== null`)
	b.open(root + "/try")
	if b.has("[value=crash]") || !strings.Contains(b.text(`document.querySelector("main").textContent`), "run local --ui") {
		b.t.Error("the view of another terminal offers to crash the operator, or does not say where that is possible")
	}
}

// browserWait is for what a busy machine takes long for.
const browserWait = time.Minute

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
	err := chromedp.Do(ctx, action)
	for err != nil && ctx.Err() == nil && renewed.MatchString(err.Error()) {
		err = chromedp.Do(ctx, action)
	}
	if err != nil {
		b.fail(err)
	}
}

// renewed matches the browser's error for an element that the live view replaced
// between the lookup and the click.
var renewed = regexp.MustCompile(`(?i)could not find node|node is detached|does not have a layout object|could not compute (content quads|box model)`)

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
	b.fail(errors.Join(fmt.Errorf("not true: %s", expression), last))
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
	quality := int64(60)
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
	if err != nil {
		b.fail(err)
	}
	const most = 60 << 10
	if len(shot.Data) > most {
		b.t.Errorf("the picture of %s has %d bytes, more than %d", name, len(shot.Data), most)
	}
	if err := os.WriteFile(filepath.Join(guidesDir, "live-view-"+name+".webp"), shot.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
