package scenario

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
)

// sameAgain parses what was kept of a scenario made from foreign files and
// compares everything that a run depends on.
func sameAgain(t *testing.T, name string, v *Valid) {
	t.Helper()
	again, err := Parse(name, v.Source, nil, nil)
	if err != nil {
		t.Errorf("%s: its own scenario: %v", name, err)
		return
	}
	want, got := *v, *again
	want.Source, got.Source = nil, nil
	for _, c := range []*congestion.Control{v.Control, again.Control} {
		if c != nil {
			c.New = nil // functions differ
		}
	}
	for i := range reflect.TypeOf(want).NumField() {
		a, b := reflect.ValueOf(want).Field(i).Interface(), reflect.ValueOf(got).Field(i).Interface()
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s differs:\nfrom the files   %.300v\nfrom the import  %.300v", name, reflect.TypeOf(want).Field(i).Name, a, b)
		}
	}
}

// A scenario made from the simulators' files says all that they said: switches
// among the hosts, losses, a failing link, several classes and ports.
func TestNS3ImportIsWhole(t *testing.T) {
	const topo = "5 2 4\n0 3\n1 0 100Gbps 1000ns 0\n2 0 100Gbps 1us 0.00001\n0 3 400Gbps 1us 0\n3 4 100Gbps 1.5us 0\n"
	const flows = "4\n1 2 3 100 5500 2.000000000\n1 2 3 100 5500 2.0000000271\n4 1 2 200 7 2.5\n2 4 3 100 123456789 3\n"
	config := strings.Replace(ns3ConfigText, "LINK_DOWN 0 0 0", "LINK_DOWN 700 0 3", 1)
	for _, c := range []struct{ name, config, topo, flows string }{
		{"plain", ns3ConfigText, ns3TopologyText, ns3FlowText},
		{"no destination ports", ns3ConfigText, ns3TopologyText, "1\n1 0 3 5500 2\n"},
		{"everything", strings.Replace(config, "GLOBAL_T 1", "GLOBAL_T 0", 1) + "ERROR_RATE_PER_LINK 0.002\n", topo, flows},
		{"no congestion control", strings.Replace(config, "ENABLE_QCN 1", "ENABLE_QCN 0", 1), topo, flows},
	} {
		seed := uint64(7)
		v, err := LoadNS3(filepath.Join(writeNS3(t, c.config, c.topo, c.flows), "config.txt"), []string{"BUFFER_SIZE=9"}, &seed)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		sameAgain(t, c.name, v)
	}
}

// The same for the real files.
func TestNS3ImportRealFiles(t *testing.T) {
	configs, _ := filepath.Glob(filepath.Join(os.Getenv("HOPSCOPE_DATA"), "ns3", "*", "config.txt"))
	if os.Getenv("HOPSCOPE_DATA") == "" || len(configs) == 0 {
		t.Skip("HOPSCOPE_DATA names no folder with ns3/*/config.txt")
	}
	loaded := 0
	for _, config := range configs {
		v, err := LoadNS3(config, nil, nil)
		if err != nil { // congestion control that is not built
			continue
		}
		loaded++
		sameAgain(t, filepath.Base(filepath.Dir(config)), v)
	}
	if loaded < 15 {
		t.Errorf("only %d of %d configurations loaded", loaded, len(configs))
	}
}

func TestBadNS3Section(t *testing.T) {
	v, err := LoadNS3(filepath.Join(writeNS3(t, ns3ConfigText, ns3TopologyText, ns3FlowText), "config.txt"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ set, want string }{
		{"ns3.BUFER_SIZE=4", `--set ns3.BUFER_SIZE=4: unknown key "BUFER_SIZE" in ns3; did you mean "BUFFER_SIZE"?`},
		{"ns3.BUFFER_SIZE=many", `--set ns3.BUFFER_SIZE=many: BUFFER_SIZE "many" is not a whole number from 1 to 1024`},
		{"ns3.KMAX_MAP=4", `--set ns3.KMAX_MAP=4: ns3.KMAX_MAP is a single value; it maps rates in bit/s to values, such as {100000000000: 400}`},
		{"ns3.RP_TIMER=[1]", `--set ns3.RP_TIMER=[1]: ns3.RP_TIMER is a list; one value is needed`},
		{"ns3.CC_MODE=10", `--set ns3.CC_MODE=10: CC_MODE 10 (HPCC-PINT) is not built yet; use 1 (DCQCN), 3 (HPCC), 7 (TIMELY) or 8 (DCTCP), or ENABLE_QCN 0 for none`},
		{"switch.buffer=4MB", `--set switch.buffer=4MB: switch: beside ns3 the rules are those of the ns-3 RDMA simulators; leave it out, or change keys of ns3`},
	} {
		_, err := Parse("s.yaml", v.Source, []string{c.set}, nil)
		if got := errText(err); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
