//go:build linux

package linux

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
	"golang.org/x/sys/unix"
)

// TestOldEcho: two segments are sent and sent again for a second; then one
// acknowledgement of both echoes the first transmission's time, as a receiver does that
// had both long ago (TestExchange, "the first again"). Linux and ours take that second for
// a round trip, in want of a better sample (Karn's rule, RFC 7323 4): SRTT becomes 7/8 of
// what it was and an eighth of the second.
func TestOldEcho(t *testing.T) {
	if os.Getenv("HOPSCOPE_LINUX_TCP") == "" {
		t.Skip("HOPSCOPE_LINUX_TCP is not set: it takes root and /dev/net/tun")
	}
	before, sample, after, err := kernelEcho()
	if err != nil {
		t.Fatal(err)
	}
	if want := (7*before + sample) / 8; (after - want).Abs() > 3*time.Millisecond {
		t.Errorf("Linux: SRTT %v, then %v after an echo %v old; want %v", before, after, sample, want)
	}
	before, sample, after = ourEcho(t)
	if want := (7*before + sample) / 8; (after - want).Abs() > time.Millisecond {
		t.Errorf("ours: SRTT %v, then %v after an echo %v old; want %v", before, after, sample, want)
	}
}

// answer is a segment of the peer: its SYN-ACK, or an acknowledgement of n bytes.
func answer(syn wire.TCP, flags uint8, n, echo uint32) wire.TCP {
	h := wire.TCP{SrcPort: syn.DstPort, DstPort: syn.SrcPort, Seq: peerISS, Ack: syn.Seq + 1 + n, Flags: flags, Window: 60000}
	h.Options.HasTimestamps, h.Options.TSVal, h.Options.TSEcr = true, 1, echo
	if flags&tcp.SYN != 0 {
		h.Options.MSS, h.Options.SACKPermitted = 1460, true
	} else {
		h.Seq++
	}
	return h
}

func kernelEcho() (before, sample, after time.Duration, err error) {
	e, err := newEnd(2, 1500)
	if err != nil {
		return 0, 0, 0, err
	}
	defer e.close()
	k := kernelSide{e}
	dialed := make(chan net.Conn, 1)
	go e.in(func() error {
		d := net.Dialer{Control: control("reno"), KeepAlive: -1, Timeout: time.Second}
		conn, _ := d.Dial("tcp4", "10.0.0.1:80")
		dialed <- conn
		return nil
	})
	syn, err := k.collect(time.Second, 1)
	if err != nil || len(syn) == 0 {
		return 0, 0, 0, fmt.Errorf("no SYN: %w", err)
	}
	if err := k.inject(answer(syn[0], tcp.SYN|tcp.ACK, 0, syn[0].Options.TSVal), 0); err != nil {
		return 0, 0, 0, err
	}
	conn := <-dialed
	if conn == nil {
		return 0, 0, 0, errors.New("no connection")
	}
	defer conn.Close()
	fd, err := descriptor(conn)
	if err != nil {
		return 0, 0, 0, err
	}
	if before, err = srtt(fd); err != nil {
		return 0, 0, 0, err
	}
	start := time.Now()
	if _, err := conn.Write(make([]byte, 2896)); err != nil {
		return 0, 0, 0, err
	}
	list, err := k.collect(time.Second, 0) // the ACK of the SYN-ACK, data, and data again
	if err != nil {
		return 0, 0, 0, err
	}
	echo, again := list[1].Options.TSVal, 0
	for _, h := range list {
		if h.Seq == list[1].Seq {
			again++
		}
	}
	if again < 2 {
		return 0, 0, 0, fmt.Errorf("%d segments in a second, none of them again", len(list))
	}
	sample = time.Since(start)
	if err := k.inject(answer(syn[0], tcp.ACK, 2896, echo), 0); err != nil {
		return 0, 0, 0, err
	}
	if _, err := k.collect(50*time.Millisecond, 0); err != nil {
		return 0, 0, 0, err
	}
	after, err = srtt(fd)
	return before, sample, after, err
}

// srtt is a socket's estimate of the round trip.
func srtt(fd int) (time.Duration, error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, err
	}
	return time.Duration(info.Rtt) * time.Microsecond, nil
}

func ourEcho(t *testing.T) (before, sample, after time.Duration) {
	cfg, err := Profile(&Path{CC: "reno"})
	if err != nil {
		t.Fatal(err)
	}
	o := &ourSide{}
	o.c.Init(&cfg, packet.Packet{})
	o.c.Open(0, 1000)
	syn := o.poll(nil)
	receive := func(h wire.TCP) []wire.TCP {
		var p packet.Packet
		tcp.SetHeader(&p, nil, &h, 0)
		o.c.Receive(o.now, &p, nil, 1000)
		return o.poll(nil)
	}
	receive(answer(syn[0], tcp.SYN|tcp.ACK, 0, syn[0].Options.TSVal))
	srtt := func() time.Duration { return time.Duration(o.c.Info().SRTT / units.Nanosecond) }
	before = srtt()
	o.c.Write(o.now, 2896)
	data := o.poll(nil)
	for o.c.Deadline() < units.Second {
		o.now = o.c.Deadline()
		o.c.Expire(o.now)
		o.poll(nil)
	}
	if o.c.Counters().Retransmitted == 0 {
		t.Fatal("nothing was sent again")
	}
	o.now = units.Second
	receive(answer(syn[0], tcp.ACK, 2896, data[0].Options.TSVal))
	return before, time.Second, srtt()
}
