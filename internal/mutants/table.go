package main

// table lists changes that no test noticed when they were found, and some that
// stand for faults which cost somebody a day.
var table = []change{
	{"internal/fabric/switch.go", "pk.TTL <= 1", "pk.TTL < 1"},
	{"internal/fabric/switch.go", "sw.markAtEnqueue && q.bytes+size > q.kmin", "sw.markAtEnqueue && q.bytes > q.kmin"},
	{"internal/fabric/credit.go", "max(k.waitFrom, k.dataEnd)", "k.waitFrom"},
	{"internal/congestion/dcqcn.go", "d.target = r", ""},
	{"internal/congestion/cubic.go", "c.epoch += idle", ""},
	{"internal/congestion/cubic.go", "ms-c.segsAt > linuxUpdate", "ms-c.segsAt >= linuxUpdate"},
	{"internal/congestion/hystart.go", "h.current < h.baseline", "h.current <= h.baseline"},
	{"internal/tcp/rack.go", "r.mult = 1", ""},
	{"internal/tcp/ack.go", "seq < c.wl1", "false"},
	{"internal/tcp/ack.go", "4*int64(c.cfg.TSO)", "2*int64(c.cfg.TSO)"},
	{"internal/tcp/ack.go", "ece && c.ca == caOpen && flight > 0", "ece && c.ca == caOpen"},
	{"internal/tcp/recovery.go", "c.una >= c.usage", "c.una > c.usage"},
	{"internal/nic/cache.go", "s.fetched = misses > 0", ""},
	{"internal/nic/kernel.go", "st.kernel.full = n < want", ""},
	{"internal/dma/chain.go", "gain * units.Time(1000-permille) / 1000", "gain"},
	{"internal/dma/track.go", "max(x.at, at)", "at"},
	{"internal/collective/tuning.go", "return n, hosts", "return n - 1, hosts"},
	{"internal/collective/tuning.go", "log > 22", "log >= 22"},
	{"internal/collective/tuning.go", "plateau = 1.9", "plateau = 1.4"},
	{"internal/collective/pairwise.go", "bytes < 8*p.step", "bytes <= 8*p.step"},
	{"internal/collective/ring.go", "b.Ranks[m].Distance < b.Ranks[heads[k]].Distance", "b.Ranks[m].Distance <= b.Ranks[heads[k]].Distance"},
	{"internal/metrics/ceiling.go", "(l.WindowBytes + mtu - 1) / mtu * mtu", "l.WindowBytes"},
	{"internal/metrics/ceiling.go", "mulDiv(int64(c.MeasuredBps), 1000, int64(max(c.BestBps, 1))) >= atCeiling", "mulDiv(int64(c.MeasuredBps), 1000, int64(max(c.BestBps, 1))) >= 950"},
	{"internal/metrics/ceiling.go", "packets == 1", "packets <= 1 && x.r.MinFrame == 0"},
	{"internal/metrics/root.go", "d.Cause.Arriving() == (end == h.Peer)", "true"},
	{"internal/metrics/causes.go", "feeds == 0 || rate > p.RateBps || p.PausedPS > 0", "feeds == 0 || rate > p.RateBps || p.HeldPS > 0"},
}
