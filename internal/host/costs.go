package host

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
)

// Costs are the parts that the work of a host is made of. None is an end-to-end
// figure. Each may be 0.
type Costs struct {
	Syscall units.Time // per system call, there and back

	// A copy reads at CopyLLC what the last-level cache holds and at CopyDRAM the
	// rest, which misses permille tell; all of it at CopyDRAM if the card writes
	// past the cache (NoDDIO). Rates of 0: copies take no time. A copy on another
	// socket than the card's takes RemotePermille of that.
	CopyLLC, CopyDRAM units.Rate
	MissOut, MissIn   int // permille of writes' and of reads' sources
	RemotePermille    int

	Output     units.Time // per segment that TCP hands down: transport, IP, queue, driver
	GSOFrame   units.Time // per frame that software cuts a segment into
	TxComplete units.Time // per segment, to free it after transmission

	RxFrame units.Time // per frame: driver, packet buffer, GRO
	RxPage  units.Time // per page of a frame's buffer
	Input   units.Time // per segment after GRO: IP and TCP

	Interrupt units.Time // per interrupt
	IdleExit  units.Time // to leave the idle state, on top, if the core was idle for as long
	Wakeup    units.Time // of an application, with the switch to it

	ZeroCopyCall units.Time // per call with MSG_ZEROCOPY
	PinPage      units.Time // per page: pinning and releasing
	ZeroCopyDone units.Time // per notification, on top of two system calls
	FilePage     units.Time // per page of the page cache that sendfile sends
	CRC          units.Rate // at which a core works CRC32c out, of iWARP that the kernel runs; 0: in no time
	MapPage      units.Time // per received page: mapping it into the application, and later out of it

	Post, Poll, Repost units.Time // RDMA: see package nic
	Doorbell           units.Time // per write to the card's doorbell
}

// Kernel reports whether the kernel's work takes any time: calls, copies, segments,
// frames or interrupts.
func (c *Costs) Kernel() bool {
	k := *c
	k.Post, k.Poll, k.Repost, k.Doorbell, k.RemotePermille, k.MissIn, k.MissOut, k.CRC = 0, 0, 0, 0, 0, 0, 0, 0
	return k != Costs{}
}

// PageSize is that of buffers, page cache and mappings, in bytes.
const PageSize = 4096

func pages(n units.Bytes) int64 { return int64((n + PageSize - 1) / PageSize) }

// Send says how an application's data gets to the socket.
type Send uint8

// Ways to send.
const (
	SendCopy     Send = iota // write: copied into socket buffers
	SendZeroCopy             // send with MSG_ZEROCOPY: the pages are pinned
	SendFile                 // sendfile: the page cache's own pages
)

func (s Send) String() string { return [...]string{"copy", "zerocopy", "sendfile"}[s] }

// Segmentation says who cuts large segments into frames.
type Segmentation uint8

// Kinds of segmentation.
const (
	NoSegmentation Segmentation = iota // TCP makes segments of one frame
	GSO                                // software, below IP
	TSO                                // the card
)

func (s Segmentation) String() string { return [...]string{"off", "gso", "tso"}[s] }

// Options are the choices that change what is charged.
type Options struct {
	Send         Send
	Segmentation Segmentation
	GRO          units.Bytes // longest segment that frames are merged to; 0: off
	// MapIn: applications map received pages (TCP_ZEROCOPY_RECEIVE) and copy only what fills none.
	// That needs cards that split headers off, and frames whose payload is whole pages: Uneven ones
	// cost the call that maps nothing beside the copy.
	MapIn, Uneven bool
	NoDDIO        bool // the card writes to DRAM, not into the last-level cache
	BusyPoll      bool // applications poll the card: no interrupts, no wakeups, no idle cores
	FlowSteering  bool // aRFS: frames go to the application's core; else to that of their hash (RSS)
	Moderation    Moderation
	Budget        int // NAPI: frames per poll; 64 in Linux
	RoundBudget   int // frames per stretch of softirqs, before processes get the core; 300 in Linux
	RoundTime     units.Time
	Ring          int // frames that a receive queue holds
}

func (o *Options) check() error {
	switch {
	case o.Budget < 1 || o.RoundBudget < 1:
		return fmt.Errorf("a NAPI budget of 0 takes no frame")
	case o.Ring < 1:
		return fmt.Errorf("a receive queue of 0 frames takes none")
	case o.GRO < 0:
		return fmt.Errorf("negative GRO size")
	}
	return o.Moderation.check()
}

// copyTask makes t copy bytes, missing the cache by a permille.
func (h *Host) copyTask(t *Task, core int, n units.Bytes, miss int) {
	c := &h.spec.Costs
	slow := n * units.Bytes(miss) / 1000
	d := units.Time(0)
	if c.CopyDRAM > 0 {
		d += c.CopyDRAM.TxTimeLong(slow)
	}
	if c.CopyLLC > 0 {
		d += c.CopyLLC.TxTimeLong(n - slow)
	}
	if c.RemotePermille > 0 && h.socket(core) != h.spec.NIC {
		d = d * units.Time(c.RemotePermille) / 1000
	}
	t.Add(Copy, d)
	t.copied += n
	t.memory += slow + n // what misses is read; all is written
}

