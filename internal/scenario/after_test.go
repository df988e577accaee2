package scenario

import (
	"strings"
	"testing"
)

// What waits for nothing that there is, or for itself, is one line that says so.
func TestBadAfter(t *testing.T) {
	const head = "topology: {star: {hosts: 4, link: 100Gbps}}\nworkload:\n  - flow: {name: a, from: h0, to: h1, size: 1KB}\n"
	for text, want := range map[string]string{
		"{name: b, from: h1, to: h2, size: 1KB, after: c}":              `s.yaml:4:57: workload[1].flow.after: "c" sends no messages that others can wait for; the first is "a" and the last "b"`,
		"{name: b, from: h1, to: h2, size: 1KB, after: b}":              `s.yaml:4:5: workload b: after: b: they wait for each other in a circle`,
		"{from: h1, to: h2, size: 1KB, after: a, start: 1us}":           `s.yaml:4:48: workload[1].flow.after: starts what start gives a time to; keep one`,
		"{from: h1, to: h2, size: 1KB, after: []}":                      `s.yaml:4:48: workload[1].flow.after: names nothing;`,
		"{from: h1, to: h2, size: 1KB, after: {a: 1}}":                  `s.yaml:4:49: workload[1].flow.after is the name of an entry`,
		"{from: h1, to: h2, size: 1KB, after: received a, service: uc}": "",
	} {
		_, err := Parse("s.yaml", []byte(head+"  - flow: "+text+"\n"), nil, nil)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s\n got  %v\n want %s", text, err, want)
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: more than a line", text)
		}
	}
}
