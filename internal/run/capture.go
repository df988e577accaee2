package run

import (
	"github.com/hopscope/hopscope/internal/capture"
	"github.com/hopscope/hopscope/internal/scenario"
)

// Capture has the frames that pass ports written as they pass, between two windows of the run, which takes
// the same course with it and without.
type Capture struct {
	Ports []string // see capture.Taps
	// Open is called before the run, with what Ports mean, and returns what is to write; its error is what Do
	// returns.
	Open func(*scenario.Valid, []capture.Tap) (*capture.Writer, error)

	writer *capture.Writer
}

// begin finds the ports of a scenario.
func (c *Capture) begin(v *scenario.Valid) error {
	if c == nil {
		return nil
	}
	taps, err := capture.Taps(v.Graph, c.Ports)
	if err != nil {
		return &scenario.Error{Msg: "--pcap-ports: " + err.Error()}
	}
	c.writer, err = c.Open(v, taps)
	return err
}

// tap has the ports looked at.
func (r *runner) tap() {
	if r.opt.Capture == nil {
		return
	}
	for _, t := range r.opt.Capture.writer.Taps() {
		place := r.Place[t.Port]
		r.Nets[place.Part].Tap(place.Index)
	}
}

// writeTapped writes what passed: everything before now has happened.
func (r *runner) writeTapped() {
	if r.opt.Capture == nil {
		return
	}
	for _, n := range r.Nets {
		n.TakeTapped(r.opt.Capture.writer.Take)
	}
	r.opt.Capture.writer.Flush()
}
