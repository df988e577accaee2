package rdma

import (
	"encoding/binary"
	"fmt"
)

// Access is a set of rights: those of a memory region, or what a queue pair
// lets its peer ask for. Reading locally is always allowed.
type Access uint8

// Rights, with the bits of ibv_access_flags.
const (
	LocalWrite   Access = 1 << iota // receives, READ and atomics may write here
	RemoteWrite                     // the peer's RDMA WRITE
	RemoteRead                      // the peer's RDMA READ
	RemoteAtomic                    // the peer's atomics

	// RemoteAll is every right.
	RemoteAll = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic
)

// PD is the number of a protection domain: a queue pair reaches the regions of
// its own domain only (IBTA 10.2).
type PD uint32

// Memory is what one device knows of registered memory: a table that the upper
// 24 bits of an L_Key or R_Key index, as NICs have it. The low byte changes with
// every registration, so that a key that is out of date fits no longer
// (IBTA 10.6).
type Memory struct {
	regions []region
	free    []uint32
}

// keyBits is the width of a key's own part; the index stands above.
const keyBits = 8

// Region describes memory to be registered.
type Region struct {
	PD     PD
	Base   uint64 // virtual address of the first byte
	Length uint64 // bytes; Base + Length at most 2^64
	Access Access
	// Invalidatable regions may be invalidated by a SEND with invalidate:
	// fast-registered ones and memory windows of type 2, no others
	// (IBTA 10.6).
	Invalidatable bool
	// Data is the memory itself, Length bytes, or nil: then checks are made and
	// no byte moves.
	Data []byte
}

// region is an entry of the table.
type region struct {
	Region
	variant uint8
	state   regionState
}

// regionState says which keys fit.
type regionState uint8

const (
	regionFree    regionState = iota // not registered
	regionValid                      //
	regionInvalid                    // invalidated: registered, but no key fits
)

// maxRegions is how many keys there are; none has index 0.
const maxRegions = 1<<(32-keyBits) - 1

// Register adds a region and returns its key, L_Key and R_Key alike. Key 0 is
// never given.
func (m *Memory) Register(r Region) (key uint32, err error) {
	if n := len(m.free); n > 0 {
		i := m.free[n-1]
		key = i<<keyBits | uint32(m.regions[i].variant)
		if err := m.RegisterAs(key, r); err != nil {
			return 0, err
		}
		return key, nil
	}
	i := max(1, len(m.regions))
	if i > maxRegions {
		return 0, fmt.Errorf("memory: all %d keys are in use", maxRegions)
	}
	key = uint32(i) << keyBits
	return key, m.RegisterAs(key, r)
}

// RegisterAs adds a region under a key of the caller's choice, whose index must
// be free; the table grows up to it.
func (m *Memory) RegisterAs(key uint32, r Region) error {
	switch i := key >> keyBits; {
	case i == 0:
		return fmt.Errorf("memory: key %#x has index 0, want 1 to %d above the low byte", key, maxRegions)
	case r.Access&(RemoteWrite|RemoteAtomic) != 0 && r.Access&LocalWrite == 0:
		return fmt.Errorf("memory: REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE; add LOCAL_WRITE")
	case r.Length > 0 && r.Base+(r.Length-1) < r.Base:
		return fmt.Errorf("memory: region of %d bytes at %#x runs past the last address", r.Length, r.Base)
	case r.Data != nil && uint64(len(r.Data)) != r.Length:
		return fmt.Errorf("memory: region of %d bytes with %d bytes of data", r.Length, len(r.Data))
	case int(i) < len(m.regions) && m.regions[i].state != regionFree:
		return fmt.Errorf("memory: key %#x: its index is in use", key)
	}
	*m.take(key >> keyBits) = region{r, uint8(key), regionValid}
	return nil
}

// take removes index i from the free entries, growing the table up to it.
func (m *Memory) take(i uint32) *region {
	for n := uint32(len(m.regions)); n <= i; n++ {
		m.regions = append(m.regions, region{})
		if n > 0 {
			m.free = append(m.free, n)
		}
	}
	for k := len(m.free) - 1; ; k-- { // nearly always the last
		if m.free[k] == i {
			m.free = append(m.free[:k], m.free[k+1:]...)
			return &m.regions[i]
		}
	}
}

