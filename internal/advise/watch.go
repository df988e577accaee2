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
// the sources; "N" in a name is each priority that PFC stops, of queues the one that grew most.
type watched struct {
	name, command, about string
	of                   measure
	on                   []catalog.Fabric
	verbs, sockets       bool // of which APIs
	share                bool // it counts microseconds
}

// measure says over what a counter counts.
type measure int

const (
	ofRun    measure = iota // by queue pairs, over the whole run
	ofWindow                // at ports, within the measure window
	mostEver                // a watermark in bytes, in the window
)

func watchList() []watched {
	ethernet := []catalog.Fabric{catalog.LossyEthernet, catalog.LosslessEthernet}
	lossless := []catalog.Fabric{catalog.LosslessEthernet}
	credits := []catalog.Fabric{catalog.CreditedFabric}
	all := append(slices.Clone(ethernet), credits...)
	return []watched{
		{"rx_prioN_pause_duration", "ethtool -S", "us for which the switch stopped a host",
			ofWindow, lossless, true, false, true},
		{"tx_prioN_pause_duration", "ethtool -S", "us for which a slow host stopped its switch",
			ofWindow, lossless, true, false, true},
		{"PGN", "show priority-group watermark headroom", "used of the headroom, which PFC needs so as not to drop",
			mostEver, lossless, true, false, false},
		{"UCN", "show queue watermark unicast", "the deepest queue", mostEver, ethernet, true, true, false},
		{"TX_DRP", "show interfaces counters", "frames that found an egress queue full",
			ofWindow, ethernet, true, true, false},
		{"RX_DRP", "show interfaces counters", "frames dropped on their way in", ofWindow, ethernet, true, true, false},
		{"np_cnp_sent", "rdma statistic", "CNPs: marks that reached a receiver", ofRun, ethernet, true, false, false},
		{"out_of_sequence", "rdma statistic", "packets that came after a gap", ofRun, all, true, false, false},
		{"local_ack_timeout_err", "rdma statistic", "requests that only a timer could save", ofRun, all, true, false, false},
		{"rx_discards_phy", "ethtool -S", "frames for which a host had no room", ofWindow, ethernet, true, true, false},
		{"PortXmitWait", "perfquery -x", "ticks in which a port had data and no credits",
			ofWindow, credits, true, false, false},
		{"PortXmitDiscards", "perfquery -x", "packets that waited beyond their lifetime",
			ofWindow, credits, true, false, false},
	}
}

// concerns reports whether a counter tells of what the layers carry.
func (w watched) concerns(l catalog.Layering) bool {
	return slices.Contains(w.on, l.Fabric) &&
		(w.verbs && l.API == catalog.VerbsAPI || w.sockets && l.API == catalog.SocketsAPI)
}

// Watch is a counter to watch in production, and from where on it says what the runs did not.
type Watch struct {
	Counter string  `json:"counter"`
	Command string  `json:"command"`
	About   string  `json:"about"`
	Unit    string  `json:"unit"`  // "per ms" or "bytes"
	Least   float64 `json:"least"` // of the seeds, each at the box or port that had most
	Most    float64 `json:"most"`
	// Alarm is the threshold: the most of all seeds, and as much above it as they differ, or a tenth if that is more.
	// 0: the counter stood still in all runs, so that any count is news.
	Alarm float64 `json:"alarm_above"`
}

// Units of Watch.
const (
	PerMS = "per ms"
	Bytes = "bytes"
)

// watch lists what to watch on the fabrics of a run.
func watch(seen []*Seen, layers []catalog.Layering) (out []Watch) {
	for _, w := range watchList() {
		if !slices.ContainsFunc(layers, w.concerns) {
			continue
		}
		for _, name := range w.names(seen) {
			if one, ok := watchOne(seen, w, name); ok {
				out = append(out, one)
			}
		}
	}
	return out
}

// names are those of a counter with its priorities put in.
func (w *watched) names(seen []*Seen) (out []string) {
	with := func(class int) string { return strings.Replace(w.name, "N", strconv.Itoa(class), 1) }
	switch {
	case w.name == "UCN":
		most, best := int64(-1), 0
		for class := range 8 {
			if n, there := seen[0].counts[w.key(with(class))]; there && n > most {
				most, best = n, class
			}
		}
		return []string{with(best)}
	case strings.Contains(w.name, "prioN") || w.name == "PGN":
		for _, class := range seen[0].Pauses {
			out = append(out, with(class))
		}
		return out
	}
	return []string{w.name}
}

// key is by what counts has a counter.
func (w *watched) key(name string) string {
	if strings.HasPrefix(w.command, "show ") {
		return w.command + "/" + name
	}
	return name
}

// watchOne is a counter over the seeds; ok is false where the boxes have none of the name.
func watchOne(seen []*Seen, w watched, name string) (Watch, bool) {
	var all []float64
	unit := PerMS
	for _, o := range seen {
		n, ok := o.counts[w.key(name)]
		if !ok {
			return Watch{}, false
		}
		x := float64(n)
		switch w.of {
		case ofRun:
			x *= float64(units.Millisecond) / float64(o.over)
		case ofWindow:
			x *= float64(units.Millisecond) / float64(o.window)
		case mostEver:
			unit = Bytes
		}
		all = append(all, x)
	}
	least, most := slices.Min(all), slices.Max(all)
	alarm := most + max(most-least, most*above)
	if w.share { // of which there are 1,000 us in a millisecond
		alarm = min(alarm, (most+1000)/2)
	}
	return Watch{name, w.command, w.about, unit, least, most, alarm}, true
}

// above is by what part an alarm is at least above what was seen. Assumed: a tenth more of the same load is no news.
const above = 0.1

// countsOf reads the counters that boxes print: the largest of each name. In lines "name: 1", "name:....1" and
// "link name 1 name 1"; of SONiC's tables by command and column.
func countsOf(files []counters.File) map[string]int64 {
	out := map[string]int64{}
	put := func(name, value string) {
		n, err := strconv.ParseInt(strings.ReplaceAll(value, ",", ""), 10, 64)
		if old, there := out[name]; err == nil && (!there || n > old) {
			out[name] = n
		}
	}
	for i := range files {
		command := ""
		var last, head []string // the line before, and the titles of a table that is being read
		for line := range strings.Lines(files[i].Text) {
			words := strings.Fields(strings.NewReplacer(":", " ", "..", "").Replace(line))
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
				command = rest
			}
			switch {
			case len(words) == 0:
				head = nil
			case strings.HasPrefix(words[0], "---"):
				head = last
			case head != nil:
				for k := 1; k <= min(len(head), len(words)); k++ { // from the right, as the first title may have two words
					put(command+"/"+head[len(head)-k], words[len(words)-k])
				}
			case words[0] == "link":
				for k := 2; k+1 < len(words); k += 2 {
					put(words[k], words[k+1])
				}
			case len(words) == 2:
				put(words[0], strings.Trim(words[1], "."))
			}
			last = words
		}
	}
	return out
}
