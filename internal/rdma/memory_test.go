package rdma

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// TestMemoryLookup: keys, domains, rights and bounds (IBTA 9.7.4.1.5, 10.6).
func TestMemoryLookup(t *testing.T) {
	m := new(Memory)
	register := func(r Region) uint32 {
		t.Helper()
		key, err := m.Register(r)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	plain := register(Region{PD: 1, Base: 0x1000, Length: 100, Access: RemoteAll})
	reads := register(Region{PD: 1, Base: 0x1000, Length: 100, Access: RemoteRead})
	top := register(Region{PD: 1, Base: math.MaxUint64 - 9, Length: 10, Access: RemoteAll})
	whole := register(Region{PD: 1, Base: 0, Length: math.MaxUint64, Access: RemoteAll})
	if plain != 0x100 || reads != 0x200 {
		t.Errorf("keys %#x and %#x, want 0x100 and 0x200", plain, reads)
	}
	for _, c := range []struct {
		name  string
		pd    PD
		key   uint32
		va, n uint64
		need  Access
		found bool
	}{
		{"all of it", 1, plain, 0x1000, 100, RemoteWrite, true},
		{"its last byte", 1, plain, 0x1063, 1, RemoteAtomic, true},
		{"one byte too many", 1, plain, 0x1000, 101, RemoteWrite, false},
		{"one byte early", 1, plain, 0xfff, 1, RemoteWrite, false},
		{"behind the end", 1, plain, 0x1064, 1, RemoteWrite, false},
		{"a length that wraps", 1, plain, 0x1001, math.MaxUint64, RemoteWrite, false},
		{"an address that wraps", 1, plain, math.MaxUint64, 2, RemoteWrite, false},
		{"another domain", 0, plain, 0x1000, 1, RemoteWrite, false},
		{"another variant", 1, plain + 1, 0x1000, 1, RemoteWrite, false},
		{"no such index", 1, 0x7f00, 0x1000, 1, RemoteWrite, false},
		{"index 0", 1, 0, 0x1000, 1, 0, false},
		{"a right it has", 1, reads, 0x1000, 1, RemoteRead, true},
		{"a right it lacks", 1, reads, 0x1000, 1, RemoteWrite, false},
		{"one right of two", 1, reads, 0x1000, 1, RemoteRead | LocalWrite, false},
		{"read locally", 1, reads, 0x1000, 1, 0, true},
		{"up to the last address", 1, top, math.MaxUint64 - 9, 10, RemoteRead, true},
		{"around the last address", 1, top, math.MaxUint64 - 9, 11, RemoteRead, false},
		{"the largest region", 1, whole, 1, math.MaxUint64 - 1, RemoteRead, true},
		{"past the largest region", 1, whole, 1, math.MaxUint64, RemoteRead, false},
	} {
		r, syndrome := m.Remote(c.pd, c.key, c.va, c.n, c.need)
		want := SynNAKAccess
		if c.found {
			want = SynACK
		}
		if (r != nil) != c.found || syndrome != want || m.Local(c.pd, c.key, c.va, c.n, c.need) != r {
			t.Errorf("%s: region %v, syndrome %#x", c.name, r, syndrome)
		}
	}
	var none *Memory
	if _, syndrome := none.Remote(0, plain, 0x1000, 1, RemoteRead); syndrome != SynNAKAccess {
		t.Errorf("nothing registered: syndrome %#x", syndrome)
	}
}

// TestMemoryKeys: what ends a key, and that one out of date stays so.
func TestMemoryKeys(t *testing.T) {
	m := new(Memory)
	r := Region{Length: 8, Access: RemoteAll, Invalidatable: true}
	fits := func(key uint32) bool { return m.Local(0, key, 0, 8, 0) != nil }
	first, _ := m.Register(r)
	if !m.Deregister(first) || m.Deregister(first) || fits(first) {
		t.Error("deregistered once, and only once")
	}
	second, _ := m.Register(r)
	if second>>keyBits != first>>keyBits || second == first || fits(first) || !fits(second) {
		t.Errorf("keys %#x then %#x: want the index again with another low byte", first, second)
	}
	if m.Invalidate(1, second) || m.Invalidate(0, first) || !fits(second) {
		t.Error("invalidated from another domain, or by an old key")
	}
	if !m.Invalidate(0, second) || fits(second) || m.Invalidate(0, second) {
		t.Error("invalidated once, and only once")
	}
	if !m.Deregister(second) {
		t.Error("an invalidated region is still registered")
	}
	r.Invalidatable = false
	fixed, _ := m.Register(r)
	if m.Invalidate(0, fixed) || !fits(fixed) {
		t.Error("a region that is not invalidatable was invalidated")
	}
	if err := m.RegisterAs(0x77ab, r); err != nil || !fits(0x77ab) {
		t.Errorf("key of the caller's choice: %v", err)
	}
	seen := map[uint32]bool{fixed: true, 0x77ab: true}
	for range 200 {
		key, err := m.Register(r)
		if err != nil || seen[key] || !fits(key) || key>>keyBits == 0 {
			t.Fatalf("key %#x, %v", key, err)
		}
		seen[key] = true
	}
	for key := range seen {
		if !fits(key) {
			t.Errorf("key %#x no longer fits", key)
		}
	}
}

func TestMemoryRefuses(t *testing.T) {
	m := new(Memory)
	used, _ := m.Register(Region{Length: 1})
	for _, c := range []struct {
		r    Region
		key  uint32
		want string
	}{
		{Region{Length: 1, Access: RemoteWrite}, 0x900, "add LOCAL_WRITE"},
		{Region{Length: 1, Access: RemoteAtomic | RemoteRead}, 0x900, "add LOCAL_WRITE"},
		{Region{Base: math.MaxUint64, Length: 2}, 0x900, "past the last address"},
		{Region{Length: 2, Data: make([]byte, 1)}, 0x900, "1 bytes of data"},
		{Region{Length: 1}, 0xff, "index 0"},
		{Region{Length: 1}, used + 1, "in use"},
	} {
		if err := m.RegisterAs(c.key, c.r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.r, err, c.want)
		}
	}
	if err := m.RegisterAs(0x900, Region{Base: math.MaxUint64, Length: 1}); err != nil {
		t.Errorf("the last address: %v", err)
	}
}

