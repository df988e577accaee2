package capture

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// Link types of interfaces (tcpdump's list).
const (
	linkEthernet = layers.LinkTypeEthernet
	linkERF      = layers.LinkType(197) // of InfiniBand, see framer.extensible
)

// Options say how a capture is written.
type Options struct {
	Snap    int    // most bytes of a frame that are kept, MinSnap to MaxSnap
	Program string // that writes it: "hopscope v1.2"
	Limit   Limit  // where it ends
}

// Bounds of Options.Snap.
const (
	DefaultSnap = 128
	MinSnap     = 16
	MaxSnap     = 262144 // tcpdump's largest
)

// Writer writes a capture as pcapng.
type Writer struct {
	v      *scenario.Valid
	taps   []Tap
	opt    Options
	out    *pcapgo.NgWriter
	framer framer
	of     map[uint64]int // interface by tap; looked up, never iterated
	batch  []taken
	room   []byte

	Frames int64      // written
	Bytes  int64      // of the file so far
	Left   int64      // frames that came when the limit was reached
	LeftAt units.Time // when the first did
	Err    error      // what went wrong first; nothing is written after that
}

// taken is a frame of a batch and its interface.
type taken struct {
	f  *fabric.Tapped
	to int
}

// New begins a capture of taps on w. v is the scenario that runs.
func New(w io.Writer, v *scenario.Valid, taps []Tap, opt Options) (*Writer, error) {
	c := &Writer{v: v, taps: taps, opt: opt, of: make(map[uint64]int), framer: framer{v: v}}
	section := pcapgo.NgSectionInfo{Application: opt.Program, Comment: comment(v)}
	options := pcapgo.NgWriterOptions{SectionInfo: section}
	for i, t := range taps {
		c.of[key(t.Port, t.Out)] = i
		intf := c.describe(t)
		var err error
		if i == 0 {
			c.out, err = pcapgo.NewNgWriterInterface(w, intf, options)
		} else {
			_, err = c.out.AddInterface(intf)
		}
		if err != nil {
			return nil, err
		}
		c.Bytes += interfaceBytes + int64(len(intf.Name)+len(intf.Description))
	}
	c.Bytes += sectionBytes + int64(len(section.Application)+len(section.Comment))
	return c, nil
}

// comment is what the section says of the run.
func comment(v *scenario.Valid) string {
	return fmt.Sprintf("scenario %s, stack %s, seed %d; times count from the start of the run",
		visible.Text(v.Name), v.Stack, v.Seed)
}

func key(port uint32, out bool) uint64 {
	k := uint64(port) << 1
	if out {
		k++
	}
	return k
}

// describe is the interface of a tap.
func (c *Writer) describe(t Tap) pcapgo.NgInterface {
	g := c.v.Graph
	node, link := &g.Nodes[t.Node], g.LinkAt(t.Node, t.Local)
	peer := node.Ports[t.Local]
	far := Tap{Node: peer.Peer, Local: peer.PeerPort}.port(g)
	var text string
	switch {
	case t.Out:
		text = fmt.Sprintf("to %s at %s; stamped as the first bit leaves", far, link.Rate.Human())
	case node.Kind == topology.Host:
		text = fmt.Sprintf("from %s at %s; stamped as the last bit is there", far, link.Rate.Human())
	default:
		sw := &c.v.Switches[t.Node]
		bit := "last bit"
		if sw.CutThrough {
			bit = "header"
		}
		text = fmt.Sprintf("from %s at %s; stamped as the switch decides, %s after the %s is there",
			far, link.Rate.Human(), sw.Latency.Human(), bit)
	}
	kind, snap := linkEthernet, c.opt.Snap
	if c.v.WireAt(t.Node, t.Local).Block > 0 {
		kind, snap = linkERF, snap+erfLen
	}
	return pcapgo.NgInterface{Name: cut(visible.Text(t.Name(g))), Description: cut(visible.Text(text)),
		LinkType: kind, SnapLength: uint32(snap)}
}

// cut keeps a text to what an option of pcapng may hold.
func cut(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// Taps are what the capture is of.
func (c *Writer) Taps() []Tap { return c.taps }

// Take adds a frame to what Flush writes. It must stay as it is until then.
func (c *Writer) Take(f *fabric.Tapped) {
	if i, ok := c.of[key(f.Port, f.Out)]; ok {
		c.batch = append(c.batch, taken{f, i})
	}
}

// Flush writes what was taken, in order of time, then what came in before what went out, as a card that takes no time
// answers a frame in the instant in which that comes, then in order of interfaces. Frames of one interface are taken
// in their order.
func (c *Writer) Flush() {
	slices.SortStableFunc(c.batch, func(a, b taken) int {
		switch {
		case a.f.At != b.f.At:
			return cmp.Compare(a.f.At, b.f.At)
		case a.f.Out != b.f.Out:
			if b.f.Out {
				return -1
			}
			return 1
		}
		return a.to - b.to
	})
	for i := range c.batch {
		if c.Err == nil {
			c.Err = c.write(&c.batch[i])
		}
	}
	c.batch = c.batch[:0]
}

func (c *Writer) write(x *taken) error {
	if c.Frames >= c.opt.Limit.Frames || c.Bytes+c.opt.Limit.frame > c.opt.Limit.Bytes {
		if c.Left++; c.Left == 1 {
			c.LeftAt = x.f.At
		}
		return nil
	}
	b, length, err := c.framer.append(c.room[:0], c.opt.Snap, c.taps[x.to], x.f)
	if err != nil {
		return err
	}
	c.room = b
	c.Frames++
	c.Bytes += recordBytes(len(b))
	return c.out.WritePacket(gopacket.CaptureInfo{Timestamp: stamp(x.f.At), CaptureLength: len(b), Length: length,
		InterfaceIndex: x.to}, b)
}

// Close writes what is still in memory, and returns what went wrong; it does not close what New was given.
func (c *Writer) Close() error {
	if c.Err == nil {
		c.Err = c.out.Flush()
	}
	return c.Err
}

// stamp is a time of the run, to the nearest nanosecond, as one since the epoch.
func stamp(t units.Time) time.Time {
	return time.Unix(0, int64((t+units.Nanosecond/2)/units.Nanosecond))
}

// Write writes a capture of packets, a microsecond after each other from time 0 on: of Ethernet frames without FCS, or
// of InfiniBand packets.
func Write(w io.Writer, program, name string, infiniband bool, packets ...[]byte) error {
	link := linkEthernet
	if infiniband {
		link = linkERF
	}
	out, err := pcapgo.NewNgWriterInterface(w, pcapgo.NgInterface{Name: name, LinkType: link, SnapLength: MaxSnap},
		pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: program}})
	if err != nil {
		return err
	}
	for i, b := range packets {
		at := units.Time(i) * units.Microsecond
		if infiniband {
			b = append(make([]byte, erfLen), b...)
			erfHeader(b, at, len(b)-erfLen)
		}
		n := len(b)
		if err = out.WritePacket(gopacket.CaptureInfo{Timestamp: stamp(at), CaptureLength: n, Length: n}, b); err != nil {
			return err
		}
	}
	return out.Flush()
}
