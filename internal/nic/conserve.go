package nic

import "github.com/hopscope/hopscope/internal/fabric"

// Held counts the frames in the host's own queues: what it has received and not
// yet taken in, drained, written to memory or given to a connection, and the ACKs and CNPs that wait to be sent.
func (h *Host) Held() (frames int) {
	for i := range h.ports {
		p := &h.ports[i]
		frames += h.length(p.rx.queue.head)
		for c := range fabric.Classes {
			frames += h.length(p.control[c].head)
		}
	}
	for q := range h.qps {
		if h.qps[q].opened() {
			frames += h.end(uint32(q)).held(uint32(q))
		}
	}
	return frames + h.cpu.Held() + h.passing
}

// length counts the frames of a linked queue.
func (h *Host) length(head uint32) (n int) {
	for ; head != 0; head = h.net.Part().Rec(head).Next {
		n++
	}
	return n
}
