// Package pcap reads captures of network traffic, packet by packet: pcap with stamps in micro-
// or nanoseconds, pcapng, either byte order, gzip around either. It holds a packet at a time, so that
// captures may be of any length.
package pcap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/hopscope/hopscope/internal/units"
)

// Link is a link type as https://www.tcpdump.org/linktypes.html numbers them.
type Link uint16

// Link types.
const (
	Ethernet   Link = 1
	RawIP      Link = 101 // an IPv4 or IPv6 packet
	LinuxSLL   Link = 113 // of the pseudo-device "any"
	ERF        Link = 197 // Extensible Record Format, as ibdump writes InfiniBand
	RawIPv4    Link = 228
	RawIPv6    Link = 229
	InfiniBand Link = 247 // from LRH to VCRC
	LinuxSLL2  Link = 276
)

// Point is where packets were captured: an interface of a pcapng file. A pcap file has one.
type Point struct {
	Name, Description string // "": the file does not say
	Link              Link
	SnapLen           int   // bytes of a packet that are kept at most; 0: all
	Dropped           int64 // packets that the interface lost or had no room for; -1: the file does not say
}

// Packet is one captured packet.
type Packet struct {
	// At is the time since the first packet of the file, negative where that is not the earliest; of
	// stamps that a clock gave which began at 0 it is that clock's.
	At     units.Time
	Timed  bool // the file has a time for it; else At is that of the packet before
	Point  int  // index into Points
	Link   Link
	Data   []byte // what was kept of it, until the next one is read
	Length int    // in bytes, on the wire as the capture saw it
}

// maxPoints bounds the interfaces of a file.
const maxPoints = 4096

// Stamps less than ownClock after 1970 are times of a clock that began at 0, as those of simulations;
// stamps more than maxSpan apart, which a count of picoseconds cannot hold, are damaged.
const (
	ownClock = 24 * time.Hour
	maxSpan  = 100 * 24 * time.Hour
)

// bufferBytes is how much is read at a time.
const bufferBytes = 1 << 18

// CutError says that a file ends before a packet does, or holds what cannot be read there.
type CutError struct {
	Packets int64 // that were read before
	Why     string
}

func (e *CutError) Error() string {
	return fmt.Sprintf("%s behind packet %d", e.Why, e.Packets)
}

// Reader reads one file.
type Reader struct {
	// Format is what the file is: "pcap, microseconds", "pcapng, gzip".
	Format string

	old     *pcapgo.Reader
	ng      *pcapgo.NgReader
	points  []Point
	base    int // of the points of the present section
	ended   bool
	packets int64
	first   time.Time
	last    units.Time
}

// magics of pcap files, as their first four bytes stand there.
func pcapFormat(head []byte) string {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch order.Uint32(head) {
		case 0xa1b2c3d4:
			return "pcap, microseconds"
		case 0xa1b23c4d:
			return "pcap, nanoseconds"
		}
	}
	return ""
}

// Open begins to read a file. An error says what the file is instead.
func Open(from io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(from, bufferBytes)
	packed := ""
	head, _ := in.Peek(4)
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("damaged gzip: %w", err)
		}
		in, packed = bufio.NewReaderSize(z, bufferBytes), ", gzip"
		head, _ = in.Peek(4)
	}
	switch {
	case len(head) == 0 && packed == "":
		return nil, errors.New("is empty; give a capture (pcap or pcapng)")
	case len(head) < 4:
		return nil, fmt.Errorf("has %d bytes, which is no capture; give one of pcap or pcapng", len(head))
	}
	if format := pcapFormat(head); format != "" {
		return openOld(in, format+packed)
	}
	if !bytes.Equal(head, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		return nil, errors.New("is no capture; give a file of pcap or pcapng, which may be packed with gzip")
	}
	r := &Reader{Format: "pcapng" + packed}
	var err error
	r.ng, err = pcapgo.NewNgReader(in, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true,
		SectionEndCallback: r.endSection})
	if err != nil {
		return nil, fmt.Errorf("is a damaged pcapng file: %s", reason(err))
	}
	return r, nil
}

// openOld begins to read a pcap file.
func openOld(in *bufio.Reader, format string) (*Reader, error) {
	old, err := pcapgo.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("is a damaged pcap file: %s", reason(err))
	}
	const lengthOfFCS = 0xffff // lies above the link type's bits
	link := Link(uint32(old.LinkType()) & lengthOfFCS)
	return &Reader{Format: format, old: old,
		points: []Point{{Link: link, SnapLen: int(old.Snaplen()), Dropped: -1}}}, nil
}

