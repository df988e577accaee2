// Package anatomy takes packets apart: which bytes are which field of which header, and what it says.
package anatomy

import "fmt"

// Packet is a packet with the fields of its headers: one after the other they make up all of its bytes.
type Packet struct {
	Stack     string
	Operation string
	Name      string // as its standard calls it: "RC RDMA WRITE Only"
	WireBytes int    // what it takes of a link
	Wire      string // what that has beside the packet
	Routing   string // what lets it cross a router, or why it cannot
	Headers   []Header
	Data      []byte // its bytes, FCS or VCRC included
}

// Header is one header, or what stands for itself, such as the payload.
type Header struct {
	Name   string
	Source string // standard
	Bytes  int
	Fields []Field
}

// Field is a field of a header.
type Field struct {
	Name string
	// Offset is where the byte that it begins in stands in the packet, from 0, and Bit where in that byte: 0 is its
	// most significant bit.
	Offset int
	Bit    int
	Bits   int
	Raw    string // whole bytes in hexadecimal, else bits
	Value  string // what they say
}

// walker takes the bytes of a packet apart.
type walker struct {
	b       []byte
	at      int // bits taken
	headers []Header
	// streamed: the payload of TCP is iWARP's; markers: its FPDUs have them.
	streamed, markers bool
}

// rest is what has not been taken.
func (w *walker) rest() []byte { return w.b[w.at/8:] }

func (w *walker) header(name, source string) {
	w.headers = append(w.headers, Header{Name: name, Source: source})
}

// show says what a number means; nil: it is printed in decimal.
type show func(v uint64) string

// bits takes a field of 1 to 64 bits and returns its value.
func (w *walker) bits(name string, n int, means show) uint64 {
	v := uint64(0)
	text := make([]byte, 0, n)
	for i := w.at; i < w.at+n; i++ {
		bit := w.b[i/8] >> (7 - i%8) & 1
		v = v<<1 | uint64(bit)
		text = append(text, '0'+bit)
	}
	if n%8 == 0 && w.at%8 == 0 {
		text = fmt.Appendf(nil, "% x", w.b[w.at/8:(w.at+n)/8])
	}
	value := fmt.Sprint(v)
	if means != nil {
		value = means(v)
	}
	w.add(name, n, string(text), value)
	return v
}

// bytes takes n whole bytes; value says what they are.
func (w *walker) bytes(name string, n int, value string) []byte {
	const most, some = 8, 4 // bytes shown; of longer fields
	b := w.b[w.at/8 : w.at/8+n]
	raw := fmt.Sprintf("% x", b)
	if n > most {
		raw = fmt.Sprintf("% x and %d more", b[:some], n-some)
	}
	w.add(name, 8*n, raw, value)
	return b
}

func (w *walker) add(name string, bits int, raw, value string) {
	h := &w.headers[len(w.headers)-1]
	h.Fields = append(h.Fields, Field{Name: name, Offset: w.at / 8, Bit: w.at % 8, Bits: bits, Raw: raw, Value: value})
	w.at += bits
	if w.at%8 == 0 {
		h.Bytes = 0
		for i := range h.Fields {
			h.Bytes += h.Fields[i].Bits
		}
		h.Bytes /= 8
	}
}

// reserved takes bits that say nothing.
func (w *walker) reserved(n int) { w.bits("reserved", n, nothing) }

func nothing(uint64) string { return "" }

func hex(v uint64) string { return fmt.Sprintf("0x%x", v) }

// yes is for single bits.
func yes(v uint64) string {
	if v != 0 {
		return "yes"
	}
	return "no"
}

// unit is a number with what it counts.
func unit(name string) show { return func(v uint64) string { return fmt.Sprintf("%d %s", v, name) } }

// said is a number with what it means here.
func said(what string) show { return func(v uint64) string { return fmt.Sprintf("%d: %s", v, what) } }

// likeHex is the same in hexadecimal.
func likeHex(what string) show {
	return func(v uint64) string { return fmt.Sprintf("0x%x: %s", v, what) }
}

// named is a number with its name among some.
func named(names map[uint64]string) show {
	return func(v uint64) string {
		if name, ok := names[v]; ok {
			return fmt.Sprintf("%d: %s", v, name)
		}
		return fmt.Sprint(v)
	}
}
