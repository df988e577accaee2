package server

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Costs are the parts that belong to devices rather than to links. None is an
// end-to-end figure. Rates and latencies of links are in the tree.
type Costs struct {
	// Doorbell is what a store to the card takes to leave the core and reach the root
	// complex; the links on the way to the card come on top.
	Doorbell units.Time
	// DoorbellBytes is what that store carries; BlueFlame and inline data come with it.
	DoorbellBytes units.Bytes
	WQE           units.Bytes // of a work request, as the card reads it
	CQE           units.Bytes // of a completion entry, as the card writes it
	Poll          units.Time  // from a completion entry in memory to its being seen by a core that polls

	DRAMRead units.Time // from a read at the memory controller to its data
	LLCRead  units.Time // the same where the last-level cache has them
	HBMRead  units.Time // from a read at the GPU's port to its data

	ReadTags      int         // reads that a card or GPU has outstanding at most
	PostedCredits units.Bytes // posted data that the receiver at the root or a device takes in before it returns credits

	CopyLaunch   units.Time  // from the call of a copy to its first byte: driver, doorbell, copy engine
	CopySync     units.Time  // from the last byte of a copy to the host's knowing it
	KernelLaunch units.Time  // from the call to the first instruction
	StageChunk   units.Bytes // unit of staging through a bounce buffer
	Bounce       units.Bytes // pinned bounce buffer per connection

	IOTLBEntries int         // translations that the IOMMU remembers
	IOTLBPage    units.Bytes // bytes per translation
	IOTLBMiss    units.Time  // of a page walk
	PageWalkers  int         // page walks at once
}

// DefaultCosts returns the costs of a server whose root ports run at a generation of
// PCIe, 1 to 6.
func DefaultCosts(gen int) Costs {
	c := Costs{
		Doorbell: 50 * units.Nanosecond, DoorbellBytes: 8, WQE: 64, CQE: 64, Poll: 50 * units.Nanosecond,
		DRAMRead: 92 * units.Nanosecond, LLCRead: 22 * units.Nanosecond, HBMRead: 330 * units.Nanosecond,
		ReadTags: 256, PostedCredits: 93 * 64,
		CopyLaunch: 4 * units.Microsecond, CopySync: 3 * units.Microsecond, KernelLaunch: 3 * units.Microsecond,
		StageChunk: 512 * units.KiB, Bounce: 4 * units.MiB,
		IOTLBEntries: 64, IOTLBPage: 4 * units.KiB, IOTLBMiss: 330 * units.Nanosecond, PageWalkers: 6,
	}
	for g := 3; g < gen; g++ {
		c.PostedCredits *= 2
	}
	return c
}

// Notes lists every cost with its source, keys below prefix.
func (c *Costs) Notes(prefix string) []record.Note {
	var out []record.Note
	note := func(key string, value fmt.Stringer, source string) {
		out = append(out, record.Note{Key: prefix + key, Value: value.String(), Source: source})
	}
	note("doorbell", c.Doorbell, "assumed, core to root complex; below a root port 260 ns in all, where MMIO writes are put at 100 to 300 ns")
	note("doorbell_bytes", c.DoorbellBytes, "mlx5 doorbell register, 8 B")
	note("wqe", c.WQE, "mlx5 work queue entry, one basic block (rdma-core providers/mlx5)")
	note("cqe", c.CQE, "mlx5 completion entry (rdma-core providers/mlx5)")
	note("poll", c.Poll, "assumed: half a turn of the polling loop and a read from the last-level cache")
	note("dram_read", c.DRAMRead, "what is left of the 547 ns median 64 B DMA read of a Xeon E5 (Neugebauer et al., SIGCOMM 2018) after the links")
	note("llc_read", c.LLCRead, "70 ns less than from memory (ibid., 6.3)")
	note("hbm_read", c.HBMRead, "A100 global memory, 466 cycles at 1.41 GHz (Luo et al., arXiv:2402.13499)")
	note("read_tags", count(c.ReadTags), "8-bit tags, PCIe Base Specification 5.0, 2.2.6.2")
	note("posted_credits", c.PostedCredits, "93 cache lines of a generation 3 root port (Agarwal et al., hostCC, SIGCOMM 2023), doubled per generation")
	note("copy_launch", c.CopyLaunch, "assumed: with copy_sync and its way a small copy takes 7.7 us; 8 to 10 us are usual for a synchronous cudaMemcpy")
	note("copy_sync", c.CopySync, "assumed; see copy_launch")
	note("kernel_launch", c.KernelLaunch, "assumed, 2 to 5 us are usual")
	note("stage_chunk", c.StageChunk, "NCCL: a step of its Simple protocol, 4 MiB in 8")
	note("bounce", c.Bounce, "NCCL_BUFFSIZE")
	note("iotlb_entries", count(c.IOTLBEntries), "Neugebauer et al., SIGCOMM 2018, 6.5")
	note("iotlb_page", c.IOTLBPage, "x86 page; superpages are an option of the driver")
	note("iotlb_miss", c.IOTLBMiss, "Neugebauer et al., SIGCOMM 2018, 6.5")
	note("page_walkers", count(c.PageWalkers), "64 B reads lose 70 % when each misses (ibid.): 30 % of 32 reads in 547 ns, at 330 ns a walk")
	return out
}

// count prints a plain number.
type count int

func (n count) String() string { return fmt.Sprint(int(n)) }
