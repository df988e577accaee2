package server

import "fmt"

// leastSwitched is how many GPUs a server has at least that is taken to have NVSwitches
// where its file says nothing of GPUs but where they are: HGX boards have 4 or 8.
const leastSwitched = 4

// assumeNVSwitch gives the GPUs of a file that names only their places, as those that
// clouds ship, the NVLinks that their model has on HGX boards: NCCL itself looks for
// NVLinks when it starts, so that they need not stand in what it reads.
func (p *parts) assumeNVSwitch() {
	gpus := p.ordered(GPU)
	if len(p.nvlinks) > 0 || len(gpus) < leastSwitched {
		return
	}
	links := switchLinks(p.model(&p.devices[gpus[0]]))
	for _, g := range gpus {
		if switchLinks(p.model(&p.devices[g])) != links || links == 0 {
			return
		}
	}
	for _, g := range gpus {
		p.nvlinks = append(p.nvlinks, nvPart{g, toSwitch, links, 0})
	}
	p.assumed = fmt.Sprintf("%d NVLinks of each to an NVSwitch assumed", links)
	p.warn(0, "the file has no NVLinks, which NCCL finds itself when it starts; those of %s on an HGX board are assumed: %d of each GPU to NVSwitches; nvswitch: off takes them away",
		p.accelerator(&p.devices[gpus[0]]).name, links)
}

// warnNoNVLinks says what follows where several GPUs have no link to each other.
func (p *parts) warnNoNVLinks() {
	if len(p.ordered(GPU)) > 1 && len(p.nvlinks) == 0 {
		p.warn(0, "the file has no NVLinks; GPUs reach each other over PCIe only; where the server has them, nvswitch: on adds those of an HGX board, or give the file that NCCL writes on it (NCCL_TOPO_DUMP_FILE), or a preset")
	}
}

// HasNVSwitch reports whether NVLinks lead to NVSwitches.
func (t *Tree) HasNVSwitch() bool { return len(t.kind(NVSwitch)) > 0 }

// SetNVSwitch takes all NVLinks away, or joins all GPUs by the NVLinks that their model has
// to the NVSwitches of an HGX board. An error says why that cannot be.
func (t *Tree) SetNVSwitch(on bool) error {
	if on == t.HasNVSwitch() {
		return nil
	}
	kept := t.Links[:0:0]
	for _, l := range t.Links {
		if l.Kind != NVLink {
			kept = append(kept, l)
		}
	}
	t.Links, t.Assumed = kept, ""
	if !on {
		t.Devices = t.Devices[:len(t.Devices):len(t.Devices)]
		for i := range t.Devices { // an NVSwitch without links stands for none
			if t.Devices[i].Kind == NVSwitch {
				t.Devices = t.Devices[:i]
				break
			}
		}
		return nil
	}
	gpus := t.GPUs()
	if len(gpus) < 2 {
		return fmt.Errorf("%s has %d GPUs, which an NVSwitch could join", t.Name, len(gpus))
	}
	m := maker{t: t}
	for _, g := range gpus {
		chip := t.Devices[g].Chip
		a, known := nvidia(chip)
		if !known || switchLinks(chip) == 0 {
			return fmt.Errorf("%s is a GPU that no NVSwitch joins, as far as its model (%q) is known: A100, H100, H200 and B200 on HGX boards have them", t.Devices[g].Name, chip)
		}
		if g == gpus[0] {
			m.nvlinks(switchLinks(chip), a.link)
		}
	}
	return nil
}
