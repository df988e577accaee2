package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// A message of 10,000 B at 1,000 B into its region touches ceil-wise 3 pages of
// 4 KiB, one of 2 MiB; a region of 1 MB has 245 of the first and one of the
// second. A connection is set up once per queue pair, and what the application
// does first delays what follows on its thread.
func TestConnectAndRegister(t *testing.T) {
	const connect, base, page = 30 * units.Microsecond, 2 * units.Microsecond, 100 * units.Nanosecond
	for _, c := range []struct {
		name, host string
		register   [3]units.Time // of the three messages
		connect    [3]units.Time
	}{
		{"ahead", "{}", [3]units.Time{}, [3]units.Time{}},
		{"connect", "{connect: 30us}", [3]units.Time{}, [3]units.Time{connect}},
		{"per message", "{register: per-message, registration: {base: 2us, per_page: 100ns}}",
			[3]units.Time{base + 3*page, base + 3*page, base + 3*page}, [3]units.Time{}},
		{"huge pages", "{register: per-message, page_size: 2MB, registration: {base: 2us, per_page: 100ns}}",
			[3]units.Time{base + page, base + page, base + page}, [3]units.Time{}},
		{"once", "{register: once, connect: 30us, registration: {base: 2us, per_page: 100ns}}",
			[3]units.Time{base + 245*page}, [3]units.Time{connect}},
		{"once, huge pages", "{register: once, page_size: 2MB, registration: {base: 2us, per_page: 100ns}}",
			[3]units.Time{base + page}, [3]units.Time{}},
	} {
		text := `
name: prepare
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
host: HOST
workload:
  - flow: {from: h0, to: h1, size: 10KB, count: 3, region: 1MB, offset: 1KB}
`
		v := parse(t, strings.Replace(text, "HOST", c.host, 1))
		r := simulate(t, v, 1, 1)
		if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
			t.Errorf("%s: partitions matter: %s", c.name, bad)
		}
		before := units.Time(0) // what the thread did for earlier messages
		for i := range r.Messages {
			f := &r.Messages[i]
			stage := map[string]units.Time{}
			for _, s := range f.Account.Stages() {
				stage[s.Stage.String()] += s.Time
			}
			if got := stage[catalog.StageRegister.String()]; got != c.register[i] {
				t.Errorf("%s: message %d registers for %d ps, want %d", c.name, i, got, c.register[i])
			}
			if got := stage[catalog.StageConnect.String()]; got != c.connect[i] {
				t.Errorf("%s: message %d connects for %d ps, want %d", c.name, i, got, c.connect[i])
			}
			if got := stage[catalog.StageCPU.String()]; got != before {
				t.Errorf("%s: message %d waits %d ps for the thread, want %d", c.name, i, got, before)
			}
			before += c.register[i] + c.connect[i]
		}
	}
}
