package scenario

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// arrivals is an entry of messages that come at random.
type arrivals struct {
	entryOptions
	workload.Arrivals
}

// arrivalKeys are the keys of a poisson entry.
func (r *resolver) arrivalKeys(a *arrivals) []key {
	options := r.optionKeys(&a.entryOptions)
	options = slices.DeleteFunc(options, func(k key) bool {
		return slices.Contains([]string{"count", "every", "split", "trigger", "after", "depth", "think"}, k.name)
	})
	for _, own := range [][2]string{
		{"size", "Bytes of all messages, in place of `sizes`."},
		{"qps", "Queue pairs per pair of ends, which take turns: so many messages may be underway side by side."},
		{"start", "When messages begin to come."},
	} {
		k := find(options, own[0])
		k.text, k.group = own[1], ""
	}
	return joinKeys([]key{
		listKey("from", "list of hosts", readLater, "Who sends.").otherwise("`all`"),
		listKey("to", "list of hosts", readLater, "Whom each message goes to, each host as often as any other.").
			otherwise("`all`"),
		realKey("load", &a.Load, "What each sender offers of its link's rate, in payload; above 0 and below 1.").
			otherwise("").
			need("give the share of the hosts' links that is offered, such as load: 0.5").
			check(func(o object) {
				if a.Load <= 0 || a.Load >= 1 {
					o.fail("load", "%g is no load: with 0 nothing comes, and from 1 on queues grow for ever; give a number "+
						"between, such as 0.5", a.Load)
				}
			}),
		otherKey("sizes", quoted(workload.Published())+", name of a file, points", []jsonSchema{anyScalar()},
			func(o object, name string) bool {
				text, ok := o.scalar(name)
				if ok {
					a.Sizes = r.sizes(o, text)
				}
				return ok
			}, "How long messages are: a published distribution, or a file beside the scenario with a size in bytes and "+
				"the share of messages that are no longer in each row, up to 1 or 100; between two points it is a straight line."),
		timeKey("for", &a.For, "How long messages come.").need("give the time within which messages come, such as for: 10ms").
			check(func(o object) {
				if a.For <= 0 || a.For > workload.MaxStart {
					o.fail("for", "%v is no time within which messages come; give one such as 10ms", a.For)
				}
			}),
		timeKey("on", &a.On, "Mean time in which a host sends, exponentially distributed; `load` is over `on` and `off`.").
			otherwise("always"),
		timeKey("off", &a.Off, "Mean time in which it does not.").otherwise("0").
			check(func(o object) {
				if a.Off > 0 && a.On == 0 {
					o.fail("off", "without on a host never sends; give both, such as on: 100us, off: 400us")
				}
			}),
	}, options)
}

// newArrivals is what holds without options: messages of one pair hardly ever wait for each other.
func (r *resolver) newArrivals() *arrivals {
	a := &arrivals{entryOptions: *r.newOptions()}
	a.QPs = 64
	return a
}

// readArrivals reads an entry of messages that come at random.
func (r *resolver) readArrivals(o object) {
	entry := r.addEntry("poisson", o)
	a := r.newArrivals()
	keys := r.arrivalKeys(a)
	r.readOptions(o, &a.entryOptions, keys)
	switch {
	case r.d.err != nil:
		return
	case o.has("sizes") && o.has("size"):
		o.fail("sizes", "stands beside size; keep one")
	case a.size == 0:
		o.fail("size", "0B at a load would be messages without end; give at least 1B")
	case o.has("size"):
		a.Sizes = workload.OneSize(a.size)
	case a.Sizes == nil:
		r.d.fail(o.n.Pos, "%s has no sizes; give one of %s, a file of points, or size for messages that are all alike",
			o.path, strings.Join(workload.Published(), ", "))
	}
	r.asStream(&a.Options)
	if a.Service == workload.UD {
		o.fail("service", "ud carries messages of one packet, and sizes are any; use service: rc")
	}
	if r.d.err != nil {
		return
	}
	from, to := r.many(o, "from"), r.many(o, "to")
	first, way := len(r.v.Plan.Conns), r.readGPUDirect(o)
	if r.d.err != nil {
		return
	}
	g := r.v.Graph
	rate := func(ep int) units.Rate {
		e := g.Endpoints[ep]
		return g.LinkAt(e.Node, e.Port).RateFrom(g, e.Node)
	}
	name := r.v.Plan.Entries[entry]
	stream := func(ep int) *rng.Stream {
		s := rng.New(r.v.Seed, "workload/"+name+"/"+g.EndpointName(ep))
		return &s
	}
	if err := r.v.Plan.Poisson(entry, placed{r}, from, to, rate, stream, a.Arrivals, a.Options); err != nil {
		r.d.fail(o.n.Pos, "%s: %v", o.path, err)
	}
	r.settlePlaces(first, way)
	r.warnGPUDirect(o, first)
}

