package fabric

import (
	"hash/crc32"

	"github.com/hopscope/hopscope/internal/rng"
)

// HashKind is how a switch chooses among equal ports by the five-tuple of a flow.
type HashKind uint8

// Kinds of hashes.
const (
	// HashOwn mixes the tuple with the switch's salt: no two switches choose alike.
	HashOwn HashKind = iota
	// HashMix mixes it with Seed alone, and takes the remainder: switches of one seed choose alike,
	// those of different seeds do not.
	HashMix
	// HashCRC32 and HashCRC32C are the cyclic redundancy checks of IEEE 802.3 and of Castagnoli over
	// the tuple, of which Seed is the initial value. They are linear: another initial value changes
	// all results by the same bits, so that flows that were chosen alike stay together.
	HashCRC32
	HashCRC32C
)

// Hash is how a switch chooses among equal ports. The zero Hash is HashOwn.
type Hash struct {
	Kind HashKind
	Seed uint32
}

// Choose chooses one of n equal ports for a five-tuple hash at a switch with a salt. again is how
// often the flow has lost its port: what chose the ports that are gone would choose alike.
func (h Hash) Choose(hash uint32, salt uint64, again, n uint32) uint32 {
	switch h.Kind {
	case HashMix:
		return uint32(rng.Mix64(uint64(hash), uint64(h.Seed)+uint64(again)<<32)>>32) % n
	case HashCRC32:
		return h.crc(crc32.IEEETable, hash) >> (8 * (again & 3)) % n
	case HashCRC32C:
		return h.crc(castagnoli(), hash) >> (8 * (again & 3)) % n
	}
	return ECMP(hash, salt+uint64(again), n)
}

// Choose is what a switch of parameters p chooses.
func (p *SwitchParams) Choose(hash uint32, n uint32) uint32 { return p.Hash.Choose(hash, p.Salt, 0, n) }

// ByOwnHash reports whether the switch chooses among equal ports by a hash of its own, which differs from
// seed to seed.
func (p *SwitchParams) ByOwnHash() bool { return p.Balancing == nil && p.Hash.Kind == HashOwn }

func (h Hash) crc(table *crc32.Table, hash uint32) uint32 {
	b := [4]byte{byte(hash >> 24), byte(hash >> 16), byte(hash >> 8), byte(hash)}
	return crc32.Update(h.Seed, table, b[:])
}

// castagnoli is made once by the package that it is from.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
