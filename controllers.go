package hopscope

import (
	"github.com/hopscope/hopscope/internal/congestion"
)

// Congestion controllers.
type (
	// Algorithm declares a congestion control: its name, what it does, where it is published, and its settings.
	Algorithm = congestion.Algorithm
	// Settings are an algorithm's values in a scenario; they start a RateController for each queue pair.
	Settings = congestion.Settings
	// ValueSet is a named set of values, a preset.
	ValueSet = congestion.ValueSet
	// RateController is the congestion control of one queue pair.
	RateController = congestion.RateController
	// Link is what it is told of its queue pair when that starts.
	Link = congestion.Link
	// Sending is a packet that starts on its way, and Feedback what came back.
	Sending = congestion.Sending
	// Feedback is one event that tells of the network.
	Feedback = congestion.Feedback
	// Stamps are the cards' times of a packet and its acknowledgement.
	Stamps = congestion.Stamps
	// HopRecord is the telemetry that one switch wrote.
	HopRecord = congestion.HopRecord
	// Decision is what may be sent.
	Decision = congestion.Decision
	// Needs is the feedback that a controller cannot do without.
	Needs = congestion.Needs
	// Cause is why a controller changed its mind.
	Cause = congestion.Cause
	// FeedbackKind is what a Feedback tells of, and Fate what became of the packet.
	FeedbackKind = congestion.Kind
	Fate         = congestion.Fate
)

// What a Feedback tells of, and what became of its packet.
const (
	Acked    = congestion.Acked    // an acknowledgement
	Nacked   = congestion.Nacked   // a negative one
	Notified = congestion.Notified // a congestion notification packet
	Answered = congestion.Answered // the answer to a probe
	TimedOut = congestion.TimedOut // nothing came back in time

	Clean      = congestion.Clean      // it arrived
	Marked     = congestion.Marked     // it arrived, and a switch had marked it
	Disordered = congestion.Disordered // it arrived before others, or instead of them
	Lost       = congestion.Lost       // nothing was heard of it in time
)

// Causes of a Decision.
const (
	NoCause     = congestion.NoCause
	ByMark      = congestion.ByMark      // a marked packet, or a notification of one
	ByDelay     = congestion.ByDelay     // round trips longer than the controller wants
	ByTelemetry = congestion.ByTelemetry // what switches wrote
	ByLoss      = congestion.ByLoss      // something was lost, or did not come in order
	ByProgress  = congestion.ByProgress  // nothing spoke against more
	NumCauses   = congestion.NumCauses   // how many causes there are
)

// Algorithms lists the congestion controls that hopscope has under controller; DCQCN has a section of its own.
func Algorithms() []Algorithm {
	r, err := congestion.NewRegistry()
	if err != nil {
		return nil // their names differ, which a test holds
	}
	return r.All()
}

// WithControllers adds congestion controls, which scenarios then name under controller. One that panics, holds
// more than 1 MiB for a queue pair or wants to be asked again in the past ends its run with an error that
// names it.
func WithControllers(algorithms ...Algorithm) Option {
	return func(l *Library) error {
		all := append(l.known.Controllers, algorithms...)
		if _, err := congestion.NewRegistry(all...); err != nil {
			return err
		}
		l.known.Controllers = all
		return nil
	}
}
