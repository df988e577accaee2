package scenario

import (
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/units"
)

// hostSettings is the `host` section, and what `hosts` overrides of it.
type hostSettings struct{ Host }

// pageSizes are the sizes of memory pages by name; they are powers of two
// however they are written.
func pageSizes() ([]string, []units.Bytes) {
	return []string{"4KB", "64KB", "2MB", "1GB"}, []units.Bytes{4 * units.KiB, 64 * units.KiB, 2 * units.MiB, units.GiB}
}

// hostKeys are the keys of a host section.
func hostKeys() []string {
	return []string{"post", "poll", "repost", "register", "registration", "page_size", "connect"}
}

// defaultHost costs nothing.
func defaultHost() hostSettings {
	free, _ := host.Preset("free")
	return hostSettings{Host{Spec: free, PageSize: 4 * units.KiB}}
}

// maxHostCost bounds each cost, so that sums of them stay far from the clock's
// end.
const maxHostCost = 10 * units.Second

// readHost applies the keys of a host section, or of one host's, to s.
func readHost(o object, s *hostSettings) {
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

// hostNotes lists what the host section says.
func (r *resolver) hostNotes(o object) {
	h := object{r.d, orEmpty(o.n.get("host")), "host"}
	costs := object{r.d, orEmpty(h.n.get("registration")), "host.registration"}
	for _, from := range []object{h, costs} {
		for _, f := range from.n.fields {
			if f.value.kind == scalarNode {
				r.note(from.path+"."+f.key, f.value.text, fromScenario)
			}
		}
	}
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