// Deregister ends a region; its key fits no longer. It reports whether there
// was one.
func (m *Memory) Deregister(key uint32) bool {
	e := m.entry(key)
	if e == nil || e.state == regionFree {
		return false
	}
	*e = region{variant: e.variant + 1}
	m.free = append(m.free, key>>keyBits)
	return true
}

// Invalidate makes a region's keys invalid, as a SEND with invalidate asks. It
// reports whether it could: rkey must fit, belong to pd and name a region that
// may be invalidated.
func (m *Memory) Invalidate(pd PD, rkey uint32) bool {
	e := m.entry(rkey)
	if e == nil || e.state != regionValid || e.PD != pd || !e.Invalidatable {
		return false
	}
	e.state = regionInvalid
	return true
}

// Remote looks up memory for a peer's request of n bytes, at least 1, at va.
// need is the right it takes. Without a fault the syndrome is SynACK; a key that
// does not fit, a missing right and a range outside the region are remote
// access errors (IBTA 9.7.4.1.5, models.md 4.4). The pointer is valid until the
// next Register.
func (m *Memory) Remote(pd PD, rkey uint32, va, n uint64, need Access) (*Region, uint8) {
	if r := m.find(pd, rkey, va, n, need); r != nil {
		return r, SynACK
	}
	return nil, SynNAKAccess
}

// Local looks up memory for a work request's own buffer of n bytes, at least 1,
// at va; need is 0 to read it, LocalWrite to write. nil is a local protection
// error. The pointer is valid until the next Register.
func (m *Memory) Local(pd PD, lkey uint32, va, n uint64, need Access) *Region {
	return m.find(pd, lkey, va, n, need)
}

// Fits reports whether a key names a region of a domain that has a right, whatever the address: what is refused
// nevertheless lies outside of it.
func (m *Memory) Fits(pd PD, key uint32, need Access) bool {
	e := m.entry(key)
	return e != nil && e.state == regionValid && e.PD == pd && e.Access&need == need
}

// entry returns the entry that key names, nil if the key does not fit.
func (m *Memory) entry(key uint32) *region {
	if m == nil || key>>keyBits >= uint32(len(m.regions)) {
		return nil
	}
	if e := &m.regions[key>>keyBits]; e.variant == uint8(key) {
		return e
	}
	return nil
}

func (m *Memory) find(pd PD, key uint32, va, n uint64, need Access) *Region {
	e := m.entry(key)
	if e == nil || e.state != regionValid || e.PD != pd || e.Access&need != need {
		return nil
	}
	off := va - e.Base // wraps to a huge offset when va lies before the region
	if off > e.Length || n > e.Length-off {
		return nil
	}
	return &e.Region
}

// Bytes returns n bytes at va, which Remote or Local has found to lie in the
// region; nil where the region holds none.
func (r *Region) Bytes(va, n uint64) []byte {
	if r.Data == nil {
		return nil
	}
	off := va - r.Base
	return r.Data[off : off+n : off+n]
}

// CompareSwap is the atomic of that name on the 8 bytes at va, which is a
// multiple of 8: swap is stored if the value equals compare. It returns the
// value before; 0 where the region holds no bytes. Values lie in memory in the
// order of the hosts that RDMA runs on, little-endian.
func (r *Region) CompareSwap(va, compare, swap uint64) (orig uint64) {
	b := r.Bytes(va, 8)
	if b == nil {
		return 0
	}
	orig = binary.LittleEndian.Uint64(b)
	if orig == compare {
		binary.LittleEndian.PutUint64(b, swap)
	}
	return orig
}

// FetchAdd adds to the 8 bytes at va, modulo 2^64, otherwise as CompareSwap.
func (r *Region) FetchAdd(va, add uint64) (orig uint64) {
	b := r.Bytes(va, 8)
	if b == nil {
		return 0
	}
	orig = binary.LittleEndian.Uint64(b)
	binary.LittleEndian.PutUint64(b, orig+add)
	return orig
}