// Write charges t with a call on a core that gives the socket n bytes.
func (h *Host) Write(t *Task, core int, n units.Bytes) {
	c := &h.spec.Costs
	t.Direction = Transmit
	t.Add(Syscall, c.Syscall)
	h.bill.Syscalls++
	switch h.spec.Send {
	case SendCopy:
		h.copyTask(t, core, n, c.MissOut)
	case SendZeroCopy:
		t.Add(Pin, c.ZeroCopyCall+units.Time(pages(n))*c.PinPage)
	case SendFile:
		t.Add(Pin, units.Time(pages(n))*c.FilePage)
	}
}

// Notified charges t with the notification that one call's pages are no longer in
// use: the application polls the socket and reads its error queue. Only
// MSG_ZEROCOPY has them.
func (h *Host) Notified(t *Task) {
	if h.spec.Send != SendZeroCopy {
		return
	}
	c := &h.spec.Costs
	t.Direction = Transmit
	t.Add(Completion, 2*c.Syscall+c.ZeroCopyDone)
	h.bill.Syscalls += 2
}

// Read charges t with a call on a core that takes n bytes from the socket.
func (h *Host) Read(t *Task, core int, n units.Bytes) {
	c := &h.spec.Costs
	t.Direction = Receive
	t.Add(Syscall, c.Syscall)
	h.bill.Syscalls++
	if h.spec.MapIn {
		if n = h.mapTask(t, n); n == 0 {
			return
		}
		t.Add(Syscall, c.Syscall)
		h.bill.Syscalls++
	}
	h.copyTask(t, core, n, h.spec.Evicted())
}

// mapTask makes t map the whole pages of n bytes into the application, and returns what is left to copy.
func (h *Host) mapTask(t *Task, n units.Bytes) (left units.Bytes) {
	if h.spec.Uneven {
		return n
	}
	t.Add(Map, units.Time(n/PageSize)*h.spec.Costs.MapPage)
	return n % PageSize
}

// Close charges t with closing a socket; found says that a read which found the end of
// the stream comes before it.
func (h *Host) Close(t *Task, found bool) {
	c := &h.spec.Costs
	calls := units.Time(1)
	t.Direction = Transmit
	if found {
		calls, t.Direction = 2, Receive
	}
	t.Add(Syscall, calls*c.Syscall)
	h.bill.Syscalls += int64(calls)
}

// Woken charges t with the wakeup of the application that it belongs to. An
// application that polls does not sleep.
func (h *Host) Woken(t *Task) {
	if h.spec.BusyPoll {
		return
	}
	t.Add(Wakeup, h.spec.Costs.Wakeup)
	h.bill.Wakeups++
}

// Output charges t with sending one segment that becomes frames on the wire; a
// pure acknowledgement is one frame. Its release after transmission is charged with
// it. d is Receive for what a receiver answers.
func (h *Host) Output(t *Task, d Direction, frames int) {
	c := &h.spec.Costs
	t.Direction = d
	n := units.Time(1)
	switch h.spec.Segmentation {
	case NoSegmentation:
		n = units.Time(frames)
	case GSO:
		if frames > 1 {
			t.Add(Output, units.Time(frames)*c.GSOFrame)
			h.bill.GSOFrames += int64(frames)
		}
	}
	t.Add(Output, n*(c.Output+c.TxComplete))
	t.Add(Doorbell, c.Doorbell)
	h.bill.FramesOut += int64(frames)
	h.bill.SegmentsOut += int64(n)
}

// Proxy is what a thread that posts and polls for a GPU takes, where that is known apart
// from the host's costs. All 0: it is not.
type Proxy struct {
	Post   units.Time // of a message
	Poll   units.Time // of a completion
	Repost units.Time // of a receive in place of one that was taken
}

// PostWork charges t with posting a work request, after a preparation.
func (h *Host) PostWork(t *Task, preparation units.Time) {
	t.Direction = Transmit
	t.Add(Post, h.spec.Costs.Post+preparation)
	t.Add(Doorbell, h.spec.Costs.Doorbell)
}

// PostCall charges t with posting a work request by a system call, to a kernel that runs the queue pair (siw), after a
// preparation.
func (h *Host) PostCall(t *Task, preparation units.Time) {
	t.Direction = Transmit
	t.Add(Post, h.spec.Costs.Post+preparation)
	t.Add(Syscall, h.spec.Costs.Syscall)
	h.bill.Syscalls++
}

// Fill charges t with copying n bytes of payload into a segment of so many on a core, and with its CRC.
func (h *Host) Fill(t *Task, core int, n, segment units.Bytes, crc bool) {
	h.copyTask(t, core, n, h.spec.Costs.MissOut)
	h.checksum(t, segment, crc)
}

// Place charges t with copying what a segment of n bytes brought to where it belongs on a core, and with its CRC.
func (h *Host) Place(t *Task, core int, n units.Bytes, crc bool) {
	t.Direction = Receive
	h.checksum(t, n, crc)
	h.copyTask(t, core, n, h.spec.Evicted())
}

func (h *Host) checksum(t *Task, n units.Bytes, crc bool) {
	if rate := h.spec.Costs.CRC; crc && rate > 0 {
		t.Add(CRC, rate.TxTimeLong(n))
	}
}

// PollWork charges t with polling a completion, of a receive with posting another
// receive work request if repost.
func (h *Host) PollWork(t *Task, d Direction, repost bool) {
	t.Direction = d
	t.Add(Poll, h.spec.Costs.Poll)
	if repost {
		t.Add(Post, h.spec.Costs.Repost)
	}
}