// TestMemoryBytes: reads, writes and atomics on real bytes, and on none.
func TestMemoryBytes(t *testing.T) {
	data := make([]byte, 32)
	r := Region{Base: 0x1000, Length: 32, Data: data}
	copy(r.Bytes(0x1008, 8), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	if !bytes.Equal(data[8:16], []byte{1, 2, 3, 4, 5, 6, 7, 8}) || cap(r.Bytes(0x1008, 8)) != 8 {
		t.Errorf("bytes %v", data)
	}
	if got := r.FetchAdd(0x1008, math.MaxUint64); got != 0x0807060504030201 {
		t.Errorf("fetched %#x", got)
	}
	if got := r.CompareSwap(0x1008, 5, 6); got != 0x0807060504030200 || data[8] != 0 {
		t.Errorf("found %#x, and now %v", got, data[8:16])
	}
	if got := r.CompareSwap(0x1008, 0x0807060504030200, 6); got != 0x0807060504030200 || data[8] != 6 || data[15] != 0 {
		t.Errorf("found %#x, and now %v", got, data[8:16])
	}
	if got := r.FetchAdd(0x1008, math.MaxUint64-5); got != 6 || !bytes.Equal(data[8:16], make([]byte, 8)) {
		t.Errorf("sum does not wrap: %v", data[8:16])
	}
	none := Region{Base: 0x1000, Length: 32}
	if none.Bytes(0x1000, 8) != nil || none.FetchAdd(0x1000, 1) != 0 || none.CompareSwap(0x1000, 0, 1) != 0 {
		t.Error("a region without bytes has some")
	}
}