// sizes reads a distribution of sizes.
func (r *resolver) sizes(o object, text string) *workload.Sizes {
	if !isPoints(text) {
		s, err := workload.PublishedSizes(text)
		if err != nil {
			o.fail("sizes", "%v", err)
		}
		return s
	}
	v := o.n.Get("sizes")
	at := v.TextAt
	if at == (pos{}) {
		at = v.Pos
	}
	var bytes, chance []float64
	var rows []word
	line := at.Line - 1
	for row := range strings.SplitSeq(text, "\n") {
		line++
		words := tree.Words(at.File, line, strings.ReplaceAll(row, ",", " "), 3)
		if len(words) == 0 || strings.HasPrefix(words[0].Text, "#") {
			continue
		}
		if len(words) != 2 {
			r.d.fail(words[0].Pos, "a row of a distribution has a size in bytes and the share of messages that are no longer, "+
				"such as 10000 0.15")
			return nil
		}
		b, c := r.d.decimal(words[0], "size", 1e18), r.d.decimal(words[1], "share", 100)
		rows, bytes, chance = append(rows, words[0]), append(bytes, b), append(chance, c)
	}
	if n := len(chance); n > 0 && chance[n-1] > 1 { // percent
		for i := range chance {
			chance[i] /= 100
		}
	}
	if r.d.err != nil {
		return nil
	}
	s, point, err := workload.SizesOf("sizes of its own", bytes, chance)
	if err != nil {
		if point >= 0 {
			at = rows[point].Pos
		}
		r.d.fail(at, "%v", err)
	}
	return s
}

// isPoints reports whether a text has the points of a distribution in it, not its name.
func isPoints(text string) bool {
	first, rest, more := strings.Cut(strings.TrimLeft(text, "# \t\n"), " ")
	_, err := strconv.ParseFloat(strings.TrimSpace(first), 64)
	return err == nil && (more && rest != "") || strings.Contains(text, "\n")
}

// inlineSizes replaces the name of a file of sizes by what it holds, so that the scenario kept with a
// run needs no other file. It reports whether there was any.
func (d *decoder) inlineSizes(root *node) (found bool) {
	work := root.Get("workload")
	if work == nil {
		return false
	}
	for _, item := range work.Items {
		s := item.Get("poisson").Get("sizes")
		if s == nil || s.Kind != scalarNode || isPoints(s.Text) || d.err != nil || !strings.ContainsAny(s.Text, "./\\") {
			continue
		}
		path := s.Text
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(d.file), path)
		}
		src, err := d.readFile(path)
		if err != nil {
			d.fail(s.Pos, "poisson.sizes: %s cannot be read: %v; name an existing file, relative to the scenario, or one of %s",
				path, importer.Cause(err), strings.Join(workload.Published(), ", "))
			return found
		}
		text := strings.TrimRight(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n")
		if !strings.Contains(text, "\n") {
			text += "\n" // one row is no name
		}
		at := pos{File: path, Line: 1, Col: 1}
		s.Text, s.TextAt, found = text, at, true
	}
	return found
}
