package training

// slot is a turn of a stage: a micro-batch forward or backward, through one of its chunks.
type slot struct {
	backward     bool
	micro, chunk int
}

// schedule is what a stage of p does, in order, with m micro-batches and v chunks: 1F1B, with several chunks
// interleaved (Narayanan et al., SC'21; Megatron-LM's schedules.py). It warms up, alternates and drains.
func schedule(p, stage, m, v int) []slot {
	total, warm := m*v, min(p-stage-1, m)
	if v > 1 {
		warm = min(2*(p-stage-1)+(v-1)*p, total)
	}
	turn := func(k int, backward bool) slot {
		chunk := k % (p * v) / p
		if backward {
			chunk = v - 1 - chunk
		}
		if v == 1 {
			return slot{backward, k, 0}
		}
		return slot{backward, k/(p*v)*p + k%p, chunk}
	}
	var out []slot
	for k := range warm {
		out = append(out, turn(k, false))
	}
	for k := range total {
		if warm+k < total {
			out = append(out, turn(warm+k, false))
		}
		out = append(out, turn(k, true))
	}
	return out
}

// Turn is a turn of a stage: a micro-batch forward or backward.
type Turn struct {
	Backward bool
	Micro    int
}

// OneFOneB is what a stage of p does with m micro-batches.
func OneFOneB(p, stage, m int) (out []Turn) {
	for _, t := range schedule(p, stage, m, 1) {
		out = append(out, Turn{t.backward, t.micro})
	}
	return out
}
