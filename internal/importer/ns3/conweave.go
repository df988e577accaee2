package ns3

import (
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/tree"
)

// drained is how long after its last flow begins the simulator of conweave goes on, in seconds (its
// network-load-balance.cc stops at FLOWGEN_STOP_TIME + 10).
const drained = 10

// readConweave reads what conweave's config files say beyond others. What would change the course of a
// run and is not there is said.
func (c *config) readConweave() {
	if w := c.keys["FLOWGEN_STOP_TIME"]; w != nil && c.keys["SIMULATOR_STOP_TIME"] == nil {
		stop := c.Decimal(w[0], "FLOWGEN_STOP_TIME", 1e9) + drained
		c.keys["SIMULATOR_STOP_TIME"] = []word{{Text: strconv.FormatFloat(stop, 'f', -1, 64), Pos: w[0].Pos}}
		c.at["SIMULATOR_STOP_TIME"] = w[0].Pos
	}
	mode := c.Number(c.word("LB_MODE", "0"), "LB_MODE", 0, 1000)
	pfc := c.Number(c.word("ENABLE_PFC", "1"), "ENABLE_PFC", 0, 1)
	irn := c.Number(c.word("ENABLE_IRN", "0"), "ENABLE_IRN", 0, 1)
	if c.Err != nil {
		return
	}
	if mode != 0 {
		names := map[int64]string{2: "DRILL", 3: "CONGA", 6: "LetFlow", 9: "ConWeave"}
		c.Warn(fmt.Sprintf("LB_MODE %d (%s) is left out: flows choose links by a hash, as with LB_MODE 0; routing of a "+
			"scenario without an ns3 section has drill and flowlet", mode, or(names[mode], "unknown there")))
	}
	if pfc == 0 {
		c.Warn("ENABLE_PFC 0 is left out: the rules of those simulators run with PFC; the stack rocev2-irn has none")
	}
	if irn == 1 {
		c.Warn("ENABLE_IRN 1 is left out: the rules of those simulators run with go-back-N; see the stack rocev2-irn")
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// port chooses that of a flow between hosts that may have several links: in turn, where those
// simulators hash.
func (t *topo) port(host int64, turn int) string {
	name := t.name(host)
	if n := t.ends[host]; n > 1 {
		name += ":" + strconv.Itoa(1+turn%n)
	}
	return name
}

// sayDualHomed says how flows use several links of a host.
func (t *topo) sayDualHomed() {
	for id, n := range t.ends {
		if t.kinds[id] == hostNode && n > 1 {
			t.Warn(fmt.Sprintf("host %d has %d links: flows take those of their ends in turn, where those simulators "+
				"hash", id, n))
			return
		}
	}
}

// shortOfSwitches reports whether a row is a link's already, though fewer switches stand before it than
// were announced.
func shortOfSwitches(row []tree.Word) bool {
	if len(row) != 5 {
		return false
	}
	_, bad := Rate(row[2], "")
	return bad == nil
}
