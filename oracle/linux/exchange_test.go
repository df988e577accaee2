//go:build linux

package linux

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
	"golang.org/x/sys/unix"
)

// sent is a segment that a peer of our making sends to a listening endpoint:
// sequence numbers count from both sides' initial ones.
type sent struct {
	what     string
	flags    uint8
	seq, ack uint32
	bytes    int
	ts       uint32
}

// answers is an endpoint that such segments are put to.
type answers interface {
	// put returns the segments that answer within a while.
	put(h wire.TCP, bytes int) ([]wire.TCP, error)
}

// peerISS is the initial sequence number of the peer.
const peerISS = 5000

// exchange puts the segments to an endpoint and tells what it answers.
func exchange(to answers, mss uint16, list []sent) ([]string, error) {
	var iss uint32
	var out []string
	for _, s := range list {
		h := wire.TCP{SrcPort: 4000, DstPort: 80, Seq: peerISS + s.seq, Flags: s.flags, Window: 1000}
		h.Options.HasTimestamps, h.Options.TSVal = true, s.ts
		if s.flags&tcp.SYN != 0 {
			h.Options.MSS, h.Options.SACKPermitted, h.Options.HasWindowScale, h.Options.WindowScale = mss, true, true, 7
		}
		if s.flags&tcp.ACK != 0 {
			h.Ack = iss + s.ack
		}
		back, err := to.put(h, s.bytes)
		if err != nil {
			return nil, err
		}
		for _, r := range back {
			line := fmt.Sprintf("ack %d, echo %d", r.Ack-peerISS, r.Options.TSEcr)
			if r.Flags&tcp.SYN != 0 {
				iss = r.Seq
				line += fmt.Sprintf(", window %d", r.Window)
			}
			for _, b := range r.Options.SACK[:r.Options.SACKBlocks] {
				line += fmt.Sprintf(", sack %d:%d", b.Left-peerISS, b.Right-peerISS)
			}
			out = append(out, s.what+": "+line)
		}
		if back == nil {
			out = append(out, s.what+": nothing")
		}
	}
	return out, nil
}

// kernelSide is the kernel, whose device we read and write.
type kernelSide struct{ e *end }

var addresses = [2][4]byte{{10, 0, 0, 1}, {10, 0, 0, 2}}

func (k kernelSide) put(h wire.TCP, bytes int) ([]wire.TCP, error) {
	if err := k.inject(h, bytes); err != nil {
		return nil, err
	}
	return k.collect(100*time.Millisecond, 0)
}

// inject hands the kernel a segment.
func (k kernelSide) inject(h wire.TCP, bytes int) error {
	ip := wire.IPv4{TotalLen: uint16(wire.IPv4Len + h.Len() + bytes), DF: true, TTL: 64, Protocol: unix.IPPROTO_TCP, Src: addresses[0], Dst: addresses[1]}
	ip.Checksum = ip.HeaderChecksum()
	segment := append(h.Append(nil), make([]byte, bytes)...)
	h.Checksum = wire.TCPChecksumIPv4(ip.Src, ip.Dst, segment)
	_, err := write(k.e.fd, append(h.Append(ip.Append(nil)), make([]byte, bytes)...))
	return err
}

