package server

import "github.com/hopscope/hopscope/internal/units"

// processor is what a family of processors gives to a tree.
type processor struct {
	name        string
	memory      units.Rate // per socket
	between     units.Rate // usable, between two root complexes, each way
	betweenFrom string
	intel       bool // cuts traffic between devices into TLPs of 64 B
	guessed     bool
}

// processor looks a CPU up by what cpuid says of it. Memory is channels times transfer
// rate of the fastest modules that the maker's data sheet allows; rates between root
// complexes are NCCL's.
func (c *cpuPart) processor() processor {
	switch {
	case c.arch == "arm64":
		return processor{name: "NVIDIA Grace (LPDDR5X)", memory: 512 * gbyte, between: 112 * gbyte, betweenFrom: "assumed, coherent links between the two Grace", guessed: true}
	case c.arch == "ppc64":
		return processor{name: "IBM POWER9 (8 channels of DDR4-2666)", memory: 170 * gbyte, between: 32 * gbyte, betweenFrom: fromNCCL + ", P9_BW"}
	case c.maker == "GenuineIntel":
		return intel(c.family, c.model)
	case c.maker == "AuthenticAMD":
		return amd(c.family, c.model)
	}
	p := amd(23, 49)
	p.guessed = true
	return p
}

// intel follows arch/x86/include/asm/intel-family.h and NCCL's classes.
func intel(family, model int) processor {
	p := processor{intel: true, between: 6 * gbyte, betweenFrom: fromNCCL + ", BDW_QPI_BW"}
	switch {
	case family == 6 && model >= 0xcf:
		p.between, p.betweenFrom = 40*gbyte, fromNCCL+", ERP_QPI_BW"
	case family == 6 && model >= 0x8f:
		p.between, p.betweenFrom = 22*gbyte, fromNCCL+", SRP_QPI_BW"
	case family == 6 && model >= 0x55:
		p.between, p.betweenFrom = 10*gbyte, fromNCCL+", SKL_QPI_BW"
	}
	switch {
	case family == 6 && model == 0x3f, family == 6 && model == 0x4f:
		p.name, p.memory = "Xeon E5 v3 or v4 (4 channels of DDR4-2400)", 768*gbyte/10
	case family == 6 && model == 0x55:
		p.name, p.memory = "Xeon Scalable, first or second generation (6 channels of DDR4-2933)", 1408*gbyte/10
	case family == 6 && model == 0x6a:
		p.name, p.memory = "Xeon Scalable, third generation (8 channels of DDR4-3200)", 2048*gbyte/10
	case family == 6 && model == 0xad:
		p.name, p.memory = "Xeon 6 (12 channels of DDR5-6400)", 6144*gbyte/10
	case family == 6 && model == 0xcf:
		p.name, p.memory = "Xeon Scalable, fifth generation (8 channels of DDR5-5600)", 3584*gbyte/10
	default:
		p.name, p.memory = "Xeon Scalable, fourth generation (8 channels of DDR5-4800)", 3072*gbyte/10
		p.guessed = family != 6 || model != 0x8f
	}
	return p
}

// amd follows the families of AMD's processors. RCCL's files have the extended family
// times 16 plus 15 where cpuid adds the two: 143 is family 23, 175 family 25.
func amd(family, model int) processor {
	if family&15 == 15 && family > 15 {
		family = family>>4 + 15
	}
	p := processor{between: 16 * gbyte, betweenFrom: fromNCCL + ", AMD_BW"}
	switch {
	case family == 23 && model < 0x30:
		p.name, p.memory = "EPYC 7001 (8 channels of DDR4-2666)", 1706*gbyte/10
	case family == 25 && (model&^15 == 0x10 || model&^15 == 0xa0):
		p.name, p.memory = "EPYC 9004 (12 channels of DDR5-4800)", 4608*gbyte/10
	case family == 26:
		p.name, p.memory = "EPYC 9005 (12 channels of DDR5-6000)", 5760*gbyte/10
	default:
		p.name, p.memory = "EPYC 7002 or 7003 (8 channels of DDR4-3200)", 2048*gbyte/10
		p.guessed = family != 23 && family != 25
	}
	return p
}

// accelerator is what a kind of GPU gives to a tree.
type accelerator struct {
	name     string
	memory   units.Rate
	link     units.Rate // usable, of one NVLink or xGMI link each way
	linkFrom string
	guessed  bool
}

