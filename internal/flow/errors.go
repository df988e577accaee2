package flow

import "github.com/hopscope/hopscope/internal/record"

// errors are how far the level was from packets, as measured on 2026-12-01 with the cases of docs/scale.md; the
// last figure of each is the mean of the messages' errors. TestFlowErrors measures some of them again.
func errors() []record.LevelError {
	const (
		permutation = "permutation of 8 MB, 128 hosts"
		allToAll    = "AllToAll of 64 MiB, 32 hosts"
		allReduce   = "ring AllReduce of 64 MiB, 32 hosts, 2 to 1"
		twoJobs     = "two of them over 16 hosts each"
	)
	return []record.LevelError{
		{Case: permutation, Stack: "rocev2", Percent: -53.4, Message: 27.3},
		{Case: allToAll, Stack: "rocev2", Percent: -.08, Message: .15},
		{Case: allReduce, Stack: "rocev2", Percent: -8.9, Message: 45},
		{Case: twoJobs, Stack: "rocev2", Percent: -11.7, Message: 144},
		{Case: permutation, Stack: "rocev2-pfc-only", Percent: -.12, Message: 4.7},
		{Case: allToAll, Stack: "rocev2-pfc-only", Percent: -.08, Message: .15},
		{Case: allReduce, Stack: "rocev2-pfc-only", Percent: -.004, Message: 40},
		{Case: twoJobs, Stack: "rocev2-pfc-only", Percent: -.001, Message: 42},
		{Case: permutation, Stack: "infiniband", Percent: -.05, Message: 10},
		{Case: allToAll, Stack: "infiniband", Percent: -.05, Message: .12},
		{Case: allReduce, Stack: "infiniband", Percent: -.04, Message: 13.9},
		{Case: twoJobs, Stack: "infiniband", Percent: -.02, Message: 9.7},
		{Case: permutation, Stack: "rocev2-lossy", Percent: -40, Message: 26.7},
		{Case: allToAll, Stack: "rocev2-lossy", Percent: -.08, Message: .15},
		{Case: allReduce, Stack: "rocev2-lossy", Percent: -9.3, Message: 44},
		{Case: twoJobs, Stack: "rocev2-lossy", Percent: -16.7, Message: 142},
		{Case: permutation, Stack: "tcp", Percent: -6.7, Message: 6.2},
		{Case: allToAll, Stack: "tcp", Percent: -34.7, Message: 20},
		{Case: allReduce, Stack: "tcp", Percent: -7, Message: 17.6},
		{Case: twoJobs, Stack: "tcp", Percent: -5.2, Message: 19.3},
		{Case: permutation, Stack: "iwarp", Percent: -6.6, Message: 8.7},
		{Case: allToAll, Stack: "iwarp", Percent: -.9, Message: .83},
		{Case: allReduce, Stack: "iwarp", Percent: -.4, Message: 41},
		{Case: twoJobs, Stack: "iwarp", Percent: -.6, Message: 39},
	}
}
