package advise

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/units"
)

// watched is a counter that tells of trouble on a fabric. Names are those of internal/counters, whose comments have
// the sources; "N" in a name is each priority that PFC stops.
type watched struct {
	name, command, about string
	port                 bool // counted at ports, within the measure window
	on                   []catalog.Fabric
	verbs, sockets       bool // of which APIs
}

func watchList() []watched {
	ethernet := []catalog.Fabric{catalog.LossyEthernet, catalog.LosslessEthernet}
	lossless := []catalog.Fabric{catalog.LosslessEthernet}
	credits := []catalog.Fabric{catalog.CreditedFabric}
	all := append(slices.Clone(ethernet), credits...)
	return []watched{
		{"rx_prioN_pause_duration", "ethtool -S", "us for which the switch stopped a host", true, lossless, true, false},
		{"tx_prioN_pause_duration", "ethtool -S", "us for which a slow host stopped its switch", true, lossless, true, false},
		{"TX_DRP", "show interfaces counters", "frames that found an egress queue full", true, ethernet, true, true},
		{"RX_DRP", "show interfaces counters", "frames dropped on their way in", true, ethernet, true, true},
		{"np_cnp_sent", "rdma statistic", "CNPs: marks that reached a receiver", false, ethernet, true, false},
		{"out_of_sequence", "rdma statistic", "packets that came after a gap", false, all, true, false},
		{"local_ack_timeout_err", "rdma statistic", "requests that only a timer could save", false, all, true, false},
		{"rx_discards_phy", "ethtool -S", "frames for which a host had no room", true, ethernet, true, true},
		{"PortXmitWait", "perfquery -x", "ticks in which a port had data and no credits", true, credits, true, false},
		{"PortXmitDiscards", "perfquery -x", "packets that waited beyond their lifetime", true, credits, true, false},
	}
}

// concerns reports whether a counter tells of what the layers carry.
func (w *watched) concerns(l catalog.Layering) bool {
	return slices.Contains(w.on, l.Fabric) &&
		(w.verbs && l.API == catalog.VerbsAPI || w.sockets && l.API == catalog.SocketsAPI)
}

// Watch is a counter to watch in production, and from where on it says what the runs did not.
type Watch struct {
	Counter string  `json:"counter"`
	Command string  `json:"command"`
	About   string  `json:"about"`
	Least   float64 `json:"least_per_ms"` // of the seeds, each at the box or port that had most
	Most    float64 `json:"most_per_ms"`
	// Alarm is the threshold, per millisecond: the most of all seeds, and as much above it as they differ. 0: the
	// counter stood still in all runs, so that any count is news.
	Alarm float64 `json:"alarm_above_per_ms"`
}

// watch lists what to watch on the fabric that carries the data plane.
func watch(seen []*Seen, l catalog.Layering) (out []Watch) {
	for _, w := range watchList() {
		if !w.concerns(l) {
			continue
		}
		names := []string{w.name}
		if strings.Contains(w.name, "prioN") {
			names = nil
			for _, class := range seen[0].Pauses {
				names = append(names, strings.Replace(w.name, "N", strconv.Itoa(class), 1))
			}
		}
		for _, name := range names {
			if one, ok := watchOne(seen, w, name); ok {
				out = append(out, one)
			}
		}
	}
	return out
}

// watchOne is a counter over the seeds; ok is false where the boxes have none of the name.
func watchOne(seen []*Seen, w watched, name string) (Watch, bool) {
	var perMS []float64
	for _, o := range seen {
		n, ok := o.counts[name]
		if !ok {
			return Watch{}, false
		}
		over := o.over
		if w.port {
			over = o.window
		}
		perMS = append(perMS, float64(n)*float64(units.Millisecond)/float64(over))
	}
	least, most := slices.Min(perMS), slices.Max(perMS)
	return Watch{name, w.command, w.about, least, most, most + (most - least)}, true
}

// countsOf reads the counters that boxes print: the largest of each name. In lines "name: 1", "name:....1" and
// "link name 1 name 1"; of SONiC's table of interfaces by column.
func countsOf(files []counters.File) map[string]int64 {
	out := map[string]int64{}
	put := func(name, value string) {
		n, err := strconv.ParseInt(strings.ReplaceAll(value, ",", ""), 10, 64)
		if old, there := out[name]; err == nil && (!there || n > old) {
			out[name] = n
		}
	}
	for i := range files {
		var head []string // of a table that is being read
		for line := range strings.Lines(files[i].Text) {
			words := strings.Fields(strings.NewReplacer(":", " ", "..", "").Replace(line))
			switch {
			case len(words) == 0:
				head = nil
			case words[0] == "IFACE":
				head = words
			case head != nil:
				for k := range min(len(head), len(words)) {
					put(head[k], words[k])
				}
			case words[0] == "link":
				for k := 2; k+1 < len(words); k += 2 {
					put(words[k], words[k+1])
				}
			case len(words) == 2:
				put(words[0], strings.Trim(words[1], "."))
			}
		}
	}
	return out
}
