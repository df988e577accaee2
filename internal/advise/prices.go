package advise

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/tree"
)

// Prices are what the user pays, all in one currency.
type Prices struct {
	Currency   string // three capital letters, as ISO 4217 has it
	Ethernet   Parts
	InfiniBand Parts
	Core       float64 // of a core of a server, kept busy by the host's part of the network
	Parameter  float64 // of the work to set and keep one parameter of switches and congestion control
}

// Parts are what a network is bought as, each.
type Parts struct {
	Switch, Cable float64
	Card          float64 // of a host; on Ethernet an ordinary one
	RDMACard      float64 // on Ethernet: one that carries RDMA; on InfiniBand unused, as each card does
}

// amount is a number and a currency.
var amount = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?) ([A-Z]{3})$`)

// ReadPrices reads a file of prices. The error is one line with file, line and column.
func ReadPrices(file string, text []byte) (*Prices, *tree.Error) {
	root, bad := tree.Parse(file, text)
	if bad != nil && len(strings.TrimSpace(string(text))) == 0 {
		return nil, tree.Pos{File: file, Line: 1, Col: 1}.Errorf("the file is empty; it needs ethernet, infiniband, core and " +
			"parameter")
	}
	if bad != nil {
		return nil, bad
	}
	p := &Prices{}
	d := priceReader{p: p}
	whole := tree.Pos{File: file}
	d.section(whole, "the file", root, []string{"ethernet", "infiniband", "core", "parameter"})
	d.parts(root, whole, "ethernet", []string{"switch", "cable", "card", "rdma_card"},
		[]*float64{&p.Ethernet.Switch, &p.Ethernet.Cable, &p.Ethernet.Card, &p.Ethernet.RDMACard})
	d.parts(root, whole, "infiniband", []string{"switch", "cable", "card"},
		[]*float64{&p.InfiniBand.Switch, &p.InfiniBand.Cable, &p.InfiniBand.Card})
	d.price(root, whole, "core", "core", &p.Core)
	d.price(root, whole, "parameter", "parameter", &p.Parameter)
	if d.bad != nil {
		return nil, d.bad
	}
	return p, nil
}

// priceReader keeps the first error.
type priceReader struct {
	p   *Prices
	bad *tree.Error
}

func (d *priceReader) fail(at tree.Pos, format string, args ...any) {
	if d.bad == nil {
		d.bad = at.Errorf(format, args...)
	}
}

// section refuses what is no mapping, and keys that it does not have.
func (d *priceReader) section(at tree.Pos, name string, n *tree.Node, keys []string) {
	if n == nil || n.Kind != tree.Mapping {
		d.fail(at, "%s is no mapping of parts to prices, such as switch: 9000 USD", name)
		return
	}
	for i := range n.Fields {
		if f := &n.Fields[i]; !slices.Contains(keys, f.Key) {
			d.fail(f.Pos, "%q is no part that has a price; %s", f.Key, tree.Suggest(f.Key, keys))
		}
	}
}

// parts reads the prices of a network, each of which it needs.
func (d *priceReader) parts(root *tree.Node, at tree.Pos, name string, keys []string, to []*float64) {
	n := root.Get(name)
	if n == nil {
		d.fail(at, "there are no prices for %s, which advise weighs; give its %s", name, strings.Join(keys, ", "))
		return
	}
	d.section(n.Pos, name, n, keys)
	for i, key := range keys {
		d.price(n, n.Pos, name+"."+key, key, to[i])
	}
}

// price reads one.
func (d *priceReader) price(n *tree.Node, at tree.Pos, name, key string, to *float64) {
	if d.bad != nil {
		return
	}
	v := n.Get(key)
	if v == nil {
		d.fail(at, "%s has no price; give one, such as %s: 100 USD, or 0 for what is paid already", name, key)
		return
	}
	m := amount.FindStringSubmatch(v.Text)
	if v.Kind != tree.Scalar || m == nil {
		d.fail(v.Pos, "%s: %q is no price; write a number and a currency, such as 100 USD", name, v.Text)
		return
	}
	x, err := strconv.ParseFloat(m[1], 64)
	switch {
	case err != nil || x > maxPrice:
		d.fail(v.Pos, "%s: %s is beyond %.0f; a price is from 0 to that", name, m[1], float64(maxPrice))
	case m[1][0] == '-':
		d.fail(v.Pos, "%s: %s is negative; a price is 0 or more", name, v.Text)
	case d.p.Currency != "" && d.p.Currency != m[2]:
		d.fail(v.Pos, "%s is in %s, and prices above are in %s; give all in one currency", name, m[2], d.p.Currency)
	}
	d.p.Currency, *to = m[2], x
}

// maxPrice keeps sums of prices exact.
const maxPrice = 1e9
