package scenario

import (
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/importer/htsim"
	"github.com/hopscope/hopscope/internal/importer/ns3"
)

// imported reads files with an importer and checks the scenario that it makes.
func imported(i importer.Importer, q importer.Request, seed *uint64) (*Valid, error) {
	if q.ReadFile == nil {
		q.ReadFile = importer.ReadFile
	}
	s, bad := i.Read(q)
	if bad != nil {
		return nil, bad
	}
	return Read(Source{Imported: s, Seed: seed})
}

// LoadNS3 and LoadHTSim read files by name.
func LoadNS3(config string, set []string, seed *uint64) (*Valid, error) {
	return imported(ns3.Importer(), importer.Request{Files: []string{config}, Set: set}, seed)
}

func LoadHTSim(topo, cm string, set []string, seed *uint64) (*Valid, error) {
	return imported(htsim.Importer(), importer.Request{Files: []string{topo, cm}, Set: set}, seed)
}
