package advise

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// notShown says what the runs behind a recommendation did not put to the test, with the claims that do.
func notShown(best *Answer) []string {
	out := []string{}
	if best == nil || best.Data.Fabric == catalog.LossyEthernet {
		return out
	}
	credits := best.Data.Fabric == catalog.CreditedFabric
	if best.HeldPS.Most == 0 {
		who := "PFC paused nobody"
		if credits {
			who = "nobody waited for credits"
		}
		out = append(out, "How it holds back: "+who+" in these runs, as the switches had room for the deepest queue, "+
			metrics.FormatBytes(int64(best.PeakQueue.Most))+". Try more senders and larger messages before you rely on it.")
	}
	text := "Whom it holds back: a fabric without loss also holds messages that do not go to the full port, and in a " +
		"circle of waits it deadlocks (hopscope claims 30 32)"
	if credits {
		text = "Whom it holds back: credits also hold messages that do not go to the full port, unless they have a lane of " +
			"their own, and in a circle of waits they deadlock (hopscope claims 33 34 42)"
	}
	if best.Switches == 1 {
		text += ". With one switch neither can be seen: run the topology that you mean to build"
	}
	out = append(out, text+".")
	if !credits && best.ControlParameters == 0 {
		out = append(out, "Pauses without a throttle: with PFC alone nothing but pauses slows a sender. ECN and DCQCN make "+
			"ports pause for less than half as long in claim 27, and take their time for it.")
	}
	return out
}
