package nic

import (
	"math/bits"

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
	contexts, translations lru
	pageBits               int
}

func newCaches(s CacheSpec) caches {
	c := caches{CacheSpec: s}
	if s.on() {
		c.contexts, c.translations = newLRU(s.Contexts), newLRU(s.Translations)
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
	if !c.on() || int(pk.DestQP) >= len(h.qps) {
		return 0
	}
	s := &h.qps[pk.DestQP]
	misses := int64(0)
	if c.Contexts > 0 && !c.contexts.touch(uint64(pk.DestQP)) {
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
	if c.Contexts > 0 && !c.contexts.touch(uint64(q)) {
		s.contextMisses++
		misses++
	}
	if va, n := s.qp.Upcoming(); c.Translations > 0 && n > 0 && !h.specs[q].Inline {
		pages := c.pages(q, va, uint64(n))
		s.translationMisses += pages
		misses += pages
	}
	wait := units.Time(misses) * c.Miss
	s.fetched = misses > 0
	s.account.fetchUntil, s.account.fetchStage, s.account.sampled = now+wait, Fetching, s.account.sampled && wait == 0
	return wait
}

// pages looks up n bytes of a queue pair's memory and returns how many pages of
// them were not there.
func (c *caches) pages(q uint32, va, n uint64) (misses int64) {
	for page := va >> c.pageBits; page <= (va+n-1)>>c.pageBits; page++ {
		if !c.translations.touch(uint64(q)<<40 | page) {
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
		mtu := uint64(h.specs[pk.DestQP].Config.MTU)
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

// lru is a set of keys of fixed size that forgets the one not used for longest.
// Keys are found through chains from hashed heads; entries are numbered from 1,
// and 0 ends a chain.
type lru struct {
	heads   []uint32
	entries []lruEntry // [0] is the ring's anchor: newer is the oldest, older the newest
	used    int
}

type lruEntry struct {
	key          uint64
	next         uint32 // of the chain
	newer, older uint32 // of the ring, by use
}

func newLRU(n int) lru {
	if n == 0 {
		return lru{}
	}
	return lru{heads: make([]uint32, 1<<bits.Len(uint(n))), entries: make([]lruEntry, n+1)}
}

// head is where the chain of a key begins.
func (l *lru) head(key uint64) *uint32 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio (Knuth 6.4)
	return &l.heads[key*golden>>(64-uint(bits.Len(uint(len(l.heads)-1))))]
}

// touch makes key the newest and reports whether it was there; if not it takes
// the place of the oldest.
func (l *lru) touch(key uint64) bool {
	head := l.head(key)
	for i := *head; i != 0; i = l.entries[i].next {
		if l.entries[i].key == key {
			l.unlink(i)
			l.renew(i)
			return true
		}
	}
	i := uint32(l.used + 1)
	if l.used < len(l.entries)-1 {
		l.used++
	} else {
		i = l.entries[0].newer
		l.unlink(i)
		l.unchain(i)
	}
	l.entries[i] = lruEntry{key: key, next: *head}
	*head = i
	l.renew(i)
	return false
}

// unlink takes an entry out of the ring.
func (l *lru) unlink(i uint32) {
	e := &l.entries[i]
	l.entries[e.newer].older, l.entries[e.older].newer = e.older, e.newer
}

// renew puts an entry into the ring as the newest.
func (l *lru) renew(i uint32) {
	newest := l.entries[0].older
	l.entries[i].older, l.entries[i].newer = newest, 0
	l.entries[newest].newer, l.entries[0].older = i, i
}

// unchain takes an entry out of its chain.
func (l *lru) unchain(i uint32) {
	at := l.head(l.entries[i].key)
	for *at != i {
		at = &l.entries[*at].next
	}
	*at = l.entries[i].next
}
