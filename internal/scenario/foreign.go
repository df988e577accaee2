package scenario

import (
	"bytes"
	"slices"
	"strings"
)

// foreign tells what to do with a file that belongs to another simulator, by
// how it begins; "" for any other. ns-3's config files begin with one of their
// keys, htsim's files with the number of nodes.
func foreign(src []byte) string {
	words := firstWords(src)
	if len(words) == 0 {
		return ""
	}
	switch first := words[0]; {
	case first == strings.ToUpper(first) && slices.Contains(ns3Names(), first):
		return "is a config file of the ns-3 RDMA simulators, not a scenario; hopscope run --ns3 runs it, hopscope import --ns3 makes a scenario of it"
	case first == "Nodes" && slices.Contains(words, "Connections"):
		return "is a connection matrix of htsim, not a scenario; hopscope run or import take it as --cm beside --topo FILE"
	case first == "Nodes":
		return "is a topology of htsim, not a scenario; hopscope run or import take it as --topo beside --cm FILE"
	}
	return ""
}

// firstWords are the first words of the first lines that are neither empty nor
// a comment, up to a few.
func firstWords(src []byte) (words []string) {
	for len(src) > 0 && len(words) < 4 {
		var line []byte
		line, src, _ = bytes.Cut(src, []byte("\n"))
		if f := bytes.Fields(line); len(f) > 0 && f[0][0] != '#' {
			words = append(words, string(f[0]))
		}
	}
	return words
}
