package openmetrics

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/record"
)

// Metrics that no exporter has, as no device tells them.
const (
	pairSent = iota
	pairDelivered
	pairAgain
	pairTimeouts
	timeStretch
	runInfo
	jobSteps
	jobStep
	jobTime
	queueBytes
	memoryBytes
	pairRate
	pairWindow
)

var families = [...]counters.Family{
	pairSent: {Name: "hopscope_queue_pair_sent_bytes_total", Type: "counter", Unit: "bytes",
		Help: "Payload that a queue pair or connection sent, retransmissions included"},
	pairDelivered: {Name: "hopscope_queue_pair_delivered_bytes_total", Type: "counter", Unit: "bytes",
		Help: "Payload that a queue pair or connection took in order"},
	pairAgain: {Name: "hopscope_queue_pair_retransmitted_packets_total", Type: "counter",
		Help: "Packets that a queue pair or connection sent again"},
	pairTimeouts: {Name: "hopscope_queue_pair_timeouts_total", Type: "counter",
		Help: "Times that the retransmission timer of a queue pair or connection ended"},
	timeStretch: {Name: "hopscope_time_stretch_ratio", Type: "gauge", Unit: "ratio",
		Help: "How many seconds of these time stamps are a second of the run: multiply rates by it"},
	runInfo:  {Name: "hopscope_run_info", Type: "gauge", Help: "The run that all of this is of; always 1"},
	jobSteps: {Name: "hopscope_job_steps_total", Type: "counter", Help: "Steps of a job that are over"},
	jobStep: {Name: "hopscope_job_step_nanoseconds", Type: "gauge", Unit: "nanoseconds",
		Help: "What the last step of a job that is over took"},
	jobTime: {Name: "hopscope_job_rank_nanoseconds", Type: "gauge", Unit: "nanoseconds",
		Help: "What ranks of a job do in a step, in the mean: compute, communication, copy, host, wait, bubble, over"},
	queueBytes: {Name: "hopscope_queue_bytes", Type: "gauge", Unit: "bytes",
		Help: "Bytes that wait in the egress queue of a class of a port"},
	memoryBytes: {Name: "hopscope_switch_memory_bytes", Type: "gauge", Unit: "bytes",
		Help: "Bytes of the memory of a switch that all that waits in it takes"},
	pairRate: {Name: "hopscope_queue_pair_rate_bits_per_second", Type: "gauge",
		Help: "Rate at which congestion control lets a queue pair send"},
	pairWindow: {Name: "hopscope_queue_pair_window_bytes", Type: "gauge", Unit: "bytes",
		Help: "Payload that may be unacknowledged; 0: nothing limits it"},
}

// gauges are which of them snapshots have at an instant.
var gauges = map[record.Quantity]int{record.SeriesQueue: queueBytes, record.SeriesBuffer: memoryBytes,
	record.SeriesRate: pairRate, record.SeriesWindow: pairWindow}

// labels are those of a place.
func (c *Recorder) labels(x owned) string {
	s, ok := c.own[x]
	if ok {
		return s
	}
	s = counters.Label("instance", x.place.Node)
	switch x.place.Kind {
	case catalog.AtPortClass:
		s += "," + counters.Label("port", fmt.Sprint(x.place.Port)) + "," + counters.Label("class", fmt.Sprint(x.place.Class))
	case catalog.AtQueuePair, catalog.AtConnection:
		s += "," + counters.Label("qp", fmt.Sprint(x.place.Number))
		if !x.peer.IsZero() {
			s += "," + counters.Label("peer", x.peer.String())
		}
	}
	c.own[x] = s
	return s
}
