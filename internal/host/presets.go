package host

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Presets lists the names that Preset knows.
func Presets() []string { return []string{"free", "linux-xeon"} }

// Preset returns a host by name. "free" costs nothing: one core. "linux-xeon" is
// the server of Cai et al. (SIGCOMM 2021) under Linux: docs/models/host-cost.md
// says where each constant comes from.
func Preset(name string) (Spec, error) {
	s := Spec{Cores: 1, Sockets: 1, Options: Options{Segmentation: TSO, GRO: 65535, FlowSteering: true,
		Budget: 64, RoundBudget: 300, RoundTime: 2 * units.Millisecond, Ring: 1024}}
	switch name {
	case "free":
		return s, nil
	case "linux-xeon":
	default:
		return Spec{}, fmt.Errorf("host: unknown preset %q, want one of %s", name, strings.Join(Presets(), ", "))
	}
	s.Cores, s.Sockets, s.Memory = 24, 4, 800*units.Gbps
	s.Moderation = Moderation{Time: 16 * units.Microsecond, Frames: 32, Adaptive: true}
	s.Costs = Costs{
		Syscall: 200 * units.Nanosecond,
		CopyLLC: 128 * units.Gbps, CopyDRAM: 64 * units.Gbps, MissOut: 110, MissIn: 490, RemotePermille: 1560,
		Output: 1050 * units.Nanosecond, GSOFrame: 200 * units.Nanosecond, TxComplete: 45 * units.Nanosecond,
		RxFrame: 208 * units.Nanosecond, RxPage: 66 * units.Nanosecond, Input: 1050 * units.Nanosecond,
		Interrupt: 600 * units.Nanosecond, IdleExit: 2 * units.Microsecond, Wakeup: 400 * units.Nanosecond,
		ZeroCopyCall: 53 * units.Nanosecond, PinPage: 80 * units.Nanosecond, ZeroCopyDone: 186 * units.Nanosecond,
		MapPage:  175 * units.Nanosecond,
		CRC:      160 * units.Gbps,
		FilePage: 40 * units.Nanosecond,
		Post:     100 * units.Nanosecond, Poll: 100 * units.Nanosecond, Repost: 100 * units.Nanosecond, Doorbell: 200 * units.Nanosecond,
	}
	return s, nil
}

// Card says which offloads a network card has.
type Card struct {
	TSO           bool
	ScatterGather bool // sends from pages where they are: MSG_ZEROCOPY and sendfile need it
	FlowSteering  bool // aRFS: filters that choose the receive queue of a flow
	Moderation    bool // interrupts after a time or a number of frames
	HeaderSplit   bool // payload lies in pages of its own, which applications can map
}

// Cards lists the names that CardOf knows.
func Cards() []string { return []string{"connectx-5", "plain"} }

// CardOf returns a card's offloads by name: those of NVIDIA's ConnectX-4 and later
// (mlx5), or none.
func CardOf(name string) (Card, error) {
	switch name {
	case "connectx-5":
		return Card{TSO: true, ScatterGather: true, FlowSteering: true, Moderation: true, HeaderSplit: true}, nil
	case "plain":
		return Card{}, nil
	}
	return Card{}, fmt.Errorf("host: unknown card %q, want one of %s", name, strings.Join(Cards(), ", "))
}
