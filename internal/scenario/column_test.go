package scenario

import (
	"strings"
	"testing"
)

const gpuFlow = "topology: {star: {hosts: 4, link: 400Gbps}}\nserver: dgx-h100\nworkload:\n  - flow: {from: h0/gpu0, to: h1/gpu0, size: 1KB}\n"

// A column says how data of GPUs get to the card, over what servers say; an entry that
// says so itself keeps its way. What is kept of a column reads back as the same.
func TestColumnsOfHostPaths(t *testing.T) {
	const direct, staged = "h0/gpu0 > h1/gpu0", "h0/gpu0 staged > h1/gpu0 staged"
	serverOff := strings.Replace(gpuFlow, "dgx-h100", "{preset: dgx-h100, gpudirect: off}", 1)
	hostOff := gpuFlow + "hosts: {h0: {server: {gpudirect: off}}}\n"
	entryOff, entryOn := strings.Replace(gpuFlow, "1KB", "1KB, gpudirect: off", 1), strings.Replace(gpuFlow, "1KB", "1KB, gpudirect: on", 1)
	for _, c := range []struct{ text, column, want string }{
		{gpuFlow, "", direct},
		{gpuFlow, "rocev2", direct},
		{gpuFlow, "rocev2 staged", staged},
		{gpuFlow, "infiniband staged", staged},
		{gpuFlow, "tcp", staged},
		{gpuFlow + "gpudirect: off\n", "", staged},
		{gpuFlow + "gpudirect: off\n", "rocev2", direct},
		{serverOff, "", staged},
		{serverOff, "rocev2", direct},
		{serverOff + "gpudirect: on\n", "", direct},
		{hostOff, "", "h0/gpu0 staged > h1/gpu0"},
		{hostOff, "rocev2", direct},
		{entryOff, "rocev2", staged},
		{entryOff + "gpudirect: on\n", "", staged},
		{entryOn, "rocev2 staged", direct},
		{entryOn, "dctcp", staged},
	} {
		var columns []string
		if c.column != "" {
			columns = []string{c.column}
		}
		v, err := loadColumn("s.yaml", []byte(c.text), c.column, columns, nil, nil)
		if err != nil {
			t.Errorf("%q of %s: %v", c.column, c.text, err)
			continue
		}
		if got := ends(v); got != c.want {
			t.Errorf("%q of %s: %s, want %s", c.column, c.text, got, c.want)
		}
		if again := parse(t, string(v.Source)); ends(again) != c.want {
			t.Errorf("%q of %s reads back as %s", c.column, c.text, ends(again))
		}
	}
}

// There are columns of both ways where data lie in GPUs, one of TCP, and all default
// columns are among them.
func TestColumnNames(t *testing.T) {
	plain := parse(t, strings.ReplaceAll(gpuFlow, "/gpu0", ""))
	if got := strings.Join(Columns(plain), ","); got != strings.Join(StackNames(), ",") || got != strings.Join(DefaultColumns(plain), ",") {
		t.Errorf("without GPUs %s", got)
	}
	v := parse(t, gpuFlow)
	all := Columns(v)
	if want := 2*len(StackNames()) - 2; len(all) != want {
		t.Errorf("%d columns, want %d: %v", len(all), want, all)
	}
	for _, name := range append(DefaultColumns(v), all...) {
		if msg := (Known{}).CheckColumn(name); msg != "" || !contains(all, name) {
			t.Errorf("%s: %s", name, msg)
		}
	}
	for name, want := range map[string]string{
		"tcp staged":    `"tcp staged": TCP always copies data of GPUs through the host's memory; say tcp`,
		"rocev3 staged": `"rocev3" is not a stack; did you mean "rocev2"?`,
		"rocev2 hpc":    `"hpc" is no congestion control; did you mean "hpcc"?`,
		"tcp hpcc":      `"tcp hpcc": the stack tcp has no congestion control that another could stand in for; say tcp`,
		"staged":        `"staged" is not a stack; use one of `,
	} {
		if got := (Known{}).CheckColumn(name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Without data in GPUs nothing is staged: a column is refused, the key is warned of.
func TestNothingToStage(t *testing.T) {
	text := strings.ReplaceAll(gpuFlow, "/gpu0", "")
	_, err := loadColumn("s.yaml", []byte(text), "rocev2 staged", []string{"rocev2 staged"}, nil, nil)
	if want := `--stacks: "rocev2 staged" stages data of GPUs, and no data that cross the network lie in a GPU; name ends such as h0/gpu0, of hosts with a server`; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	v := parse(t, text+"gpudirect: off\n")
	if len(v.Warnings) != 1 || !strings.HasPrefix(v.Warnings[0], "gpudirect has no effect: no data that cross") {
		t.Errorf("%v", v.Warnings)
	}
	if v, err = loadColumn("s.yaml", []byte(text+"gpudirect: off\n"), "rocev2", []string{"rocev2"}, nil, nil); err != nil || len(v.Warnings) > 0 {
		t.Errorf("%v", err)
	}
}
