package subnet

import "fmt"

// AssignLIDs gives every endport its base LID and LMC anew: the endport of the
// subnet manager first (sm, an index into Endports), then the others in order of
// port GUID, as OpenSM does on a fresh subnet. Ports of channel adapters and
// routers get 2^lmc LIDs from a multiple of 2^lmc on; port 0 of a switch gets one,
// packed between them. It is an error when the unicast LIDs run out.
func (f *Fabric) AssignLIDs(sm int, lmc uint8) error {
	if lmc > MaxLMC {
		return fmt.Errorf("LMC %d is beyond %d; give 0 to %d, for 1 to %d LIDs per port", lmc, MaxLMC, MaxLMC, 1<<MaxLMC)
	}
	if err := f.enoughLIDs(lmc); err != nil {
		return err
	}
	size := 1 << lmc
	block, single, end := size, 1, size // next block; LIDs from single to below end are free for switches
	assign := func(e End) {
		p := f.port(e)
		if f.Nodes[e.Node].Kind != Switch {
			p.LID, p.LMC = LID(block), lmc
			block += size
			return
		}
		if single == end {
			single, end = block, block+size
			block += size
		}
		p.LID, p.LMC = LID(single), 0
		single++
	}
	assign(f.Endports[sm])
	for i, e := range f.Endports {
		if i != sm {
			assign(e)
		}
	}
	return nil
}

// enoughLIDs checks that the endports fit the unicast LIDs.
func (f *Fabric) enoughLIDs(lmc uint8) error {
	size, switches := 1<<lmc, f.Count(Switch)
	ports := len(f.Endports) - switches
	blocks := func(size int) int { return ports + (max(switches-(size-1), 0)+size-1)/size }
	if (blocks(size)+1)*size-1 <= MaxUnicastLID {
		return nil
	}
	fits := -1
	for l := int(lmc) - 1; l >= 0 && fits < 0; l-- {
		if (blocks(1<<l)+1)<<l-1 <= MaxUnicastLID {
			fits = l
		}
	}
	advice := "split the subnet"
	if fits >= 0 {
		advice = fmt.Sprintf("LMC %d is the largest that fits", fits)
	}
	return fmt.Errorf("LIDs run out: %d ports with 2^%d = %d LIDs each and %d switches need %d of the %d unicast LIDs (1 to %#x); %s",
		ports, lmc, size, switches, blocks(size)*size, MaxUnicastLID, MaxUnicastLID, advice)
}

// completeLIDs keeps the LIDs that endports have and gives the lowest free ones,
// without LMC, to those that have none.
func (f *Fabric) completeLIDs() error {
	used := make([]bool, MaxUnicastLID+2)
	for _, e := range f.Endports {
		p := f.port(e)
		for l := int(p.LID); p.LID > 0 && l < int(p.LID)+1<<p.LMC && l <= MaxUnicastLID; l++ {
			used[l] = true
		}
	}
	next := 1
	for _, e := range f.Endports {
		p := f.port(e)
		if p.LID > 0 {
			continue
		}
		for next <= MaxUnicastLID && used[next] {
			next++
		}
		if next > MaxUnicastLID {
			return fmt.Errorf("LIDs run out: %d endports and the LIDs they hold leave none of the %d unicast LIDs for %s",
				len(f.Endports), MaxUnicastLID, f.Name(e))
		}
		p.LID, p.LMC = LID(next), 0
		used[next] = true
	}
	return nil
}

// owners returns, by LID, the index into Endports of its endport, -1 for none.
func (f *Fabric) owners() []int32 {
	top := 0
	for _, e := range f.Endports {
		p := f.port(e)
		top = max(top, int(p.LID)+1<<p.LMC-1)
	}
	owner := make([]int32, top+1)
	for i := range owner {
		owner[i] = -1
	}
	for i, e := range f.Endports {
		p := f.port(e)
		for l := int(p.LID); l < int(p.LID)+1<<p.LMC; l++ {
			owner[l] = int32(i)
		}
	}
	return owner
}

// Manager returns the index into Endports of the port that runs the subnet
// manager unless said otherwise: the first of a channel adapter, else the first.
func (f *Fabric) Manager() int {
	for i, e := range f.Endports {
		if f.Nodes[e.Node].Kind == CA {
			return i
		}
	}
	return 0
}
