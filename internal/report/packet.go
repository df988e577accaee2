package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/hopscope/hopscope/internal/anatomy"
)

// Packet writes a packet field by field for reading.
func Packet(w io.Writer, p *anatomy.Packet, opt TextOptions) error {
	t := blank(opt)
	t.prose(fmt.Sprintf("%s %s: %s, %d bytes; on the wire %d, with %s", p.Stack, p.Operation, p.Name, len(p.Data),
		p.WireBytes, p.Wire), t.paint.bold)
	t.line("")
	tab := &table{columns: []column{{title: "Byte", right: true}, {title: "Size", right: true}, {title: "Field"},
		{title: "Bytes or bits"}, {title: "Value", wrap: true}}}
	for i := range p.Headers {
		h := &p.Headers[i]
		tab.add("", fmt.Sprintf("%d B", h.Bytes), h.Name, "", h.Source)
		for k := range h.Fields {
			f := &h.Fields[k]
			tab.add(fmt.Sprint(f.Offset), fieldSize(f.Bits), "  "+f.Name, f.Raw, f.Value)
		}
	}
	t.table(tab)
	t.line("")
	t.prose(p.Routing, plain)
	t.line("")
	for at := 0; at < len(p.Data); at += 16 {
		t.line(fmt.Sprintf("%4d  % x", at, p.Data[at:min(at+16, len(p.Data))]))
	}
	return t.end(w)
}

// fieldSize is the size of a field.
func fieldSize(bits int) string {
	switch {
	case bits == 1:
		return "1 bit"
	case bits%8 != 0:
		return fmt.Sprintf("%d bits", bits)
	}
	return fmt.Sprintf("%d B", bits/8)
}

// PacketNames lists the packets of stacks.
func PacketNames(w io.Writer, stacks []string, opt TextOptions) error {
	t := blank(opt)
	tab := &table{columns: []column{{title: "Stack"}, {title: "Packets", wrap: true}}}
	for _, s := range stacks {
		tab.add(s, strings.Join(anatomy.Operations(s), ", "))
	}
	t.table(tab)
	return t.end(w)
}
