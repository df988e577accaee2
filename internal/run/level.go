package run

import (
	"slices"

	"github.com/hopscope/hopscope/internal/record"
)

// Level says how a run comes to its result.
type Level string

// Levels.
const (
	// LevelExact runs what is alike once. The result is that of LevelPackets, to the last bit.
	LevelExact Level = "exact"
	// LevelPackets runs every packet.
	LevelPackets Level = "packets"
)

// Levels lists them as the command line writes them, the default first.
func Levels() []string { return []string{string(LevelExact), string(LevelPackets)} }

// Known reports whether it is one of them; the empty one is, and stands for the default.
func (l Level) Known() bool { return l == "" || slices.Contains(Levels(), string(l)) }

// level is what the result says of the level: nothing, unless it was named.
func (r *runner) level() *record.Level {
	switch r.opt.Level {
	case LevelPackets:
		return &record.Level{Name: string(LevelPackets), Note: "every packet was run"}
	case LevelExact:
		return &record.Level{Name: string(LevelExact), Note: "nothing was left out: every packet was run"}
	}
	return nil
}