// Sources of the rates of links between GPUs.
const fromRCCL = "RCCL src/graph/topo.h"

// accelerator looks a GPU up by its compute capability ("sm90") or AMD's target
// ("gfx90a"); without one, by the generation of its PCIe link.
func (p *parts) accelerator(d *part) accelerator {
	chip := p.model(d)
	a, known := nvidia(chip)
	if !known {
		a, known = instinct(chip)
	}
	if !known {
		a, _ = nvidia("sm80")
		a.guessed = true
	}
	return a
}

// model is the chip of a GPU, by the generation of its link where nothing says it.
func (p *parts) model(d *part) string {
	if d.chip != "" {
		return d.chip
	}
	return [...]string{"sm70", "sm70", "sm70", "sm70", "sm80", "sm90", "sm100"}[d.gen]
}

// nvidia knows NVIDIA's GPUs by compute capability. Memory is that of the data sheets,
// of several the slowest.
func nvidia(chip string) (accelerator, bool) {
	switch chip {
	case "sm60":
		return accelerator{"P100", 732 * gbyte, 18 * gbyte, fromNCCL + ", SM60_NVLINK_BW", false}, true
	case "sm70":
		return accelerator{"V100 SXM2", 900 * gbyte, 20 * gbyte, fromNCCL + ", SM70_NVLINK_BW", false}, true
	case "sm80":
		return accelerator{"A100 40 GB SXM", 1555 * gbyte, 20 * gbyte, fromNCCL + ", SM80_NVLINK_BW", false}, true
	case "sm86":
		return accelerator{"A10", 600 * gbyte, 12 * gbyte, fromNCCL + ", SM86_NVLINK_BW", false}, true
	case "sm89":
		return accelerator{"L40S", 864 * gbyte, 20 * gbyte, fromNCCL + ", SM80_NVLINK_BW", false}, true
	case "sm90":
		return accelerator{"H100 SXM", 3352 * gbyte, 206 * gbyte / 10, fromNCCL + ", SM90_NVLINK_BW", false}, true
	case "sm100", "sm103":
		return accelerator{"B200", 8000 * gbyte, 401 * gbyte / 10, fromNCCL + ", SM100_NVLINK_BW", false}, true
	}
	return accelerator{}, false
}

// chipByID knows NVIDIA's GPUs with NVSwitch by their PCI device numbers (pci.ids).
func chipByID(vendor, device string) string {
	if vendor != "0x10de" {
		return ""
	}
	switch device {
	case "0x20b0", "0x20b2", "0x20b3": // A100 SXM4 40 GB, 80 GB, 64 GB
		return "sm80"
	case "0x2330", "0x2335", "0x233b", "0x2324", "0x2329": // H100 SXM5, H200 SXM, H200, H800, H20
		return "sm90"
	case "0x2901", "0x2941": // B200, GB200
		return "sm100"
	}
	return ""
}

// switchLinks is how many NVLinks a kind of GPU has to the NVSwitches of HGX boards; 0:
// it has none, or is built with and without.
func switchLinks(chip string) int {
	switch chip {
	case "sm80":
		return 12
	case "sm90", "sm100", "sm103":
		return 18
	}
	return 0
}

// instinct knows AMD's GPUs by the target of their code; files of RCCL before 6.0 have
// 910 for gfx90a.
func instinct(chip string) (accelerator, bool) {
	switch chip {
	case "gfx906":
		return accelerator{"MI50 or MI60", 1024 * gbyte, 24 * gbyte, fromRCCL + ", VEGA_XGMI_WIDTH", false}, true
	case "gfx908":
		return accelerator{"MI100", 1228 * gbyte, 24 * gbyte, fromRCCL + ", VEGA_XGMI_WIDTH", false}, true
	case "gfx90a", "gfx910":
		return accelerator{"MI250X, one of its two dies", 1638 * gbyte, 36 * gbyte, fromRCCL + ", MI200_XGMI_WIDTH", false}, true
	case "gfx942":
		return accelerator{"MI300X", 5300 * gbyte, 48 * gbyte, fromRCCL + ", GFX94X_XGMI_WIDTH", false}, true
	case "gfx950":
		return accelerator{"MI350X", 8000 * gbyte, 48 * gbyte, fromRCCL + ", GFX95X_XGMI_WIDTH", false}, true
	}
	return accelerator{}, false
}
