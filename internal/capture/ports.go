// Package capture writes the frames that pass ports of a run as a file that Wireshark reads.
package capture

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/topology"
)

// Tap is one direction of one port.
type Tap struct {
	Node, Local int    // of the graph; the port from 0
	Port        uint32 // global number: all ports of all nodes in their order
	Out         bool   // what leaves the port; else what arrives at it
}

// Name is how a tap is asked for and what its interface is called: "sw:5/out".
func (t Tap) Name(g *topology.Graph) string { return t.port(g) + "/" + direction(t.Out) }

func (t Tap) port(g *topology.Graph) string {
	return names.Quoted(g.Nodes[t.Node].Name) + ":" + strconv.Itoa(t.Local+1)
}

func direction(out bool) string {
	if out {
		return "out"
	}
	return "in"
}

// Taps are the directions of ports that a list names, each once, in the order of the list and "in"
// before "out". An item is a port as reports write it ("sw:5"), a node for all of its ports, "hosts" or
// "all"; each may end in "/in" or "/out" for one direction. An error says what is wrong with an item and
// what would be right.
func Taps(g *topology.Graph, list []string) ([]Tap, error) {
	first := make([]uint32, len(g.Nodes)) // global number of each node's first port
	n := uint32(0)
	for i := range g.Nodes {
		first[i] = n
		n += uint32(len(g.Nodes[i].Ports))
	}
	var taps []Tap
	seen := make(map[Tap]bool)
	for _, item := range list {
		x, err := parse(g, item)
		if err != nil {
			return nil, err
		}
		for node := range g.Nodes {
			if !x.means(g, node) {
				continue
			}
			for local := range g.Nodes[node].Ports {
				if x.port >= 0 && x.port != local {
					continue
				}
				for _, out := range [...]bool{false, true} {
					t := Tap{node, local, first[node] + uint32(local), out}
					if x.way != "" && x.way != direction(out) || seen[t] {
						continue
					}
					seen[t] = true
					taps = append(taps, t)
				}
			}
		}
	}
	return taps, nil
}

// asked is an item of a list of taps.
type asked struct {
	node  int    // -1: see hosts
	hosts bool   // all hosts, not all nodes
	port  int    // from 0; -1: all
	way   string // "in", "out", "": both
}

func (x *asked) means(g *topology.Graph, node int) bool {
	if x.node >= 0 {
		return node == x.node
	}
	return !x.hosts || g.Nodes[node].Kind == topology.Host
}

func parse(g *topology.Graph, item string) (x asked, err error) {
	if item == "" {
		return x, errors.New("an item of the list is empty")
	}
	port, way := names.Inside(item)
	x = asked{node: -1, port: -1, way: way}
	if strings.HasSuffix(item, "/") || way != "" && way != direction(false) && way != direction(true) {
		return x, fmt.Errorf("%s: write %s/in or %s/out, or %s for both directions", item, port, port, port)
	}
	name := names.Node(port)
	for i := range g.Nodes {
		if g.Nodes[i].Name == name || g.Nodes[i].Name == unquoted(name) {
			x.node = i
		}
	}
	number := strings.TrimPrefix(port, name)
	if x.node < 0 {
		if x.hosts = name == "hosts"; (x.hosts || name == "all") && number == "" {
			return x, nil
		}
		return x, fmt.Errorf("%s: there is no node %s; name a port as %s, a node as %s, hosts or all",
			item, name, Tap{Node: 0}.port(g), names.Quoted(g.Nodes[0].Name))
	}
	if number == "" {
		return x, nil
	}
	n, err := strconv.Atoi(number[1:])
	if ports := len(g.Nodes[x.node].Ports); err != nil || n < 1 || n > ports {
		return x, fmt.Errorf("%s: %s has no such port; its ports are %s:1 to %s:%d", item, name, name, name, ports)
	}
	x.port = n - 1
	return x, nil
}

// unquoted is a name in double quotes without them, as in lists where it holds a comma; else as it is.
func unquoted(name string) string {
	if len(name) < 2 || name[0] != '"' || name[len(name)-1] != '"' {
		return name
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(name[1 : len(name)-1])
}
