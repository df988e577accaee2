package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/scenario"
)

func of(t *testing.T, text string, set ...string) Config {
	t.Helper()
	v, err := scenario.Parse("s.yaml", []byte(text), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Of(v)
}

const star = "topology: {star: {hosts: 3, link: {rate: 100Gbps, length: 40m}}}\nworkload:\n  - incast: {to: h2, size: 1MB}\n"

func TestSONiC(t *testing.T) {
	c := of(t, star, "switch.memory.preset=tomahawk", "switch.ecn.kmin=150KB", "switch.ecn.kmax=1500KB", "switch.ecn.pmax=5%")
	var got map[string]map[string]map[string]string
	if err := json.Unmarshal([]byte(c.SONiC), &got); err != nil {
		t.Fatal(err)
	}
	// The row of pg_profile_lookup.ini of the 7060CX-32S for 100G over 40 m, alpha 1.
	group := got["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]
	for field, want := range map[string]string{"pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "177632", "xon_offset": "2288", "dynamic_th": "0"} {
		if group[field] != want {
			t.Errorf("%s %q, the table has %q", field, group[field], want)
		}
	}
	marks := got["WRED_PROFILE"]["HOPSCOPE_100000"]
	for field, want := range map[string]string{"ecn": "ecn_all", "green_min_threshold": "150000", "red_max_threshold": "1500000", "yellow_drop_probability": "5", "wred_green_enable": "true"} {
		if marks[field] != want {
			t.Errorf("%s %q, want %q", field, marks[field], want)
		}
	}
	if len(marks) != 13 || len(c.Notes) != 0 {
		t.Errorf("%v, %v", marks, c.Notes)
	}
	if c := of(t, star, "switch.ecn.pmax=0.002", "switch.pfc.alpha=1/3"); len(c.Notes) != 2 || !strings.Contains(c.SONiC, `"dynamic_th": "-2"`) ||
		!strings.Contains(c.SONiC, `"green_drop_probability": "1"`) {
		t.Errorf("%v\n%s", c.Notes, c.SONiC)
	}
}

func TestMLX5(t *testing.T) {
	c := of(t, star, "dcqcn.rpg_ai_rate=44Mbps", "dcqcn.rpg_time_reset=55us", "dcqcn.min_time_between_cnps=50us", "switch.pfc.enabled=[3,4]", "nic.pfc.enabled=[3,4]")
	for _, want := range []string{
		"mlnx_qos -i $IF --trust=dscp --pfc=0,0,0,1,1,0,0,0\n",
		"echo 1 > /sys/class/net/$IF/ecn/roce_rp/enable/4\n",
		"echo 44 > /sys/class/net/$IF/ecn/roce_rp/rpg_ai_rate  # Mb/s\n",
		"echo 55 > /sys/class/net/$IF/ecn/roce_rp/rpg_time_reset  # us\n",
		"echo 50 > /sys/class/net/$IF/ecn/roce_np/min_time_between_cnps  # us\n",
	} {
		if !strings.Contains(c.MLX5, want) {
			t.Errorf("no %q in\n%s", want, c.MLX5)
		}
	}
	if strings.Contains(c.MLX5, "rpg_hai_rate") {
		t.Errorf("what is the firmware's is not to be set:\n%s", c.MLX5)
	}
	if c := of(t, star, "stack=rocev2-pfc-only"); c.MLX5 != "" || len(c.Notes) != 1 || strings.Contains(c.SONiC, "WRED") {
		t.Errorf("%+v", c)
	}
	if c := of(t, star, "stack=infiniband"); c.SONiC != "" {
		t.Errorf("%+v", c)
	}
}

// Every file is one that a card has, and every field one that SONiC's own sample has.
func TestNamesAreReal(t *testing.T) {
	dir := os.Getenv("HOPSCOPE_DATA")
	if dir == "" {
		t.Skip("HOPSCOPE_DATA names no folder")
	}
	files, err := os.ReadFile(filepath.Join(dir, "host", "sysfs-net-ecn-dcqcn.txt"))
	if err != nil {
		t.Fatal(err)
	}
	c := of(t, star, "dcqcn=paper", "dcqcn.rpg_max_rate=50Gbps", "dcqcn.rate_to_set_on_first_cnp=1Gbps")
	lines := regexp.MustCompile(`/sys/class/net/\$IF/ecn/(\S+)`).FindAllStringSubmatch(c.MLX5, -1)
	if len(lines) < 12 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if !strings.Contains(string(files), "/ecn/"+l[1]+"\t") {
			t.Errorf("no card has %s", l[1])
		}
	}
	sample, err := os.ReadFile(filepath.Join(dir, "sonic", "qos-arista7260-t0.json"))
	if err != nil {
		t.Fatal(err)
	}
	buffers, err := os.ReadFile(filepath.Join(dir, "sonic", "db_migrator-mellanox-sn2700-t0-version_3_0_3.json"))
	if err != nil {
		t.Fatal(err)
	}
	known := string(sample) + string(buffers)
	for _, field := range regexp.MustCompile(`"([a-z_]+)": "`).FindAllStringSubmatch(c.SONiC, -1) {
		if name := field[1]; !strings.Contains(known, `"`+name+`"`) && name != "xon_offset" { // of Broadcom's pg_profile_lookup.ini
			t.Errorf("no table of SONiC's has %s", name)
		}
	}
}
