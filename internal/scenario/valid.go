// Package scenario turns a scenario file into a Valid: every number resolved,
// every name looked up, every contradiction refused. It builds nothing.
package scenario

import (
	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// Valid is a checked scenario: all that build needs and nothing it must judge.
type Valid struct {
	Name, Description string
	Symptoms          []Symptom
	Stack             string
	Seed              uint64
	TimeQuantum       units.Time // times of the wire and of pacing are truncated to this; 0: picoseconds, rounded up
	CarryData         bool       // messages have real bytes, which are checked at the end
	Stop              units.Time // Never: run to quiescence
	MeasureFrom       units.Time // Never: no measure window
	MeasureTo         units.Time
	Graph             *topology.Graph
	Routes            *topology.Routes
	// Tables replace Routes switch by switch as links fail, by time, then node. With
	// Resilient, flows whose port is left in a group stay on it.
	Tables      []topology.Tables
	Resilient   bool
	Failover    topology.Failover // when the ends of a failed link notice it; not on InfiniBand
	Failures    []record.Failure  // the links that fail, and when that is noticed and rerouted
	Loops       []topology.Loop   // that packets take while some switches have new tables and others have not
	Noise       Noise
	BesideNoise Noise        // of the switches in Beside
	BesideWire  wire.Profile // of their links
	Wire        wire.Profile
	// Beside are the switches of Ethernet networks beside an InfiniBand subnet, by node index; nil: there are none.
	Beside     []bool
	Switches   []fabric.SwitchParams   // by node index; zero for hosts
	NICs       []NIC                   // by node index; zero for switches
	Transports []rdma.Config           // referred to by NIC.Transport; usually one
	DCQCN      *congestion.DCQCNParams // nil: no congestion control
	Control    *congestion.Control     // another congestion control in its place; nil: none
	TCP        []tcp.Config            // by workload.Conn.Profile, from 1; nil without TCP
	IWARP      *iwarp.Config           // over the profile of TCP of its connections; nil without iWARP
	Handshake  bool                    // the run opens TCP connections; else they are open when it begins
	Close      bool                    // and closes each when its last message is written; else they stay open
	Plan       *workload.Plan
	// Windows is the send window of each connection of Plan, for transports that
	// have one relative to the path's bandwidth-delay product; nil: as Transports
	// say.
	Windows []units.Bytes
	// Alike are pairs of switches whose hashes go together, by node: the second leads up, and what comes to it
	// by one link of the first is spread over a part of its links alone.
	Alike [][2]int
	// ShortHeadroom is what the cable at a port can need, where its headroom is less.
	ShortHeadroom map[topology.Hop]units.Bytes
	// BaseRTTs is the round trip of a full packet and its acknowledgement on the idle path of each
	// connection of Plan; nil without Control.
	BaseRTTs []units.Time
	Notes    []record.Note // presets and derived values, with source
	Warnings []string
	Idle     []Idle // keys that are given and have no effect, of which warnings tell
	Source   []byte // the scenario as given, with --set and --seed applied, for the run directory
}

// Idle is a key of a scenario that is given and has no effect.
type Idle struct {
	Key string // its path, such as switch.pfc.alpha; of a section it holds for all keys in it
	Why string
}

// WireAt is what frames take of the link at a port of a node.
func (v *Valid) WireAt(node, port int) *wire.Profile {
	if v.Beside != nil && (v.Beside[node] || v.Beside[v.Graph.Nodes[node].Ports[port].Peer]) {
		return &v.BesideWire
	}
	return &v.Wire
}

// NoiseAt is what varies at a switch.
func (v *Valid) NoiseAt(n int) *Noise {
	if v.Beside != nil && v.Beside[n] {
		return &v.BesideNoise
	}
	return &v.Noise
}

// Noise is what varies at random where a closed form has it exact; the zero value: nothing.
// docs/models/noise.md has the sources.
type Noise struct {
	Pipeline units.Time // a switch takes up to this longer for a frame, at most fabric.MaxNoise
	Card     units.Time // a card takes up to this longer to bring a frame to the wire, likewise
	Host     units.Time // an interrupt or a wakeup reaches an idle core up to this late, likewise
	Clocks   int        // each node's clock is off by up to so many parts per million
	// Arbitration: of the frames that find no room in a lossy queue until the next one
	// leaves it, a random one gets the room; else it is for the first that comes after.
	Arbitration bool
}

// Register says when an application registers the memory of its messages.
type Register uint8

// Times of registration.
const (
	RegisterAhead      Register = iota // before the run; costs nothing within it
	RegisterOnce                       // a connection's whole region before its first message
	RegisterPerMessage                 // a message's own pages before each
)

// NIC is one host's network card; all its ports are alike.
type NIC struct {
	Ports     []fabric.PortParams // per local port
	Transport int                 // index into Valid.Transports
	AckClass  uint8               // priority of ACKs and NAKs inside the NIC; 255: the class of the data they answer
	AckDSCP   uint8               // 255: the DSCP of the data they answer
	CNPClass  uint8               // 255: class and DSCP of the data they answer
	CNPDSCP   uint8
	// Receive buffer drained at DrainRate (0: as fast as it fills). PFC XOFF at
	// RxXOFF, XON at RxXON, drop beyond RxBuffer.
	RxBuffer, RxXOFF, RxXON units.Bytes
	DrainRate               units.Rate
	Faults                  []card.Fault // by time
	TTL                     uint8
	// MaxRdAtomic is how many READs and atomics a requester wants outstanding, and
	// MaxDestRdAtomic how many a responder has room for; 1 to 128.
	MaxRdAtomic, MaxDestRdAtomic uint8
	MaxInline                    units.Bytes // longest message inside a work request
	// Entries of the caches of page translations and queue pair contexts (0: room
	// for all), and the time of a fetch from host memory. With either there is a
	// DrainRate.
	MTTCache, QPCCache int
	CacheMiss          units.Time
	Host               Host
	Card               card.Spec
	// Server is the inside of the host; nil: data are at the card. It may be that of
	// several hosts.
	Server *server.Tree
}

// Host is what the application on a host, its kernel and its memory cost. Times are
// 0 where the scenario states none and names no preset.
type Host struct {
	// Of Spec, Post, Poll and Repost are what the application takes to post a work
	// request, to poll a completion, and from a received message to a receive work
	// request in its place, which it posts if Reposts.
	host.Spec
	Reposts  bool
	Proxy    host.Proxy // of threads that post and poll for GPUs; all 0: as Spec says
	Register Register
	// RegisterBase and RegisterPage are the costs of registering memory: of each
	// call and of each page of PageSize bytes, a power of two.
	RegisterBase, RegisterPage units.Time
	PageSize                   units.Bytes
	Connect                    units.Time // set-up of a connection, on its first use
}