// reason is an error of the library, in a few words.
func reason(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it was cut short"
	}
	text := err.Error()
	return strings.ToLower(text[:1]) + text[1:]
}

// Points are the capture points that were met so far; counts of what they dropped come last.
func (r *Reader) Points() []Point { return r.points }

// Began is the time that instants are told from, in UTC; "" where the stamps are those of a clock that
// began at 0, or there are none.
func (r *Reader) Began() string {
	if r.first.IsZero() || r.first.Unix() == 0 {
		return ""
	}
	return r.first.UTC().Format("2006-01-02 15:04:05.000000 UTC")
}

// Packets is how many were read.
func (r *Reader) Packets() int64 { return r.packets }

// Next reads a packet. io.EOF: the file is over; a *CutError: it is not, but no more can be read.
func (r *Reader) Next(p *Packet) error {
	if r.ended {
		return io.EOF
	}
	data, info, err := r.read()
	if err != nil {
		r.ended = true
		r.statistics()
		if err == io.EOF {
			return io.EOF
		}
		why := reason(err)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			why = "the file is cut short"
		}
		return &CutError{r.packets, why}
	}
	point := r.base + info.InterfaceIndex
	if err := r.meet(point); err != nil {
		r.ended = true
		return err
	}
	p.Data, p.Length, p.Point, p.Link = data, info.Length, point, r.points[point].Link
	p.Timed = !info.Timestamp.IsZero()
	switch {
	case !p.Timed:
	case r.first.IsZero():
		r.first = info.Timestamp
		if since := info.Timestamp.Sub(time.Unix(0, 0)); since >= 0 && since < ownClock { // a clock that began at 0
			r.first = time.Unix(0, 0)
		}
		fallthrough
	default:
		since := info.Timestamp.Sub(r.first)
		if p.Timed = since > -maxSpan && since < maxSpan; p.Timed {
			r.last = units.Time(since) * units.Nanosecond
		}
	}
	p.At = r.last
	r.packets++
	return nil
}

func (r *Reader) read() ([]byte, gopacket.CaptureInfo, error) {
	if r.old != nil {
		return r.old.ZeroCopyReadPacketData()
	}
	return r.ng.ZeroCopyReadPacketData()
}

// meet notes the interfaces of the section up to that one.
func (r *Reader) meet(point int) error {
	if point < len(r.points) {
		return nil
	}
	// most files name all before the first packet
	for len(r.points) <= point || len(r.points) < r.base+r.ng.NInterfaces() {
		if len(r.points) == maxPoints {
			return &CutError{r.packets, fmt.Sprintf("more than %d interfaces", maxPoints)}
		}
		i, err := r.ng.Interface(len(r.points) - r.base)
		if err != nil {
			return &CutError{r.packets, reason(err)}
		}
		r.points = append(r.points, Point{Name: i.Name, Description: i.Description, Link: Link(i.LinkType),
			SnapLen: int(i.SnapLength), Dropped: -1})
	}
	return nil
}

// endSection takes over what a section says of its interfaces in the end.
func (r *Reader) endSection(list []pcapgo.NgInterface, _ pcapgo.NgSectionInfo) {
	for k := range list {
		if r.base+k < len(r.points) && list[k].Statistics.PacketsDropped != pcapgo.NgNoValue64 {
			r.points[r.base+k].Dropped = int64(list[k].Statistics.PacketsDropped)
		}
	}
	r.base = len(r.points)
}

// statistics are those of the last section.
func (r *Reader) statistics() {
	if r.ng == nil {
		return
	}
	var list []pcapgo.NgInterface
	for k := range r.ng.NInterfaces() {
		if i, err := r.ng.Interface(k); err == nil {
			list = append(list, i)
		}
	}
	r.endSection(list, pcapgo.NgSectionInfo{})
}

// Names are those that the file gives addresses (the name resolution blocks of its last section).
func (r *Reader) Names() map[netip.Addr]string {
	out := map[netip.Addr]string{}
	if r.ng == nil {
		return out
	}
	for k := range r.ng.NNames() {
		n, err := r.ng.Name(k)
		if a, ok := n.Addr.(*pcapgo.NgIPAddress); err == nil && ok && len(n.Names) > 0 {
			out[a.Addr] = n.Names[0]
		}
	}
	return out
}
