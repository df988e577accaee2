package scenario

import (
	"strings"

	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// hostSettings is the `host` section, and what `hosts` overrides of it.
type hostSettings struct {
	Host
	preset, card string
}

// pageSizes are the sizes of memory pages by name; they are powers of two
// however they are written.
func pageSizes() ([]string, []units.Bytes) {
	return []string{"4KB", "64KB", "2MB", "1GB"}, []units.Bytes{4 * units.KiB, 64 * units.KiB, 2 * units.MiB, units.GiB}
}

// hostKeys are the keys of a host section.
func hostKeys() []string {
	return append(kernelKeys(), "post", "poll", "repost", "register", "registration", "page_size", "connect")
}

// defaultHost costs nothing.
func defaultHost() hostSettings {
	free, _ := host.Preset("free")
	return hostSettings{Host: Host{Spec: free, PageSize: 4 * units.KiB}, preset: "free", card: host.Cards()[0]}
}

// maxHostCost bounds each cost, so that sums of them stay far from the clock's
// end.
const maxHostCost = 10 * units.Second

// readHost applies the keys of a host section, or of one host's, to s.
func readHost(o object, s *hostSettings) {
	readKernel(o, s)
	readCost(o, "post", &s.Post)
	readCost(o, "poll", &s.Poll)
	o.note("repost", wordsOf("never"))
	if text, ok := o.scalar("repost"); ok && text == "never" {
		s.Reposts = false
	} else if readCost(o, "repost", &s.Repost) {
		s.Reposts = true
	}
	when := []string{"ahead", "once", "per-message"}
	word := when[s.Register]
	o.word("register", &word, when...)
	for i, w := range when {
		if w == word {
			s.Register = Register(i)
		}
	}
	if o.has("registration") || o.describing() {
		costs := o.object("registration", "base", "per_page")
		readCost(costs, "base", &s.RegisterBase)
		readCost(costs, "per_page", &s.RegisterPage)
	}
	names, sizes := pageSizes()
	page := names[0]
	if o.word("page_size", &page, names...) {
		for i, name := range names {
			if name == page {
				s.PageSize = sizes[i]
			}
		}
	}
	readCost(o, "connect", &s.Connect)
}

// hostNotes lists what the host section says; with a preset all that hosts are
// like, as far as one has nothing else of its own.
func (r *resolver) hostNotes(o object) {
	said := flatten(object{r.d, orEmpty(o.n.get("host")), "host"}, nil)
	if r.base.preset != "free" {
		for _, n := range r.base.Notes(r.base.preset) {
			for _, s := range said {
				if s.Key == n.Key || strings.HasPrefix(s.Key, n.Key+".") || n.Key == "host.segmentation" && (s.Key == "host.tso" || s.Key == "host.gso") {
					n.Source = fromScenario
				}
			}
			r.v.Notes = append(r.v.Notes, n)
		}
	}
	for _, s := range said {
		if !r.base.lists(s.Key) {
			r.v.Notes = append(r.v.Notes, s)
		}
	}
}

// lists reports whether the preset's notes have a key, or what it is a part of.
func (s *hostSettings) lists(key string) bool {
	if s.preset == "free" {
		return false
	}
	for _, n := range s.Notes(s.preset) {
		if n.Key == key || strings.HasPrefix(key, n.Key+".") {
			return true
		}
	}
	return false
}

// flatten lists the values of an object and of those in it.
func flatten(o object, to []record.Note) []record.Note {
	for _, f := range o.n.fields {
		switch f.value.kind {
		case scalarNode:
			to = append(to, record.Note{Key: o.path + "." + f.key, Value: f.value.text, Source: fromScenario})
		case mappingNode:
			to = flatten(object{o.d, f.value, o.path + "." + f.key}, to)
		}
	}
	return to
}

// readCost reads a time that something takes.
func readCost(o object, key string, t *units.Time) bool {
	ok := o.time(key, t)
	if ok && *t > maxHostCost {
		o.fail(key, "%v is longer than anything a host does for one message; give at most %v", *t, maxHostCost)
	}
	return ok
}

// warnIgnoredHost looks at costs that never arise.
func (r *resolver) warnIgnoredHost(n int) {
	s := &r.nics[n]
	if s.host.Register == RegisterAhead && (s.host.RegisterBase > 0 || s.host.RegisterPage > 0) {
		r.warn("registration", "host.registration has no effect: memory is registered ahead of the run; give register: once or per-message")
	}
	if s.host.Register != RegisterAhead && s.host.RegisterBase == 0 && s.host.RegisterPage == 0 {
		r.warn("register", "host.register has no effect: registering costs nothing; give registration: {base: .., per_page: ..}, as measured on your hosts")
	}
}
