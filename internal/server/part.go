package server

import "github.com/hopscope/hopscope/internal/units"

// parts are what a file says of a server, whatever its format, before a tree is built
// from it.
type parts struct {
	warnings
	cpus    []cpuPart
	devices []part // what hangs below the CPUs: parents before their children
	nvlinks []nvPart
	assumed string // what is assumed of how GPUs are joined; "": nothing
}

// cpuPart is a NUMA node.
type cpuPart struct {
	numa   int
	line   int
	maker  string // "GenuineIntel", "AuthenticAMD"; "": not said
	arch   string // "x86_64", "arm64", "ppc64"; "": not said
	family int
	model  int
}

// part is a PCIe switch, a GPU or a network card.
type part struct {
	kind   Kind
	name   string // of a card: what its system calls it
	bus    string
	cpu    int // index in parts.cpus
	parent int // index in parts.devices; -1: at a root port of the cpu
	bridge int // of the host bridge, as in Link; for those at root ports
	gen    int
	width  int
	ports  []netPart  // of a card
	number int64      // among GPUs or cards; -1: by bus number
	chip   string     // of a GPU: "sm80", "gfx90a"; "": not said
	c2c    units.Rate // of a GPU packaged with its CPU: of the link between them; 0: it hangs off PCIe
	// noDirect: of a GPU, whose memory cards cannot reach.
	noDirect bool
	line     int
}

// netPart is a network port of a card.
type netPart struct {
	Net
	bus    string
	number int64 // among ports; -1: by bus number
}

// nvPart is a set of NVLinks or xGMI links.
type nvPart struct {
	a, b  int // indices in parts.devices; negative b: the NVSwitch ^b
	count int
	line  int
}

// toSwitch stands for the NVSwitches of a server: a GPU's links are spread over them
// evenly, and NCCL takes them for one as well.
const toSwitch = -1
