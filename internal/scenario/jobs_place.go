package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/workload"
)

// jobPlacement is what a job says of where its ranks are, and how fast they compute.
type jobPlacement struct {
	size   int
	jitter float64
	slow   []int32
}

// Words of placement; anything else names a file.
const (
	packed    = "packed"
	scattered = "scattered"
	shuffled  = "random"
)

// placementKeys are the keys of that.
func placementKeys(j *jobPlacement) []key {
	return []key{
		numberKey("size", &j.size, 1, collective.MaxRanks, "How many ranks the job has: of the places in `ranks` so many "+
			"that no job before it has, by `placement`.").otherwise("all in `ranks`"),
		textKey("placement", "`packed`, `scattered`, `random`, name of a file", anyScalar(), func(object, string) {},
			"`packed`: the first ones that are free, so that ranks fill a server before the next; `scattered`: from each "+
				"server one in turn; `random`: by the seed; else a file of lines `rank,place` such as `0,h3/gpu1`.").
			otherwise("`packed`, where there is a `size`"),
		otherKey("slow", "ranks with factors", []jsonSchema{mapOf(numberOrText())}, readLater,
			"How many times as long computations of ranks take: `{3: 1.5, 8..15: 1.2}`.").otherwise("1"),
		probabilityKey("jitter", &j.jitter, "Standard deviation of a factor that each computation takes, drawn anew each "+
			"time by a stream of the rank's own.").otherwise("0"),
	}
}

// placeRanks chooses the places of a job's ranks out of those that it lists, and notes that they are taken.
func (r *resolver) placeRanks(o object, j *jobEntry) {
	if r.d.err != nil {
		return
	}
	word := o.text("placement")
	if r.taken == nil {
		r.taken = make(map[jobSite]string)
	}
	if o.has("size") || o.has("placement") {
		r.choosePlaces(o, j, word)
	}
	entry := r.v.Plan.Entries[len(r.v.Plan.Entries)-1]
	own := make(map[jobSite]int)
	for k := range j.Ranks {
		at := siteOf(&j.Ranks[k])
		other, twice := own[at]
		switch by := r.taken[at]; {
		case r.d.err != nil || at.device == workload.NoDevice && !twice:
		case twice:
			o.fail("ranks", "ranks %d and %d are both on %s; each is on one of its own", other, k, r.siteName(&j.Ranks[k]))
		case by != "":
			o.fail("ranks", "rank %d is on %s, which is %s's; each GPU has one rank: list others, or give a size, and a "+
				"placement of those that are free", k, r.siteName(&j.Ranks[k]), by)
		}
		own[at] = k
	}
	for k := range j.Ranks {
		if at := siteOf(&j.Ranks[k]); r.taken[at] == "" {
			r.taken[at] = entry
		}
	}
	r.readSlow(o, j)
}

// jobSite is where a rank is.
type jobSite struct {
	host   int
	device int16
}

func siteOf(x *collective.Rank) jobSite { return jobSite{x.Host, x.Device} }

// siteName is how scenarios write where a rank is.
func (r *resolver) siteName(x *collective.Rank) string {
	name := r.v.Graph.Nodes[x.Host].Name
	if x.Device != workload.NoDevice {
		name += "/" + r.nics[x.Host].server.tree.Devices[x.Device].Name
	}
	return name
}

// choosePlaces takes of the places that a job lists those that its placement says.
func (r *resolver) choosePlaces(o object, j *jobEntry, word string) {
	var free []collective.Rank
	for k := range j.Ranks {
		if r.taken[siteOf(&j.Ranks[k])] == "" {
			free = append(free, j.Ranks[k])
		}
	}
	switch word {
	case "", packed:
	case scattered:
		free = scatter(free)
	case shuffled:
		stream := rng.New(r.v.Seed, "jobs/"+r.v.Plan.Entries[len(r.v.Plan.Entries)-1]+"/placement")
		stream.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	default:
		free = r.placesOf(o, word, j.Ranks)
	}
	size := cmp.Or(j.size, len(free))
	switch {
	case r.d.err != nil:
	case len(free) < size && word != "" && word != packed && word != scattered && word != shuffled:
		o.fail("size", "%d ranks, and %s places %d", size, word, len(free))
	case len(free) < size:
		o.fail("size", "%d ranks, and of the %d places in ranks only %d are free of other jobs", size, len(j.Ranks),
			len(free))
	case size == 0:
		o.fail("placement", "no place in ranks is free of other jobs")
	default:
		j.Ranks = free[:size]
	}
}

