package report

import (
	"io"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
)

// WriteCSV writes messages.csv, accounts.csv, slowdowns.csv, rpcs.csv, ports.csv, qps.csv, ledger.csv,
// mechanisms.csv and cpu.csv, of collectives collectives.csv and critical.csv, and of
// hosts with an inside servers.csv, into dir, which it makes if need be. Every header names its unit: ps, bytes,
// bps (bit/s).
func WriteCSV(dir string, r *record.Run) error {
	set, err := files.NewSetIn(dir)
	if err != nil {
		return err
	}
	defer set.Discard()
	for _, t := range sheetsOf(r) {
		if err := set.Write(t.Name+".csv", func(w io.Writer) error { return rows.CSV(w, t) }); err != nil {
			return err
		}
	}
	return set.Commit()
}

// sheetsOf are the tables of a run that have a CSV file.
func sheetsOf(r *record.Run) []*rows.Table {
	if r.Flows() {
		return []*rows.Table{messageTable(r, 1), slowdownTable(r), callTable(r), collectiveTable(r)}
	}
	out := []*rows.Table{messageTable(r, 1), stageTable(r.Messages), slowdownTable(r), callTable(r),
		portTable(r.Ports, r.MeasureTo > r.MeasureFrom),
		qpTable(r.QPs), ledgerTable(r.Ledger), placeTable(r), cpuTable(r.Processors)}
	if len(r.Servers) > 0 {
		out = append(out, serverTable(r.Servers))
	}
	if len(r.Collectives) > 0 {
		out = append(out, collectiveTable(r), criticalTable(r))
	}
	if len(r.Jobs) > 0 {
		out = append(out, stepTable(r), rankTable(r), jobCallTable(r))
		if len(r.Collectives) == 0 {
			out = append(out, criticalTable(r))
		}
	}
	return out
}
