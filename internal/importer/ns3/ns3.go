// Package ns3 reads the files of the public ns-3 RDMA simulators and of SimAI: a config file with the
// topology and flow files that it names. The rules of those simulators are the ns3 section of the
// scenario that it makes; times stay those of the files.
package ns3

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
)

type (
	word = tree.Word
	node = tree.Node
	pos  = tree.Pos
)

func has(words []string, w string) bool { return slices.Contains(words, w) }

// Importer reads a config file. Each argument of --set is KEY=value and replaces that key.
func Importer() importer.Importer {
	return importer.Importer{
		Flags: []importer.Flag{{Name: "ns3", Value: "CONFIG", Text: "an ns-3 RDMA simulator's `CONFIG` instead of a scenario",
			What: "a config file of the ns-3 RDMA simulators"}},
		Read: read,
	}
}

// maxConfig bounds a config file in bytes; those of the simulators have two thousand.
const maxConfig = 1 << 20

// read makes a scenario's tree of the files.
func read(q importer.Request) (*importer.Scenario, *tree.Error) {
	r := importer.NewReader(q)
	r.File = q.Files[0]
	checkSet(r, q.Set)
	src := r.Load(r.File, "a config file of the ns-3 RDMA simulators", foreign.NS3Config)
	if len(src) > maxConfig {
		r.Fail(pos{File: r.File}, "is longer than %d MiB; no config file is", maxConfig>>20)
	}
	if r.Err != nil {
		return nil, r.Err
	}
	c := readConfig(r, r.File, src, q.Set)
	topoFile, flowFile := c.need("TOPOLOGY_FILE", "topology.txt"), c.need("FLOW_FILE", "flow.txt")
	t := &topo{config: c}
	t.read(c.openFile("TOPOLOGY_FILE", topoFile, "a topology of the ns-3 RDMA simulators", foreign.NS3Topology,
		foreign.SimAITopology))
	f := &flows{topo: t, perPair: map[[2]int]int{}}
	f.read(c.openFile("FLOW_FILE", flowFile, "a flow file of the ns-3 RDMA simulators", foreign.NS3Flows))
	if r.Err != nil {
		return nil, r.Err
	}
	c.noteMonitors()
	c.readConweave()
	root := &node{Kind: tree.Mapping, Pos: c.begin()}
	root.Add("name", tree.Text(nameOf(c.file)))
	root.Add("description", tree.Text("imported from an ns-3 RDMA simulator's files"))
	if w := c.keys["RANDOM_SEED"]; w != nil {
		root.Add("seed", w[0].At(w[0].Text))
	}
	root.Add("topology", t.tree())
	root.Add("ns3", c.section())
	root.Add("workload", f.tree())
	r.Root = root
	return &r.Scenario, r.Err
}

// nameOf names the run after the folder, since the files are all called config.txt.
func nameOf(config string) string {
	if dir := filepath.Base(filepath.Dir(config)); dir != "." && dir != string(filepath.Separator) {
		return dir
	}
	return strings.TrimSuffix(filepath.Base(config), filepath.Ext(config))
}

// openFile opens a file that the config file names. It says so where that is not the one
// that the name would mean at first sight.
func (c *config) openFile(key string, name word, what string, kinds ...foreign.Kind) *importer.Rows {
	if c.Err != nil {
		return c.Rows(name.Text, nil)
	}
	places := c.places(name.Text)
	var first error
	for i, path := range places {
		src, err := c.Try(path, what, kinds...)
		if err != nil {
			if first == nil || !errors.Is(err, fs.ErrNotExist) {
				first = err
			}
			continue
		}
		switch beside := filepath.Join(filepath.Dir(c.file), name.Text); {
		case i == 0 && len(places) > 1 && places[1] == beside:
			if other, err := c.Try(beside, what, kinds...); err == nil && !bytes.Equal(src, other) {
				c.Warn(fmt.Sprintf("%s %s: there is also %s beside the config file, which differs; the first is read, "+
					"as those simulators do", key, name.Text, beside))
			}
		case i > 0 && path != beside:
			c.Warn(fmt.Sprintf("%s %s is not there; %s is read", key, name.Text, path))
		}
		return c.Rows(path, src)
	}
	c.Fail(name.Pos, "%s %s cannot be read: %v; name an existing file, as given or relative to the config file",
		key, name.Text, importer.Cause(first))
	return c.Rows(name.Text, nil)
}

// noteMonitors says which keys ask for output of other kinds.
func (c *config) noteMonitors() {
	var given []string
	for _, key := range c.names {
		if has(monitors(), key) {
			given = append(given, key)
		}
	}
	if len(given) > 0 {
		c.Notes = append(c.Notes, record.Note{Key: "monitors", Value: strings.Join(given, ", ") + ": ignored",
			Source: "hopscope run --series samples queues, rates and pauses"})
	}
}

// finish warns of what stands beyond the announced count, which the simulators do not read:
// further rows, or prose.
func (c *config) finish(f *importer.Rows, what string, n int) {
	if words, ok := f.Peek(); ok {
		c.Warn(fmt.Sprintf("%s:%d: what stands behind the last of %d %s is not read; the first row counts them",
			f.File, words[0].Pos.Line, n, what))
	}
}

// Seconds reads a time in seconds exactly and truncates it to nanoseconds, the resolution of
// these simulators.
func Seconds(w tree.Word, what string) (units.Time, *tree.Error) {
	whole, frac, _ := strings.Cut(w.Text, ".")
	if len(frac) > 9 && strings.Trim(frac, "0123456789") == "" {
		frac = frac[:9]
	}
	text := whole
	if frac != "" {
		text += "." + frac
	}
	t, err := units.ParseTime(text + "s")
	if err != nil {
		return 0, w.Pos.Errorf("%s %q is not a time in seconds from 0 to 9223372, such as 2.000001", what, w.Text)
	}
	return t, nil
}

// Rate reads a data rate, in which these files write k for kilo.
func Rate(w tree.Word, what string) (units.Rate, *tree.Error) {
	text := w.Text
	for _, suffix := range []string{"kbps", "kb/s"} {
		if num, ok := strings.CutSuffix(text, suffix); ok {
			text = num + "Kbps"
		}
	}
	v, err := units.ParseRate(text)
	switch {
	case err != nil:
		return 0, w.Pos.Errorf("%s: %v", what, err)
	case v == 0:
		return 0, w.Pos.Errorf("%s is 0; give a positive rate such as 100Gbps", what)
	}
	return v, nil
}
