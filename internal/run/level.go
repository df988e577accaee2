package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/fold"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
)

// Level says how a run comes to its result.
type Level string

// Levels.
const (
	// LevelExact runs what is alike once. The result is that of LevelPackets, to the last bit.
	LevelExact Level = "exact"
	// LevelPackets runs every packet.
	LevelPackets Level = "packets"
	// LevelFlow shares links among flows in place of packets; see package flow.
	LevelFlow Level = "flow"
)

// Levels lists them as the command line writes them, the default first.
func Levels() []string { return []string{string(LevelExact), string(LevelPackets), string(LevelFlow)} }

// Known reports whether it is one of them; the empty one is, and stands for the default.
func (l Level) Known() bool { return l == "" || slices.Contains(Levels(), string(l)) }

// fold is how servers stand for others in a run, or why they do not.
func (o *Options) fold(v *scenario.Valid) (f *fold.Fold, why string) {
	switch {
	case o.Level == LevelPackets:
		return nil, ""
	case o.Capture != nil:
		return nil, "frames are captured"
	case o.Trace:
		return nil, "a timeline shows every server"
	case o.Series != nil || o.Watch != nil || o.Timeline || o.Snapshots != nil:
		return nil, "samples are taken of every server"
	case o.TracePauses:
		return nil, "pauses are listed"
	}
	return fold.Find(v)
}

// exactly simulates a world. Where servers stand for others and something happens for which these would
// have differed, every server is run instead.
func exactly(ctx context.Context, w *build.World, opt Options, why string) (*record.Run, string, error) {
	if w.Fold == nil {
		return Simulate(ctx, w, opt), why, nil
	}
	r := Simulate(ctx, w, opt)
	if ctx.Err() != nil || w.Unfolds() {
		return r, "", nil
	}
	plain, err := build.New(w.Valid, build.Options{Workers: opt.Workers, Partitions: opt.Partitions})
	if err != nil {
		return nil, "", &scenario.Error{Msg: err.Error()}
	}
	*w = *plain
	return Simulate(ctx, w, opt), "a switch marked, paused or came near to it, for which servers differ", nil
}

// level is what the result says of the level: nothing of a run in which nothing could be left out, unless it
// was named.
func (o *Options) level(w *build.World, why string) *record.Level {
	name := string(LevelExact)
	switch p := w.Valid.Plan; {
	case o.Level == LevelPackets:
		return &record.Level{Name: string(LevelPackets), Note: "every packet was run"}
	case w.Fold != nil:
		n := 0
		for _, m := range w.Fold.Members {
			n += len(m)
		}
		stand := "one server stands"
		if n > w.Fold.Images {
			stand = fmt.Sprintf("%d servers stand", n/w.Fold.Images)
		}
		return &record.Level{Name: name, Note: fmt.Sprintf("%s for all %d, which do the same at the same times; the result is "+
			"that of all of them", stand, n)}
	case o.Level == "" && len(p.Programs) == 0:
		return nil
	}
	return &record.Level{Name: name, Note: "every packet was run, as no server stands for others: " + why}
}
