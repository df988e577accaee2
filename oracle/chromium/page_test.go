// Package chromium opens the pages that hopscope writes in a browser: every figure is what its
// place in the JSON holds, nothing is fetched, nothing fails, and they read without a script.
package chromium

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/hopscope/hopscope/internal/page/audit"
)

var shots = flag.String("shots", "", "write screenshots of every page at 390, 1280 and 1920 pixels, light and dark, to `DIR`")

// interactive is how long a page may take until it can be used, of the browser's own time: how
// busy the machine is does not count.
const interactive = 2 * time.Second

// made is a page with the JSON of the same command.
type made struct {
	name       string
	html, json string
	largest    int64 // bytes of the page
}

// program builds hopscope once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hopscope-page-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "hopscope")
	build := exec.Command("go", "build", "-o", bin, "./cmd/hopscope")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

// command runs hopscope with --json and --html added.
func command(t *testing.T, name string, largest int64, args ...string) made {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := made{name: name, html: filepath.Join(dir, "page.html"), json: filepath.Join(dir, "result.json"), largest: largest}
	c := exec.Command(bin, append(args, "--html", m.html, "--json", m.json)...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return m
}

// write writes a file for a test.
func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// browser starts Chromium; a test without one is skipped.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("chromium is missing: apt-get install chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// complaints are what a page says to the console, asks a network for, or pops up.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func listen(ctx context.Context) *complaints {
	c := &complaints{}
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			c.add("exception: %v", e.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			c.add("console: %s", e.Type)
		case *log.EventEntryAdded:
			c.add("log: %s: %s", e.Entry.Level, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "file://") {
				c.add("asks for %s", e.Request.URL)
			}
		case *page.EventJavascriptDialogOpening:
			c.add("dialog: %s", e.Message)
		}
	})
	return c
}

// elements reads every element that names its place in the JSON.
const elements = `[...document.querySelectorAll("[data-path]")].map(e => ({path: e.dataset.path, kind: e.dataset.kind || "",
	from: e.dataset.from || "", of: e.dataset.of || "", value: e.dataset.value || "", text: [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join("")}))`

