package scenario

import (
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/units"
)

// Sources named in the notes of a run.
const (
	fromScenario  = "scenario"
	fromRunScript = "run script of the ns-3 RDMA simulators"
	fromSimAI     = "SimAI configuration for this link rate"
	fromAzure     = "Azure SONiC sample (NSDI 2023, appendix A)"
)

// defaultRED is the marking curve per link rate: 25G to 100G as the public
// ns-3 RDMA simulator and SimAI have them, 200G and 400G as SimAI has them
// (models 3).
func defaultRED() []ratedRED {
	return []ratedRED{
		{25 * units.Gbps, fabric.RED{KMin: 100 * units.KB, KMax: 400 * units.KB, PMax: 0.2}, fromRunScript},
		{50 * units.Gbps, fabric.RED{KMin: 200 * units.KB, KMax: 800 * units.KB, PMax: 0.2}, fromRunScript},
		{100 * units.Gbps, fabric.RED{KMin: 400 * units.KB, KMax: 1600 * units.KB, PMax: 0.2}, fromRunScript},
		{200 * units.Gbps, fabric.RED{KMin: 300 * units.KB, KMax: 1200 * units.KB, PMax: 0.8}, fromSimAI},
		{400 * units.Gbps, fabric.RED{KMin: 800 * units.KB, KMax: 3200 * units.KB, PMax: 0.2}, fromSimAI},
	}
}

// redFor picks the curve for a port: the scenario's for its rate, or the
// table's with what the scenario changes. A rate without a row takes the
// nearest row below (else the lowest row), scaled with the rate.
func (e *ecnSettings) redFor(rate units.Rate) ratedRED {
	if e.off {
		return ratedRED{rate: rate, from: fromScenario}
	}
	for _, r := range e.perRate {
		if r.rate == rate {
			return r
		}
	}
	return e.changed(tableRED(rate))
}

// changed applies the scenario's kmin, kmax and pmax to a table row.
func (e *ecnSettings) changed(row ratedRED) ratedRED {
	given := 0
	if e.kmin > 0 {
		row.red.KMin = e.kmin
		given++
	}
	if e.kmax > 0 {
		row.red.KMax = e.kmax
		given++
	}
	if e.pmax >= 0 {
		row.red.PMax = e.pmax
		given++
	}
	switch given {
	case 3:
		row.from = fromScenario
	case 1, 2:
		row.from = fromScenario + ", the rest: " + row.from
	}
	return row
}

// tableRED is the default curve of a rate.
func tableRED(rate units.Rate) ratedRED {
	rows := defaultRED()
	row := rows[0]
	for _, r := range rows {
		if r.rate <= rate {
			row = r
		}
	}
	if row.rate != rate {
		row.red.KMin = scaleBytes(row.red.KMin, rate, row.rate)
		row.red.KMax = scaleBytes(row.red.KMax, rate, row.rate)
		row.from += ", scaled from " + row.rate.String()
		row.rate = rate
	}
	return row
}

// scaleBytes returns n*to/from without overflow for any rate in use.
func scaleBytes(n units.Bytes, to, from units.Rate) units.Bytes {
	return units.Bytes(float64(n) * float64(to) / float64(from))
}

// defaultBuffer is 16 MiB of packet buffer for each 50 Gb/s of the fastest
// port, the rule of the public ns-3 RDMA simulator's run script (peers B1:
// 32 MiB at 100G), from 1 MiB to 1 GiB.
func defaultBuffer(fastest units.Rate) units.Bytes {
	return min(max(scaleBytes(16*units.MiB, fastest, 50*units.Gbps), units.MiB), maxBuffer)
}
