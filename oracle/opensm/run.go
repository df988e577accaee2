// Package opensm runs OpenSM on ibsim, a simulated InfiniBand subnet, and brings
// back what it discovered and the forwarding tables it programmed. It needs the
// programs ibsim, ibsim-run, opensm and ibnetdiscover.
package opensm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hopscope/hopscope/internal/subnet"
)

// Programs are what a run needs on the path.
func Programs() []string { return []string{"ibsim", "ibsim-run", "opensm", "ibnetdiscover"} }

// Result is what one run leaves.
type Result struct {
	Topology []byte // ibnetdiscover
	Ports    []byte // ibnetdiscover -p
	LFTs     []byte // opensm-lfts.dump
	Engine   string // that OpenSM says it used in the end
}

// Net describes a fabric in ibsim's format. The node of the first adapter stands
// first, for the first port of the file is the subnet manager's. Nodes are called
// by kind and number, as node descriptions may have characters that ibsim's
// format has not.
func Net(f *subnet.Fabric) string {
	var b strings.Builder
	name := func(n int) string { return fmt.Sprintf("n%d", n) }
	emit := func(n int) {
		kind := "Hca"
		if f.Nodes[n].Kind == subnet.Switch {
			kind = "Switch"
		}
		fmt.Fprintf(&b, "%s %d \"%s\"\n", kind, len(f.Nodes[n].Ports)-1, name(n))
		for p := 1; p < len(f.Nodes[n].Ports); p++ {
			if port := f.Nodes[n].Ports[p]; port.Peer >= 0 {
				fmt.Fprintf(&b, "[%d] \"%s\"[%d]\n", p, name(port.Peer), port.PeerPort)
			}
		}
		b.WriteByte('\n')
	}
	first := f.Endports[f.Manager()].Node
	emit(first)
	for n := range f.Nodes {
		if n != first {
			emit(n)
		}
	}
	return b.String()
}

// Manager names the node that runs the subnet manager in Net's format.
func Manager(f *subnet.Fabric) string { return fmt.Sprintf("n%d", f.Endports[f.Manager()].Node) }

// Run starts ibsim in dir on a network, lets OpenSM sweep it once with the given
// arguments, and ends ibsim.
func Run(ctx context.Context, dir, net, manager string, args ...string) (*Result, error) {
	file := filepath.Join(dir, "net")
	if err := os.WriteFile(file, []byte(net), 0o644); err != nil {
		return nil, err
	}
	stop, err := simulator(ctx, dir, file)
	if err != nil {
		return nil, err
	}
	defer stop()
	log := filepath.Join(dir, "opensm.log")
	if _, err := under(ctx, dir, manager, "opensm", append([]string{"-o", "-D", "0x43", "-f", log}, args...)...); err != nil {
		return nil, err
	}
	r := &Result{}
	if r.Topology, err = under(ctx, dir, manager, "ibnetdiscover"); err != nil {
		return nil, err
	}
	if r.Ports, err = under(ctx, dir, manager, "ibnetdiscover", "-p"); err != nil {
		return nil, err
	}
	if r.LFTs, err = os.ReadFile(filepath.Join(dir, "opensm-lfts.dump")); err != nil {
		return nil, err
	}
	said, err := os.ReadFile(log)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(said) {
		if before, _, ok := bytes.Cut(line, []byte(" tables configured on all switches")); ok {
			r.Engine = string(before[bytes.LastIndexByte(before, ' ')+1:])
		}
	}
	return r, nil
}

// simulator starts ibsim and waits until it is ready. Its standard input stays
// open until stop, for it ends with its input.
func simulator(ctx context.Context, dir, file string) (stop func(), err error) {
	out := filepath.Join(dir, "ibsim.log")
	log, err := os.Create(out)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "ibsim", "-s", "-n", file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		input.Close()
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
	}
	for range 200 {
		if said, err := os.ReadFile(out); err == nil && bytes.Contains(said, []byte("simulator ready")) {
			return stop, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	said, _ := os.ReadFile(out)
	return nil, fmt.Errorf("ibsim is not ready after 10 s; it says %.300q", said)
}

// under runs a program as the simulated node host sees the subnet.
func under(ctx context.Context, dir, host, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "ibsim-run", append([]string{program}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SIM_HOST="+host, "OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %.300s", program, err, complaint.String())
	}
	return out, nil
}
