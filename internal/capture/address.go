package capture

import (
	"cmp"
	"encoding/binary"

	"github.com/hopscope/hopscope/internal/nic"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/wire"
)

// A packet of the simulation has no addresses. Those of its frames follow from the numbers of nodes,
// ports and endpoints (host ports, counted in the order of nodes), as docs/packets.md says.

// FirstQP is the number on the wire of a host's queue pair 0: 0 and 1 are those of management.
const FirstQP = 0x100

// pairQPs is set in the numbers of queue pairs that programs make, which may be 2^28.
const pairQPs = 0x800000

// queuePair is the number of a queue pair in a frame.
func queuePair(n uint32) uint32 {
	if n&nic.PairNumber(0) != 0 {
		return pairQPs | n&(pairQPs-1)
	}
	return (n + FirstQP) & (pairQPs - 1)
}

// mac is the address of a port: 02, the node's number, the port's from 1.
func mac(node, local int) (m wire.MAC) {
	m[0], m[1] = 2, uint8(node>>16)
	binary.BigEndian.PutUint16(m[2:], uint16(node))
	binary.BigEndian.PutUint16(m[4:], uint16(local+1))
	return m
}

// IPv4 is the address of an endpoint: 10.0.0.1 of the first.
func IPv4(endpoint int) (a [4]byte) {
	binary.BigEndian.PutUint32(a[:], 10<<24|uint32(endpoint+1)&0xffffff)
	return a
}

// IPv6 is the address of an endpoint: fd00::1 of the first, a unique local one (RFC 4193).
func IPv6(endpoint int) (a [16]byte) {
	a[0] = 0xfd
	binary.BigEndian.PutUint32(a[12:], uint32(endpoint+1))
	return a
}

// gid is the global identifier of an endpoint: fe80::1 of the first.
func gid(endpoint int) (a [16]byte) {
	a[0], a[1] = 0xfe, 0x80
	binary.BigEndian.PutUint32(a[12:], uint32(endpoint+1))
	return a
}

// lid is its local identifier; those from 0xc000 on are of groups (IBTA 4.1.3).
func lid(endpoint int) uint16 { return uint16(endpoint%(0xc000-1)) + 1 }

// way is whence and whither a packet goes.
type way struct {
	src, dst         int // endpoints
	srcPort, dstPort uint16
}

// noPort is the destination port of TCP where a scenario gives none (key dst_port).
const noPort = 4791

// wayOf is that of a packet. The source port of RoCE is the connection's in both directions.
func wayOf(v *scenario.Valid, pk *packet.Packet) way {
	to := int(pk.Dst)
	if pk.Kind != packet.Segment && pk.Kind != packet.Framed && pk.DestQP&nic.PairNumber(0) != 0 {
		conn := pk.DestQP &^ nic.PairNumber(0)
		for _, p := range v.Plan.Programs {
			if conn >= uint32(p.Conns) {
				conn -= uint32(p.Conns)
				continue
			}
			_, _, from, far := p.Pairs.Carrier(int32(conn))
			return way{src: other(to, p.Endpoints[from], p.Endpoints[far]), dst: to, srcPort: p.Pairs.Port(int32(conn))}
		}
	}
	c := &v.Plan.Conns[pk.Conn]
	w := way{src: other(to, c.Src, c.Dst), dst: to, srcPort: c.SrcPort, dstPort: cmp.Or(c.DstPort, noPort)}
	if (pk.Kind == packet.Segment || pk.Kind == packet.Framed) && to == c.Src {
		w.srcPort, w.dstPort = w.dstPort, w.srcPort
	}
	return w
}

// other is the one of a and b that is not x.
func other(x, a, b int) int {
	if x == a {
		return b
	}
	return a
}
