package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

const cardMessage = `
name: card
stack: infiniband
topology: {hosts: [h0, h1], switches: [], links: [{between: [h0, h1], rate: HDR, length: 2m}]}
nic: {preset: %s}
workload:
  - flow: {from: h0, to: h1, %s}
`

// TestCardIsTheSumOfItsParts: a small message between two cards takes the doorbell, a read of
// the work request where that does not come with it, a read of the payload unless that does,
// the pipelines of both cards, the wire, and a write. Each is what the parts add up to.
func TestCardIsTheSumOfItsParts(t *testing.T) {
	for _, name := range []string{"connectx-5", "connectx-6-dx", "connectx-7", "e810", "bcm57508"} {
		c, err := card.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		tree := server.Plain(c.PCIeGen, 1, c.Port)
		memory := wayOf(t, tree, "dram0", "nic0")
		costs, read := &tree.Costs, memory.read(64, tree.Costs.DRAMRead)
		doorbell := func(n units.Bytes) units.Time { return costs.Doorbell + memory.write(n, 0) }
		for keys, want := range map[string]units.Time{
			"size: 64B":               map[bool]units.Time{true: doorbell(64), false: doorbell(8) + read}[c.BlueFlame > 0] + read,
			"size: 64B, inline: true": map[bool]units.Time{true: doorbell(128), false: doorbell(8) + memory.read(128, costs.DRAMRead)}[c.BlueFlame > 0],
		} {
			f := simulate(t, parse(t, fmt.Sprintf(cardMessage, name, keys)), 0, 1).Messages[0]
			got := sums(f.Account.Stages())
			sending := got[catalog.StageWorkFetch.String()] + got[catalog.StageRead.String()]
			if want += c.Send; sending < want-units.Nanosecond || sending > want+units.Nanosecond {
				t.Errorf("%s, %s: %v until it is sent, the parts add up to %v: %v", name, keys, sending, want, f.Account.Stages())
			}
			if got[catalog.StagePipeline.String()+" h1:1"] != c.Receive {
				t.Errorf("%s, %s: %v in the receive pipeline, want %v", name, keys, got[catalog.StagePipeline.String()+" h1:1"], c.Receive)
			}
		}
	}
}

// TestPipelinesOfAnIdealCard: without PCIe a message passes both pipelines at the receiver,
// so that a round trip has each twice.
func TestPipelinesOfAnIdealCard(t *testing.T) {
	const keys = "size: 64B, verb: read"
	with := simulate(t, parse(t, fmt.Sprintf(cardMessage, "ideal, send_pipeline: 100ns, receive_pipeline: 300ns", keys)), 0, 1).Messages[0]
	without := simulate(t, parse(t, fmt.Sprintf(cardMessage, "ideal", keys)), 0, 1).Messages[0]
	if d := with.CompletionPS - without.CompletionPS; d != 800*units.Nanosecond {
		t.Errorf("a READ takes %v longer, want 800 ns: %v", d, with.Account.Stages())
	}
}

// TestMessageRates: a queue pair takes up messages at its rate, and a card at its own, however
// many queue pairs there are.
func TestMessageRates(t *testing.T) {
	const text = `
name: rate
stack: infiniband
topology: {hosts: [h0, h1], switches: [], links: [{between: [h0, h1], rate: HDR, length: 2m}]}
nic: {preset: connectx-6, message_rate: 20000000}
workload:
  - flow: {from: h0, to: h1, size: 8B, count: 4000, qps: %d}
`
	for qps, perSecond := range map[int]float64{1: 4.878e6, 2: 9.756e6, 16: 20e6} {
		r := simulate(t, parse(t, fmt.Sprintf(text, qps)), 0, 1)
		if got := float64(len(r.Messages)) / (float64(r.EndPS) / 1e12); got < perSecond*0.95 || got > perSecond*1.01 {
			t.Errorf("%d queue pairs: %.3g messages per second, want %.3g", qps, got, perSecond)
		}
	}
}

// TestNAKsTakeTime: the requester goes back after the gap has been noticed, told and heeded:
// nak_delay and nak_reaction_delay longer than without, while it sends on.
func TestNAKsTakeTime(t *testing.T) {
	const text = `
name: nak
stack: rocev2-none
topology: {hosts: [h0, h1], switches: [], links: [{between: [h0, h1], rate: 100Gbps, length: 2m, drop_every: 50}]}
nic: {nak_delay: %s, nak_reaction_delay: %s, recovery: %s}
workload:
  - flow: {from: h0, to: h1, size: 300KB}
`
	for _, recovery := range []string{"go-back-n", "selective-repeat"} {
		at := func(delay, reaction string) units.Time {
			r := simulate(t, parse(t, fmt.Sprintf(text, delay, reaction, recovery)), 0, 1)
			for i := range r.Ledger {
				if e := &r.Ledger[i]; e.Mechanism == catalog.RetransNAK {
					return e.First
				}
			}
			t.Fatalf("%s: nothing was sent again: %+v", recovery, r.Ledger)
			return 0
		}
		base := at("0s", "0s")
		if d := at("2us", "5us") - base; d < 6900*units.Nanosecond || d > 7500*units.Nanosecond {
			t.Errorf("%s: sent again %v later, want 7 us and up to a frame", recovery, d)
		}
	}
}

// TestPCIeGenerationOfACard: a ConnectX-5 sits on generation 3, which bounds what it sends.
func TestPCIeGenerationOfACard(t *testing.T) {
	v := parse(t, fmt.Sprintf(cardMessage, "connectx-5", "size: 16MB"))
	r := simulate(t, v, 0, 1)
	gbps := float64(16e6*8) / (float64(r.Messages[0].CompletionPS) / 1e3)
	if most := float64(pcie.New(3, 16).TLPRate()) / 1e9; gbps > most || gbps < 0.8*most {
		t.Errorf("%.1f Gb/s through generation 3 x16, which carries at most %.1f", gbps, most)
	}
}

// TestNAKBringsACNP: with nak_cnp each NAK of a gap has the sender hear a CNP, though nothing
// was marked, as the limiter of CNPs lets it; without, none.
func TestNAKBringsACNP(t *testing.T) {
	const text = `
name: nak
stack: rocev2-lossy
topology: {hosts: [h0, h1], switches: [], links: [{between: [h0, h1], rate: 100Gbps, length: 2m, drop_every: 100}]}
nic: {nak_cnp: %v}
workload:
  - flow: {from: h0, to: h1, size: 2MB}
`
	for _, on := range []bool{true, false} {
		r := simulate(t, parse(t, fmt.Sprintf(text, on)), 0, 1)
		naks, _ := sumOf(r, catalog.NAKSent)
		if cnps := r.QPs[0].CNPsReceived; naks == 0 || on != (cnps > 0) || cnps > naks {
			t.Errorf("nak_cnp %v: %d NAKs, %d CNPs", on, naks, cnps)
		}
	}
}