// scatter orders places so that hosts take turns.
func scatter(free []collective.Rank) (out []collective.Rank) {
	turn := make(map[int]int, len(free)) // by host: how many it has had
	number := make([]int, len(free))
	order := make([]int, len(free))
	for k := range free {
		number[k], order[k] = turn[free[k].Host], k
		turn[free[k].Host]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(number[a], number[b]) })
	for _, k := range order {
		out = append(out, free[k])
	}
	return out
}

// placesOf reads a file of placement.
func (r *resolver) placesOf(o object, name string, listed []collective.Rank) []collective.Rank {
	data, err := r.d.readFile(name)
	if err != nil {
		o.fail("placement", "%v; give packed, scattered, random or a file of lines such as 0,h3/gpu1", importer.Cause(err))
		return nil
	}
	byName, names := make(map[string]int), make([]string, len(listed))
	for k := range listed {
		names[k] = r.siteName(&listed[k])
		byName[names[k]] = k
	}
	at := make(map[int]collective.Rank)
	for n, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || n == 0 && strings.HasPrefix(line, "rank") {
			continue
		}
		first, place, ok := strings.Cut(line, ",")
		place = strings.TrimSpace(place)
		rank, err := strconv.Atoi(strings.TrimSpace(first))
		k, known := byName[place]
		_, twice := at[rank]
		bad := func(format string, args ...any) []collective.Rank {
			o.fail("placement", "%s:%d: %s", name, n+1, fmt.Sprintf(format, args...))
			return nil
		}
		switch {
		case !ok || err != nil || rank < 0 || rank >= collective.MaxRanks:
			return bad("%q is no rank and place, such as 0,h3/gpu1", line)
		case !known:
			return bad("%q is none of the places in ranks; %s", place, suggestName(names, place))
		case twice:
			return bad("rank %d has a place already", rank)
		}
		at[rank] = listed[k]
	}
	out := make([]collective.Rank, len(at))
	for rank := range out {
		x, is := at[rank]
		if !is {
			o.fail("placement", "%s places %d ranks, and rank %d is none of them; number them from 0", name, len(at), rank)
			return nil
		}
		out[rank] = x
	}
	return out
}

// Bounds of how slow a rank is.
const (
	leastSlow = 0.01
	mostSlow  = 1000
)

// readSlow reads how slow ranks are.
func (r *resolver) readSlow(o object, j *jobEntry) {
	v := o.n.Get("slow")
	if v == nil || r.d.err != nil {
		return
	}
	if v.Kind != mappingNode {
		o.fail("slow", "is %s; it maps ranks to factors, such as {3: 1.5}", v.Kind)
		return
	}
	j.slow = make([]int32, len(j.Ranks))
	for k := range j.slow {
		j.slow[k] = 1000
	}
	for _, f := range v.Fields {
		lo, hi, isRange := strings.Cut(f.Key, "..")
		first := r.rankNumber(o.join("slow"), &node{Kind: scalarNode, Text: lo, Pos: f.Pos}, len(j.Ranks))
		last := first
		if isRange {
			last = r.rankNumber(o.join("slow"), &node{Kind: scalarNode, Text: hi, Pos: f.Pos}, len(j.Ranks))
		}
		x, err := strconv.ParseFloat(f.Value.Text, 64)
		switch {
		case r.d.err != nil:
			return
		case f.Value.Kind != scalarNode || err != nil || !(x >= leastSlow && x <= mostSlow):
			r.d.fail(f.Value.Pos, "%s: %q is no factor from %v to %v", o.join("slow"), f.Value.Text, leastSlow, mostSlow)
			return
		}
		for k := first; k <= last; k++ {
			j.slow[k] = int32(math.Round(1000 * x))
		}
	}
}
