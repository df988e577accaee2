package run

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/workload"
)

// loads are what the plan's arrivals offered, and what of it was over in the time of their arrivals.
func loads(plan *workload.Plan, messages []record.Message) (out []record.Load) {
	if len(plan.Loads) == 0 {
		return nil
	}
	of := map[int]int{} // load by entry; looked up, never iterated
	for i := range plan.Loads {
		l := &plan.Loads[i]
		of[l.Entry] = i
		out = append(out, record.Load{Workload: plan.Entries[l.Entry], Sizes: l.Sizes, AskedShare: l.Asked, FromPS: l.From,
			ToPS: l.To, LinksBps: l.Links})
	}
	for i, m := range plan.All() {
		k, ok := of[plan.Conns[m.Conn].Entry]
		if !ok {
			continue
		}
		f := &messages[i]
		out[k].OfferedBytes += f.Bytes
		switch within := out[k].ToPS - f.StartPS; {
		case f.Status != "success":
		case f.CompletionPS <= within:
			out[k].CarriedBytes += f.Bytes
		default: // underway then
			out[k].CarriedBytes += int64(float64(f.Bytes) * float64(within) / float64(f.CompletionPS))
		}
	}
	return out
}
