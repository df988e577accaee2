package record

import "testing"

// The zero Act never happened, so that it has no first time.
func TestMerge(t *testing.T) {
	early, late, none := Act{Count: 2, First: 3, Last: 9, Sum: 5}, Act{Count: 1, First: 7, Last: 12, Sum: 4}, Act{}
	for _, tt := range []struct {
		name       string
		a, b, want Act
	}{
		{"two", early, late, Act{Count: 3, First: 3, Last: 12, Sum: 9}},
		{"in the other order", late, early, Act{Count: 3, First: 3, Last: 12, Sum: 9}},
		{"nothing before", none, late, late},
		{"nothing after", late, none, late},
		{"nothing at all", none, none, none},
	} {
		if got := tt.a.Merge(tt.b); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestNodeOf(t *testing.T) {
	for port, want := range map[string]string{"h4:1": "h4", "leaf-1:32": "leaf-1", "h4": "h4"} {
		if got := NodeOf(port); got != want {
			t.Errorf("%s is a port of %q, want %q", port, got, want)
		}
	}
}

func TestFirstPost(t *testing.T) {
	r := &Run{}
	if got := r.FirstPost(); got != 0 {
		t.Errorf("%d without messages", got)
	}
	r.Messages = []Message{{StartPS: 9}, {StartPS: 4}, {StartPS: 6}}
	if got := r.FirstPost(); got != 4 {
		t.Errorf("%d, want 4", got)
	}
}
