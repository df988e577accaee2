// Package importers lists what reads files of other programs: a new importer is a package below
// importer and a row here.
package importers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/importer/htsim"
	"github.com/hopscope/hopscope/internal/importer/ns3"
)

// All lists them in the order of help.
func All() []importer.Importer {
	return []importer.Importer{
		ns3.Importer(),
		htsim.Importer(),
	}
}

// Usage says which flags name files: "--ns3 CONFIG, or --topo FILE --cm FILE".
func Usage() string {
	var out []string
	for _, i := range All() {
		out = append(out, flags(i, func(f importer.Flag) string { return f.Value }))
	}
	return strings.Join(out, ", or ")
}

// Given repeats the flags that name files, given by flag.
func Given(files map[string]string) string {
	i, err := find(files)
	if err != nil {
		return ""
	}
	return flags(i, func(f importer.Flag) string { return files[f.Name] })
}

func flags(i importer.Importer, value func(importer.Flag) string) string {
	var words []string
	for _, f := range i.Flags {
		words = append(words, "--"+f.Name+" "+value(f))
	}
	return strings.Join(words, " ")
}

// Check says whether files, given by flag, are those of one importer, and all of them.
func Check(files map[string]string) error {
	_, err := find(files)
	return err
}

// find is the importer of files.
func find(files map[string]string) (found importer.Importer, err error) {
	var names []string // of importers that files are given for
	for _, i := range All() {
		var have, own []string
		for _, f := range i.Flags {
			own = append(own, "--"+f.Name)
			if files[f.Name] != "" {
				have = append(have, "--"+f.Name)
			}
		}
		if len(have) == 0 {
			continue
		}
		names, found = append(names, strings.Join(own, " and ")), i
		for _, f := range i.Flags {
			if files[f.Name] == "" && err == nil {
				err = fmt.Errorf("%s needs --%s %s, %s", have[0], f.Name, f.Value, f.What)
			}
		}
	}
	switch {
	case len(names) > 1:
		return found, fmt.Errorf("give %s, not both", strings.Join(names, " or "))
	case len(names) == 0:
		return found, errors.New("no file is given")
	}
	return found, err
}

// Read makes a scenario of files, given by flag, with the arguments of --set.
func Read(files map[string]string, set []string) (*importer.Scenario, error) {
	i, err := find(files)
	if err != nil {
		return nil, err
	}
	q := importer.Request{Set: set, ReadFile: importer.ReadFile}
	for _, f := range i.Flags {
		q.Files = append(q.Files, files[f.Name])
	}
	s, bad := i.Read(q)
	if bad != nil {
		return nil, bad
	}
	return s, nil
}
