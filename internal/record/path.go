package record

import "github.com/hopscope/hopscope/internal/units"

// Path is what lies between two ends, and what a single message finds there.
type Path struct {
	Scenario string
	From, To string
	Bytes    int64
	Like     string // the workload entry whose connection it follows; "": none has these ends
	Ways     []PathWay
	// Loaded is a run of the scenario's own workload; nil: it was not asked for.
	Loaded *Run
}

// PathWay is one way to move the message.
type PathWay struct {
	Name string // "GPUDirect", "staged", or the stack alone
	Why  string // why there is no such way; then nothing else is known
	Hops []WayHop
	Run  *Run // the message alone on an idle network; nil: both ends are in one server
	// CompletionPS, without a run, is the time of the copy.
	CompletionPS units.Time
}

// WayHop is one place that data pass, in order.
type WayHop struct {
	Host string // in whose server it lies; "": in the network
	Name string // "gpu0 to switch0", "memory of gpu0", or the sending port, "h0:1"
	To   string // the receiving port; "" in a server
	What string // "PCIe gen5 x16", "5m"
	// RateBps is that of the line; of what is inside a server, of payload.
	RateBps units.Rate
	// LatencyPS is one way, without serialisation: of a link with the pipeline of the
	// switch at its end.
	LatencyPS units.Time
	// BufferBytes is what waits at its end at most, before Rule: 0: not limited.
	BufferBytes int64
	Rule        string // "drop", "pause" or "credit"; "": none
	Class       int    // of a port: priority or VL
}
