// Package counters writes what each box of a run would print of itself: ethtool, rdma and
// perfquery at hosts, SONiC's show commands and perfquery at switches, and ibdiagnet of a whole fabric, in their
// units and layouts. A counter that no part of the model feeds is left out, and the file says which.
package counters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// File is what one command prints on one box.
type File struct {
	Name string // of the file: "h0.ethtool.txt"
	Text string
}

// Files are what all boxes of a run print that carried anything, by box.
func Files(r *record.Run) (out []File) {
	b, taken := boxesOf(r), fileNames{}
	for _, n := range b.nodes {
		all, file := b.of[n], taken.of(n)
		for _, layer := range []catalog.Layer{catalog.InfiniBand, catalog.Ethernet} { // a host may have ports of both
			b.of[n] = slices.DeleteFunc(slices.Clone(all), func(p *record.Port) bool { return p.Layer != layer })
			switch {
			case len(b.of[n]) == 0:
			case layer == catalog.InfiniBand:
				out = append(out, File{file + ".perfquery.txt", b.perfquery(n)})
			case b.hosts[n]:
				out = append(out, File{file + ".ethtool.txt", b.ethtool(n)})
			default:
				out = append(out, File{file + ".sonic.txt", b.sonic(n)})
			}
		}
		b.of[n] = all
		if b.hosts[n] && (b.verbs[n] || all[0].Layer == catalog.InfiniBand) {
			out = append(out, File{file + ".rdma.txt", b.rdma(n)})
		}
	}
	if len(r.Counters) > 0 {
		out = append(out, File{taken.of("fabric") + ".ibdiagnet.txt", b.ibdiagnet()})
	}
	return out
}

// longest is the most bytes of a box's name in a file's, for which systems have 255.
const longest = 200

// fileNames are names of boxes that any file system takes, that lead to no other directory, and
// of which no two are alike, capitals or not.
type fileNames map[string]bool

// of is the name for the files of the next box.
func (taken fileNames) of(name string) string {
	name = strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\\:*?"<>|`, c) {
			return '_'
		}
		return c
	}, visible.Text(name))
	for len(name) > longest {
		_, last := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-last]
	}
	alone := name
	for i := 2; taken[strings.ToLower(alone)]; i++ {
		alone = fmt.Sprintf("%s_%d", name, i)
	}
	taken[strings.ToLower(alone)] = true
	return alone
}

// boxes are the nodes of a run with their ports, and what joins them. Maps are looked up, never iterated.
type boxes struct {
	r       *record.Run
	nodes   []string // hosts, then switches, in the order of the record
	of      map[string][]*record.Port
	at      map[key]*record.Port
	hosts   map[string]bool
	verbs   map[string]bool // hosts with queue pairs other than TCP's
	peers   map[record.PortID]record.PortID
	ports   map[string][]int     // by node, see numbers
	met     map[string]*[8]int64 // by host, see hardware
	nothing record.Port          // what a class of a port did that carried nothing
	// counted are the counters of InfiniBand ports; nil until Points asks for them.
	counted map[record.PortID]*record.IBCounters
}

// key is a class of a port.
type key struct {
	port  record.PortID
	class int
}

func boxesOf(r *record.Run) *boxes {
	b := &boxes{r: r, of: map[string][]*record.Port{}, at: map[key]*record.Port{}, hosts: map[string]bool{},
		verbs: map[string]bool{}, peers: map[record.PortID]record.PortID{}, ports: map[string][]int{}}
	for i := range r.QPs {
		b.hosts[r.QPs[i].Host] = true
		if r.QPs[i].TCP == nil {
			b.verbs[r.QPs[i].Host] = true
		}
	}
	for i := range r.Ports {
		p := &r.Ports[i]
		if b.of[p.Node] == nil {
			b.nodes = append(b.nodes, p.Node)
		}
		b.of[p.Node] = append(b.of[p.Node], p)
		b.at[key{p.ID(), p.Class}] = p
		b.join(p.ID(), p.Peer)
		b.join(p.Peer, p.ID())
	}
	for _, n := range b.nodes {
		slices.Sort(b.ports[n])
	}
	slices.SortStableFunc(b.nodes, func(a, c string) int {
		return cmp.Compare(number(b.hosts[c]), number(b.hosts[a]))
	})
	return b
}

// join notes which port a port faces.
func (b *boxes) join(id, peer record.PortID) {
	if _, known := b.peers[id]; !known {
		b.peers[id] = peer
		b.ports[id.Node] = append(b.ports[id.Node], id.Port)
	}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numbers are the ports of a node that carried anything, and those that faced them.
func (b *boxes) numbers(node string) []int { return b.ports[node] }

// row is class c of a port, zero if it carried nothing.
func (b *boxes) row(id record.PortID, c int) *record.Port {
	if p := b.at[key{id, c}]; p != nil {
		return p
	}
	return &b.nothing
}

// facing is class c of the port at the other end of a link, zero if it carried nothing.
func (b *boxes) facing(id record.PortID, c int) *record.Port {
	if peer, ok := b.peers[id]; ok {
		return b.row(peer, c)
	}
	return &b.nothing
}

// classes is the number of priorities.
const classes = 8

// traffic is what a port has in one class, one way.
type traffic struct{ packets, bytes int64 }

// received is what arrived at a port in class c: what its peer sent, less what the link lost.
func (b *boxes) received(id record.PortID, c int) (t traffic) {
	p := b.facing(id, c)
	t = traffic{p.TxPackets, p.TxBytes}
	for _, d := range p.DropCauses {
		if d.Cause.OnLink() {
			t.packets, t.bytes = t.packets-d.Count, t.bytes-d.Sum
		}
	}
	return t
}

// pauseFrames is how many PFC frames for class c a port sent: pauses, refreshes and resumptions.
func pauseFrames(p *record.Port) int64 { return p.PausesSent + p.RefreshesSent + p.ResumesSent }

// lostPauses is how many of them the link lost.
func lostPauses(p *record.Port) (n int64) {
	for _, d := range p.DropCauses {
		if d.Cause == catalog.DropPFC {
			n += d.Count
		}
	}
	return n
}

// us is a time in microseconds, as counters have it.
func us(t units.Time) int64 { return int64(t / units.Microsecond) }

// lines are counters, one to a line.
type lines struct{ strings.Builder }

func (l *lines) add(name string, n int64) { fmt.Fprintf(l, "     %s: %d\n", name, n) }
