package nic

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/lru"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// CacheSpec is what a card keeps of the tables in host memory: contexts of queue
// pairs and translations of pages. 0 entries: room for all, so that nothing is
// ever fetched.
type CacheSpec struct {
	Contexts, Translations int
	PageSize               units.Bytes // a power of two
	Miss                   units.Time  // one fetch from host memory over PCIe
}

func (c *CacheSpec) on() bool { return c.Contexts > 0 || c.Translations > 0 }

// caches are the two caches of a card; its ports share them.
type caches struct {
	CacheSpec
	contexts, translations lru.Set
	pageBits               int
}

func newCaches(s CacheSpec) caches {
	c := caches{CacheSpec: s}
	if s.on() {
		c.contexts, c.translations = lru.New(s.Contexts), lru.New(s.Translations)
		c.pageBits = bits.TrailingZeros64(uint64(s.PageSize))
	}
	return c
}

// landing is where the payload of a message goes, by its first packet.
type landing struct {
	psn uint32
	va  uint64
}

// stall is how long the receiving pipeline waits for what a frame needs: the
// context of its queue pair and, for payload that goes to memory, translations
// of the pages. One fetch follows the other, and the frames behind wait too
// (Guo et al., SIGCOMM 2016, 5.4: the slow-receiver symptom).
func (h *Host) stall(pk *packet.Packet) units.Time {
	c := &h.caches
	if !c.on() || pk.Kind == packet.Framed { // what carries TCP is kept whole
		return 0
	}
	q, here := h.meant(pk)
	if !here || int(q) >= len(h.qps) {
		return 0
	}
	s := h.used(q)
	misses := int64(0)
	if c.Contexts > 0 && !c.contexts.Touch(uint64(pk.DestQP)) {
		s.contextMisses++
		misses++
	}
	if c.Translations > 0 {
		n := h.translate(s, pk)
		s.translationMisses += n
		misses += n
	}
	return units.Time(misses) * c.Miss
}

// fetch is how long queue pair q must wait for what its next packet needs: its
// context, and translations of the payload's pages unless that stands in the
// work request. Others send meanwhile. What was fetched is used once whatever
// else came into the cache.
func (h *Host) fetch(now units.Time, q uint32) units.Time {
	c, s := &h.caches, &h.qps[q]
	if !c.on() {
		return 0
	}
	if s.fetched {
		s.fetched = false
		return 0
	}
	misses := int64(0)
	if c.Contexts > 0 && !c.contexts.Touch(uint64(h.number(q))) {
		s.contextMisses++
		misses++
	}
	if va, n := s.qp.Upcoming(); c.Translations > 0 && n > 0 && !h.specs[q].Inline {
		pages := c.pages(h.number(q), va, uint64(n))
		s.translationMisses += pages
		misses += pages
	}
	wait := units.Time(misses) * c.Miss
	s.fetched = misses > 0
	a := s.accounted(now)
	a.fetchUntil, a.fetchStage, a.sampled = now+wait, Fetching, a.sampled && wait == 0
	return wait
}

// pages looks up n bytes of a queue pair's memory and returns how many pages of
// them were not there.
func (c *caches) pages(q uint32, va, n uint64) (misses int64) {
	for page := va >> c.pageBits; page <= (va+n-1)>>c.pageBits; page++ {
		if !c.translations.Touch(uint64(q)<<40 | page) {
			misses++
		}
	}
	return misses
}

// translate looks up the pages that a packet's payload goes to and returns how many
// were not there. A SEND's lie in the receive buffer, of which a queue pair has one
// here; a READ response's in the buffer of the request. What a READ asks for is looked
// up as the responses leave.
func (h *Host) translate(s *qpSlot, pk *packet.Packet) (misses int64) {
	va, n := pk.VA, uint64(pk.Payload)
	switch pk.Kind {
	case packet.Data:
	case packet.Response:
		if to, ok := s.qp.Landing(pk.PSN); ok && n > 0 {
			return h.caches.pages(pk.DestQP, to, n)
		}
		return 0
	default:
		return 0
	}
	switch op := wire.Opcode(pk.Opcode); {
	case op == wire.RCReadRequest:
		return 0
	case op.Ext()&(wire.ExtRETH|wire.ExtAtomicETH) != 0:
		s.landing = landing{pk.PSN, va}
	case beginsSend(op):
		s.landing = landing{pk.PSN, 0}
		va = 0
	default:
		q, _ := h.slotOf(pk.DestQP)
		mtu := uint64(h.specs[q].Config.MTU)
		va = s.landing.va + uint64((pk.PSN-s.landing.psn)&(1<<24-1))*mtu
	}
	if n == 0 && pk.DMALen == 0 {
		return 0
	}
	return h.caches.pages(pk.DestQP, va, max(n, 1))
}

// beginsSend reports whether an opcode is that of a SEND's first packet,
// whatever the service.
func beginsSend(op wire.Opcode) bool {
	switch op & 0x1f {
	case wire.RCSendFirst, wire.RCSendOnly, wire.RCSendOnlyImm, wire.RCSendOnlyInv:
		return true
	}
	return false
}