// inspect opens a page and holds it against its JSON.
func inspect(t *testing.T, m made) {
	ctx := browser(t)
	said := listen(ctx)
	info, err := os.Stat(m.html)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > m.largest {
		t.Errorf("the page has %d bytes, want at most %d", info.Size(), m.largest)
	}
	var list []audit.Element
	var loaded, worked float64
	var shown string
	err = chromedp.Run(ctx, performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks), log.Enable(), network.Enable(), runtime.Enable(), chromedp.EmulateViewport(1280, 900),
		chromedp.Navigate("file://"+m.html), chromedp.ActionFunc(func(ctx context.Context) error {
			metrics, err := performance.GetMetrics().Do(ctx)
			for _, v := range metrics {
				if v.Name == "TaskDuration" {
					worked = v.Value
				}
			}
			return err
		}),
		chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].loadEventStart`, &loaded),
		chromedp.Evaluate(elements, &list),
		chromedp.Evaluate(`(document.getElementById("data") || {textContent: ""}).textContent`, &shown))
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Duration(worked * float64(time.Second)); took > interactive || took == 0 {
		t.Errorf("it can be used after %v of work, want %v", took, interactive)
	}
	data, err := os.ReadFile(m.json)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := audit.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	wrong := audit.Check(doc, list)
	for i, w := range wrong {
		if i == 20 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
	t.Logf("%s: %d figures, %d KB, used after %.0f ms, %.0f of them work", m.name, len(list), info.Size()/1000, loaded, 1000*worked)
	sameData(t, shown, doc)
	layout(t, ctx, m.name)
	use(t, ctx)
	for _, s := range said.list {
		t.Error(s)
	}
}

// sameData compares what the script has with the JSON.
func sameData(t *testing.T, shown string, doc *audit.Document) {
	t.Helper()
	if shown == "" {
		return
	}
	have, err := audit.Parse([]byte(shown))
	if err != nil {
		t.Fatal(err)
	}
	for i := -1; ; i++ {
		at := "/timeline"
		if i >= 0 {
			at = fmt.Sprintf("/stacks/%d/timeline", i)
		}
		a, err := have.At(at)
		if err != nil {
			if i >= 0 {
				return
			}
			continue
		}
		b, err := doc.At(at)
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s of the page is not that of the JSON", at)
		}
	}
}

// layout looks at a page in several widths, light and dark: nothing runs over its edge.
func layout(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	for _, width := range []int64{390, 1280, 1920} {
		for _, scheme := range []string{"light", "dark"} {
			var over int
			var image []byte
			err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 1000),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &over))
			if err == nil && *shots != "" {
				err = chromedp.Run(ctx, chromedp.FullScreenshot(&image, 100))
			}
			if err != nil {
				t.Fatal(err)
			}
			if over > 0 {
				t.Errorf("at %d pixels it is %d wider than the window", width, over)
			}
			if image != nil {
				file := filepath.Join(*shots, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
				if err := os.WriteFile(file, image, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// use does what a reader does: looks closer, hides a curve, filters and sorts a table, opens a part.
// It returns what did not work.
const reading = `(() => {
	const wrong = [], all = (s, r = document) => [...r.querySelectorAll(s)];
	const key = (e, k) => e.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true, cancelable: true}));
	const time = document.querySelector("svg.timeline");
	if (time) {
		const drawn = () => all(".line", time).map(e => e.getAttribute("d")).join();
		key(time, "0");
		const before = drawn();
		key(time, "+");
		if (drawn() === before) wrong.push("+ draws the same");
		key(time, "ArrowRight");
		if (!time.querySelector(".cursor") || !time.querySelector(".now")) wrong.push("an arrow shows no cursor");
		key(time, "0");
		if (drawn() !== before) wrong.push("0 does not bring back what was drawn");
		const entry = time.querySelector(".entry");
		key(entry, "Enter");
		if (!time.querySelector(".line.off")) wrong.push("a legend's entry hides no curve");
		key(entry, "Enter");
	}
	for (const t of all("table.filter")) {
		const input = t.closest(".scroll").previousElementSibling.querySelector("input"), rows = () => all("tbody tr", t).filter(r => !r.hidden).length;
		const n = rows();
		input.value = "no row has this";
		input.dispatchEvent(new Event("input"));
		if (rows() !== 0) wrong.push(t.id + " is not filtered");
		input.value = "";
		input.dispatchEvent(new Event("input"));
		if (rows() !== n) wrong.push(t.id + " does not come back");
		t.querySelector("th button").click();
		if (!t.querySelector("th[aria-sort]")) wrong.push(t.id + " is not sorted");
	}
	const top = document.querySelector("svg.topology");
	if (top && all("rect, path, circle", top).length > 200) wrong.push("the network takes " + all("rect, path, circle", top).length + " marks");
	const part = document.querySelector("svg.topology a");
	if (part) {
		location.hash = part.getAttribute("href");
		dispatchEvent(new HashChangeEvent("hashchange"));
		if (!document.querySelector(part.getAttribute("href")).open) wrong.push("a part does not open");
	}
	for (const e of all("input, button")) if (!e.textContent && !e.getAttribute("aria-label")) wrong.push("a control has no name");
	return wrong;
})()`

func use(t *testing.T, ctx context.Context) {
	t.Helper()
	var wrong []string
	if err := chromedp.Run(ctx, chromedp.Evaluate(reading, &wrong)); err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

const (
	kilo = 1000
	mega = 1000 * kilo
)

// Pages of runs.
func TestRuns(t *testing.T) {
	list := []string{"victim-flow", "lossy-incast"}
	if !testing.Short() {
		list = []string{"incast-4to1", "victim-flow", "slow-receiver", "virtual-lanes", "lossy-incast", "mixed-traffic", "one-sided",
			"link-failure", "leaf-spine-permutation", "rail-all-to-all", "allreduce-8x8", "gpu-incast"}
	}
	for _, name := range list {
		t.Run(name, func(t *testing.T) { inspect(t, command(t, name, 500*kilo, "run", "-q", name)) })
	}
}

// Pages of what has several runs.
func TestComparisons(t *testing.T) {
	if testing.Short() {
		t.Skip("several runs each")
	}
	t.Run("compare", func(t *testing.T) { inspect(t, command(t, "compare", 500*kilo, "compare", "-q", "incast-4to1")) })
	t.Run("seeds", func(t *testing.T) {
		inspect(t, command(t, "seeds", 500*kilo, "run", "-q", "incast-4to1", "--seeds", "3", "--set", "workload[0].incast.size=4MB"))
	})
	t.Run("sweep", func(t *testing.T) {
		bin, err := program()
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "swept")
		c := exec.Command(bin, "sweep", "-q", "incast-4to1", "--set", "workload[0].incast.size=1MB", "--seeds", "6", "--out", dir,
			"--vary", "switch.ecn.kmin=50KB..800KB log 5", "--vary", "switch.ecn.kmax=400KB,1600KB,3200KB")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		inspect(t, made{"sweep", filepath.Join(dir, "index.html"), filepath.Join(dir, "points.json"), 500 * kilo})
	})
	t.Run("whatif", func(t *testing.T) {
		inspect(t, command(t, "whatif", 500*kilo, "whatif", "-q", "victim-flow", "--runs", "6"))
	})
	t.Run("diagnose", func(t *testing.T) {
		cluster := write(t, "noise: off\ntopology: {rail: {servers: 2, rails: 2, link: 400Gbps}}\nserver: dgx-h100\nworkload:\n"+
			"  - collective: {op: allreduce, ranks: [\"h0/gpu0\", \"h0/gpu1\", \"h1/gpu0\", \"h1/gpu1\"], sizes: {from: 1KiB, to: 32MiB, factor: 8}}\n")
		slow := filepath.Join(t.TempDir(), "slow.log")
		command(t, "log", 0, "run", "-q", cluster, "--set", "gpudirect=off", "--nccl-out", slow)
		inspect(t, command(t, "diagnose", 500*kilo, "diagnose", "-q", slow, cluster))
	})
}

// Pages of much.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("large runs")
	}
	t.Run("1024-hosts", func(t *testing.T) {
		inspect(t, command(t, "1024-hosts", 5*mega, "run", "-q", write(t, "topology: {fat_tree: {k: 16, link: 100Gbps}}\nworkload:\n  - permutation: {size: 200KB}\n")))
	})
	t.Run("16000-messages", func(t *testing.T) {
		inspect(t, command(t, "16000-messages", 8*mega, "run", "-q",
			write(t, "topology: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 16, link: 100Gbps}}\nworkload:\n  - all_to_all: {size: 20KB, count: 4}\n")))
	})
}

// Names that would be markup, formulas or escape sequences are text.
func TestNames(t *testing.T) {
	evil, err := json.Marshal("<svg onload=alert(1)><script>alert(2)</script>\"'=1+1 鱼\n\x1b[31m a:b/c->d")
	if err != nil {
		t.Fatal(err)
	}
	scenario := write(t, fmt.Sprintf("name: %s\ndescription: %s\ntopology:\n  hosts: [%s, b, c]\n  switches: [s]\n  links:\n"+
		"    - {between: [%s, s], rate: 100Gbps}\n    - {between: [b, s], rate: 100Gbps}\n    - {between: [c, s], rate: 100Gbps}\n"+
		"workload:\n  - incast: {name: %s, to: c, size: 1MB}\n", evil, evil, evil, evil, evil))
	inspect(t, command(t, "names", 500*kilo, "run", "-q", scenario))
}

// Without a script the page reads: verdict, answers, tables and drawings are there.
func TestWithoutScript(t *testing.T) {
	m := command(t, "no-script", 500*kilo, "run", "-q", "victim-flow")
	ctx := browser(t)
	var verdict, answers string
	var marks []byte
	err := chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate("file://"+m.html),
		chromedp.Text(".verdict", &verdict), chromedp.Text("#answers-table", &answers),
		chromedp.WaitVisible("svg.topology .way"), chromedp.WaitVisible("svg.timeline .line"), chromedp.WaitVisible("#port-table td"),
		chromedp.FullScreenshot(&marks, 80))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(verdict, "pause storm") || !strings.Contains(answers, "PFC pause") {
		t.Errorf("it reads %q and %q", verdict, answers)
	}
}
