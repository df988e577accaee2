package server

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Check reports what no server can be: links that join nothing, rates of 0, a device
// with two ways up, or none where there must be one. A tree that passes can be run.
func (t *Tree) Check() error {
	up := make([]int, len(t.Devices))
	for i := range t.Links {
		l := &t.Links[i]
		if l.A < 0 || l.A >= len(t.Devices) || l.B < 0 || l.B >= len(t.Devices) {
			return fmt.Errorf("link %d joins devices %d and %d of %d", i, l.A, l.B, len(t.Devices))
		}
		if err := l.check(); err != nil {
			return fmt.Errorf("the link of %s and %s: %w", t.Devices[l.A].Name, t.Devices[l.B].Name, err)
		}
		if t.parent(l.B) >= 0 && (l.Kind == PCIe || l.Kind == Interconnect || l.Kind == MemoryBus) {
			up[l.B]++
		}
	}
	for i := range t.Devices {
		d := &t.Devices[i]
		switch {
		case up[i] > 1:
			return fmt.Errorf("%s has %d links towards a root complex; a tree has one", d.Name, up[i])
		case d.Kind == NVSwitch || d.Kind == Root:
		case t.RootOf(i) < 0:
			return fmt.Errorf("%s hangs off no root complex", d.Name)
		case d.Kind == GPU && t.hbm(i) < 0:
			return fmt.Errorf("%s has no memory", d.Name)
		}
	}
	return t.Costs.Check()
}

func (l *Link) check() error {
	switch {
	case l.Latency < 0 || l.Latency > units.Second:
		return fmt.Errorf("a latency of %v is not from 0 to 1s", l.Latency)
	case l.Kind == PCIe:
		return l.PCIe.Check()
	case l.Rate < units.Gbps:
		return fmt.Errorf("a rate of %v is less than any link inside a server; give 1Gbps at least", l.Rate)
	case (l.A == l.B) != (l.Kind == HBM):
		return fmt.Errorf("%s joins devices %d and %d", l.Kind, l.A, l.B)
	}
	return nil
}

// Check reports what no device can be like.
func (c *Costs) Check() error {
	for _, f := range c.Fields() {
		bad := false
		switch v := f.Value.(type) {
		case *units.Time:
			bad = *v < 0 || *v > units.Second
		case *units.Bytes:
			bad = *v < f.Min || *v > f.Max
		case *int:
			bad = units.Bytes(*v) < f.Min || units.Bytes(*v) > f.Max
		}
		if bad {
			return fmt.Errorf("%s is out of range", f.Key)
		}
	}
	if c.Bounce < 2*c.StageChunk { // a packet may lie in two
		return fmt.Errorf("a bounce buffer of %v holds less than two chunks of stage_chunk %v; give bounce at least %v", c.Bounce, c.StageChunk, 2*c.StageChunk)
	}
	return nil
}

// Field is one of Costs by the name that scenarios and notes give it.
type Field struct {
	Key      string
	Value    any         // *units.Time, *units.Bytes or *int, into the Costs
	Min, Max units.Bytes // of sizes and numbers
	Text     string      // what it is
}

// Fields lists the costs, to read and to change them by name.
func (c *Costs) Fields() []Field {
	return []Field{
		{"doorbell", &c.Doorbell, 0, 0, "Time that a store to the card takes to leave the core and reach the root complex."},
		{"doorbell_bytes", &c.DoorbellBytes, 4, 4 * units.KiB, "What that store carries."},
		{"wqe", &c.WQE, 1, 4 * units.KiB, "Size of a work request, as the card reads it."},
		{"cqe", &c.CQE, 1, 4 * units.KiB, "Size of a completion entry, as the card writes it."},
		{"poll", &c.Poll, 0, 0, "Time from a completion entry in memory to its being seen by a core that polls."},
		{"dram_read", &c.DRAMRead, 0, 0, "Time from a read at the memory controller to its data."},
		{"llc_read", &c.LLCRead, 0, 0, "The same where the last-level cache has them."},
		{"hbm_read", &c.HBMRead, 0, 0, "Time from a read at the GPU's port to its data."},
		{"read_tags", &c.ReadTags, 1, 1 << 14, "Reads that a card or GPU has outstanding at most."},
		{"posted_credits", &c.PostedCredits, 4 * units.KiB, units.GiB, "Posted data that the receiver at the root or a device takes in before it returns credits."},
		{"copy_launch", &c.CopyLaunch, 0, 0, "Time from the call of a copy to its first byte."},
		{"copy_sync", &c.CopySync, 0, 0, "Time from the last byte of a copy to the host's knowing it."},
		{"kernel_launch", &c.KernelLaunch, 0, 0, "Time from the call of a kernel to its first instruction."},
		{"stage_chunk", &c.StageChunk, 4 * units.KiB, units.GiB, "Unit of staging through a bounce buffer."},
		{"bounce", &c.Bounce, 4 * units.KiB, 64 * units.GiB, "Pinned bounce buffer per connection."},
		{"iotlb_entries", &c.IOTLBEntries, 1, 1 << 20, "Translations that the IOMMU remembers."},
		{"iotlb_page", &c.IOTLBPage, 4 * units.KiB, units.GiB, "Bytes per translation, a power of two."},
		{"iotlb_miss", &c.IOTLBMiss, 0, 0, "Time of a page walk."},
		{"page_walkers", &c.PageWalkers, 1, 1 << 10, "Page walks at once."},
	}
}
