// Package lru is a set of keys of fixed size that forgets the key that was not used for
// longest: what a cache of equal entries holds.
package lru

import "math/bits"

// Set is a set of keys of fixed size that forgets the one not used for longest.
// Keys are found through chains from hashed heads; entries are numbered from 1,
// and 0 ends a chain.
type Set struct {
	heads   []uint32
	entries []slot // [0] is the ring's anchor: newer is the oldest, older the newest
	used    int
}

type slot struct {
	key          uint64
	next         uint32 // of the chain
	newer, older uint32 // of the ring, by use
}

// New returns an empty set of at most n keys; with 0 it is not to be used.
func New(n int) Set {
	if n == 0 {
		return Set{}
	}
	return Set{heads: make([]uint32, 1<<bits.Len(uint(n))), entries: make([]slot, n+1)}
}

// head is where the chain of a key begins.
func (l *Set) head(key uint64) *uint32 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio (Knuth 6.4)
	return &l.heads[key*golden>>(64-uint(bits.Len(uint(len(l.heads)-1))))]
}

// Touch makes key the newest and reports whether it was there; if not it takes
// the place of the oldest.
func (l *Set) Touch(key uint64) bool {
	_, there := l.Find(key)
	return there
}

// Find is Touch that also says which of the set's entries has the key, from 1 to n: the
// key keeps it as long as it is in the set.
func (l *Set) Find(key uint64) (entry int, there bool) {
	head := l.head(key)
	for i := *head; i != 0; i = l.entries[i].next {
		if l.entries[i].key == key {
			l.unlink(i)
			l.renew(i)
			return int(i), true
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
	l.entries[i] = slot{key: key, next: *head}
	*head = i
	l.renew(i)
	return int(i), false
}

// unlink takes an entry out of the ring.
func (l *Set) unlink(i uint32) {
	e := &l.entries[i]
	l.entries[e.newer].older, l.entries[e.older].newer = e.older, e.newer
}

// renew puts an entry into the ring as the newest.
func (l *Set) renew(i uint32) {
	newest := l.entries[0].older
	l.entries[i].older, l.entries[i].newer = newest, 0
	l.entries[newest].newer, l.entries[0].older = i, i
}

// unchain takes an entry out of its chain.
func (l *Set) unchain(i uint32) {
	at := l.head(l.entries[i].key)
	for *at != i {
		at = &l.entries[*at].next
	}
	*at = l.entries[i].next
}