// collect returns what the kernel sends in a while, or the first most segments; 0: all.
func (k kernelSide) collect(while time.Duration, most int) (list []wire.TCP, err error) {
	buf := make([]byte, 65536)
	for until := time.Now().Add(while); time.Now().Before(until) && (most == 0 || len(list) < most); {
		if err := await([]unix.PollFd{{Fd: int32(k.e.fd), Events: unix.POLLIN}}, time.Until(until)); err != nil {
			return nil, err
		}
		n, err := read(k.e.fd, buf)
		if err != nil {
			return nil, err
		}
		if _, ok := tcpData(buf[:n]); !ok {
			continue
		}
		r, _, err := wire.ParseTCP(buf[wire.IPv4Len:n])
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// ourSide is our endpoint; its application reads what there is.
type ourSide struct {
	c   tcp.Conn
	now units.Time
}

func (o *ourSide) put(h wire.TCP, bytes int) (back []wire.TCP, err error) {
	var p packet.Packet
	tcp.SetHeader(&p, nil, &h, bytes)
	o.c.Receive(o.now, &p, nil, 1000)
	back = o.poll(back)
	o.c.Read(o.now, 1<<30)
	back = o.poll(back)
	for end := o.now + 100*units.Millisecond; ; back = o.poll(back) {
		at := o.c.Deadline()
		if at > end {
			o.now = end
			return back, nil
		}
		o.now = max(o.now, at)
		o.c.Expire(o.now)
	}
}

func (o *ourSide) poll(back []wire.TCP) []wire.TCP {
	var p packet.Packet
	for {
		if r, _ := o.c.Poll(o.now, &p); r != tcp.Sent {
			return back
		}
		back = append(back, tcp.Header(&p, o.c.PolledSide()))
	}
}

// TestExchange puts segments sent again, reordered and old to Linux and to our endpoint,
// and compares what they acknowledge, which timestamp they echo (RFC 7323 4.3), and what
// window they begin with.
func TestExchange(t *testing.T) {
	if os.Getenv("HOPSCOPE_LINUX_TCP") == "" {
		t.Skip("HOPSCOPE_LINUX_TCP is not set: it takes root and /dev/net/tun")
	}
	list := []sent{
		{"SYN", tcp.SYN, 0, 0, 0, 100},
		{"ACK", tcp.ACK, 1, 1, 0, 101},
		{"data", tcp.ACK, 1, 1, 1000, 110},
		{"the same again", tcp.ACK, 1, 1, 1000, 500},
		{"more", tcp.ACK, 1001, 1, 1000, 600},
		{"the first again", tcp.ACK, 1, 1, 1000, 900},
		{"the last again", tcp.ACK, 1001, 1, 1000, 950},
		{"both again", tcp.ACK, 1, 1, 2000, 970},
		{"an old timestamp", tcp.ACK, 2001, 1, 1000, 960},
		{"a probe below the window", tcp.ACK, 2000, 1, 0, 1000},
		{"data ahead", tcp.ACK, 3001, 1, 1000, 1100},
		{"data ahead again", tcp.ACK, 3001, 1, 1000, 1150},
		{"what was missing", tcp.ACK, 2001, 1, 1000, 1200},
		{"again and more", tcp.ACK, 3001, 1, 2000, 1300},
		{"FIN", tcp.ACK | tcp.FIN, 5001, 1, 0, 1400},
		{"FIN again", tcp.ACK | tcp.FIN, 5001, 1, 0, 1500},
	}
	for _, mtu := range []int{1500, 4000, 9000} {
		cfg, err := Profile(&Path{CC: "reno", MTU: mtu})
		if err != nil {
			t.Fatal(err)
		}
		o := &ourSide{}
		o.c.Init(&cfg, packet.Packet{})
		o.c.Listen()
		ours, err := exchange(o, uint16(mtu-40), list)
		if err != nil {
			t.Fatal(err)
		}
		kernel, err := exchangeKernel(mtu, list)
		if err != nil {
			t.Fatal(err)
		}
		if k, o := strings.Join(kernel, "\n"), strings.Join(ours, "\n"); k != o {
			t.Errorf("MTU %d: Linux\n%s\nours\n%s", mtu, k, o)
		}
	}
}

func exchangeKernel(mtu int, list []sent) ([]string, error) {
	e, err := newEnd(2, uint32(mtu))
	if err != nil {
		return nil, err
	}
	defer e.close()
	listener, err := e.listen("reno")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	go func() {
		if c, err := listener.Accept(); err == nil {
			io.Copy(io.Discard, c)
			time.Sleep(time.Second) // longer than the exchange goes on: no FIN of its own
			c.Close()
		}
	}()
	return exchange(kernelSide{e}, uint16(mtu-40), list)
}
