package timeline_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/hopscope/hopscope/internal/capture"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/timeline"
	"github.com/hopscope/hopscope/internal/units"
)

var update = flag.Bool("update", false, "draw the picture of docs/lost-packet.md again")

// seenFrame is a RoCE frame in a capture.
type seenFrame struct {
	at        int64 // ns
	where     string
	src       byte // last of the source address: 1 for h0
	psn       uint32
	nak, data bool
}

// frames reads a capture of Ethernet with IPv4.
func frames(t *testing.T, file []byte) (out []seenFrame) {
	t.Helper()
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, info, err := r.ReadPacketData()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		const bth = 14 + 20 + 8
		f := seenFrame{at: info.Timestamp.UnixNano(), src: data[29], psn: binary.BigEndian.Uint32(data[bth+8:]) & 0xffffff}
		if intf, err := r.Interface(info.InterfaceIndex); err == nil {
			f.where = intf.Name
		}
		const acknowledge = 0x11
		f.nak = data[bth] == acknowledge && data[bth+12]&0x60 == 0x60
		f.data = data[bth] <= 0x0a
		out = append(out, f)
	}
}

// One lost packet is found at the same times in a capture, on the timeline and by --explain, and the page that shows the
// way has these times.
func TestLostPacket(t *testing.T) {
	var file, trace, text bytes.Buffer
	var w *capture.Writer
	open := func(v *scenario.Valid, taps []capture.Tap) (_ *capture.Writer, err error) {
		w, err = capture.New(&file, v, taps, capture.Options{Snap: capture.DefaultSnap, Limit: capture.LimitOf(v, taps, capture.DefaultSnap, 0)})
		return w, err
	}
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "lossy-incast", Workers: 1, Trace: true,
		Capture: &run.Capture{Ports: []string{"h1:1", "sw:2/in"}, Open: open}})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := timeline.Write(&trace, r); err != nil {
		t.Fatal(err)
	}
	which, err := report.Select(r, "h1->h16")
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Text(&text, r, report.TextOptions{Width: 120, Brief: true, Explain: which}); err != nil {
		t.Fatal(err)
	}

	// The timeline: the first drop of h1's, what told it, and the packet sent again.
	s := readTrace(t, trace.Bytes())
	drop := firstOf(t, s, "sw / sw:17 prio 3 / drops", func(e *event) bool { return e.texts["src"] == "h1" })
	const again = "h1 / h1 qp 0 to h16 qp 1, incast / retransmissions"
	psn := drop.numbers["psn"]
	told := firstOf(t, s, again, func(e *event) bool { return e.name == "told by NAK" })
	sent := firstOf(t, s, again, func(e *event) bool { return e.name == "sent again" && e.numbers["psn"] == psn })

	// The capture: the same packet arrives at the switch, a NAK at the host, and the packet leaves a second time.
	var arrived, nak, resent int64
	first := true
	for _, f := range frames(t, file.Bytes()) {
		switch is := f.data && f.src == 2 && int64(f.psn) == psn; {
		case is && f.where == "sw:2/in" && arrived == 0:
			arrived = f.at
		case f.nak && f.where == "h1:1/in" && nak == 0:
			nak = f.at
		case is && f.where == "h1:1/out" && first:
			first = false
		case is && f.where == "h1:1/out" && resent == 0:
			resent = f.at
		}
	}
	page, err := os.ReadFile("../../docs/lost-packet.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what     string
		captured int64
		on       event
	}{{"dropped", arrived, drop}, {"told", nak, told}, {"sent again", resent, sent}} {
		ps := c.on.numbers["from_ps"]
		if d := 1000*c.captured - ps; d < -500 || d > 500 {
			t.Errorf("%s: %d ns in the capture, %d ps on the timeline", c.what, c.captured, ps)
		}
		if us := fmt.Sprintf("%.3f us", float64(c.captured)/1000); !bytes.Contains(page, []byte(us)) {
			t.Errorf("%s: the page does not say %s", c.what, us)
		}
	}

	// The report.
	said := strings.Join(strings.Fields(text.String()), " ")
	want := fmt.Sprintf("the first frame of its connection was lost at %v (sw:17, egress threshold); h1 qp 0 first sent again at %v",
		units.Time(drop.numbers["from_ps"]), units.Time(sent.numbers["from_ps"]))
	if !strings.Contains(said, want) {
		t.Errorf("--explain does not say %q:\n%s", want, text.String())
	}
	if !bytes.Contains(bytes.Join(bytes.Fields(page), []byte(" ")), []byte(want)) {
		t.Errorf("the page does not quote %q", want)
	}
	const picture = "../../docs/figures/lost-packet.svg"
	drawn := drawLost(t, s, drop, told, sent)
	if *update {
		if err := os.WriteFile(picture, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadFile(picture); err != nil || !bytes.Equal(there, drawn) {
		t.Errorf("%s is not of this run; go test ./internal/timeline -run LostPacket -update draws it again", picture)
	}
}

// firstOf is the first event of a track that is what was asked for.
func firstOf(t *testing.T, s *seen, path string, is func(*event) bool) event {
	t.Helper()
	for _, x := range s.order {
		if x.path() != path {
			continue
		}
		for i := range x.events {
			if is(&x.events[i]) {
				return x.events[i]
			}
		}
	}
	t.Fatalf("%s shows no such thing", path)
	return event{}
}

// drawLost draws the beginning of a trace as the timeline shows it: the queue that the packet found full, the drops, and
// what the sender did.
func drawLost(t *testing.T, s *seen, drop, told, sent event) []byte {
	const (
		left, width, to = 150, 730, 70.0 // pixels; us
		height          = 250
	)
	var b bytes.Buffer
	x := func(ps int64) float64 { return left + float64(ps)/1e6/to*width }
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 %d" font-family="sans-serif" font-size="12">`+"\n"+
		`<title>The first 70 us of lossy-incast on the timeline</title>`+"\n"+
		`<rect width="900" height="%d" fill="#ffffff"/>`+"\n", height, height)
	label := func(y int, text string) { fmt.Fprintf(&b, `<text x="8" y="%d" fill="#333333">%s</text>`+"\n", y, text) }
	// The queue, up to 400 KB.
	label(50, "sw:17 prio 3: queue")
	fmt.Fprintf(&b, `<path d="M%d 80`, left)
	last := 0.0
	for _, x0 := range s.order {
		if x0.path() != "sw / sw:17 prio 3 / queue" {
			continue
		}
		for _, e := range x0.events {
			if float64(e.at) > to*1000 {
				break
			}
			y := 80 - float64(e.value)/400e3*60
			at := x(int64(e.at) * 1000)
			fmt.Fprintf(&b, "L%.1f %.1fL%.1f %.1f", at, 80-last, at, y)
			last = 80 - y
		}
	}
	fmt.Fprintf(&b, `L%d %.1fL%d 80Z" fill="#9ecae1" stroke="#3182bd"/>`+"\n", left+width, 80-last, left+width)
	fmt.Fprintf(&b, `<text x="%d" y="16" fill="#666666" text-anchor="end">scale: 400 KB</text>`+"\n", left+width)
	label(108, "drops, of h1 dark")
	colours := map[string]string{"wire": "#31a354", "slowed": "#fdae6b", "retransmitting": "#de2d26", "lost": "#756bb1",
		"recovery": "#756bb1", "answer": "#bdbdbd"}
	for _, y := range s.order {
		for i := range y.events {
			e := &y.events[i]
			ps := e.numbers["from_ps"]
			if e.kind == finish || float64(ps)/1e6 > to {
				continue
			}
			switch {
			case y.path() == "sw / sw:17 prio 3 / drops":
				colour := "#dddddd"
				if e.texts["src"] == "h1" {
					colour = "#a50f15"
				}
				fmt.Fprintf(&b, `<path d="M%.1f 96v16" stroke="%s"/>`+"\n", x(ps), colour)
			case y.path() == "h1 / h1 qp 0 to h16 qp 1, incast" && e.kind == begin:
				end := min(x(ps+e.numbers["ps"]), left+width)
				colour := colours[e.category]
				if colour == "" {
					t.Errorf("no colour for %s, %s", e.category, e.name)
				}
				fmt.Fprintf(&b, `<rect x="%.1f" y="132" width="%.1f" height="20" fill="%s"/>`+"\n", x(ps), end-x(ps), colour)
			}
		}
	}
	label(146, "h1 qp 0 to h16 qp 1")
	fmt.Fprintf(&b, `<g><rect x="%d" y="158" width="10" height="10" fill="#31a354"/><text x="%d" y="167">sending</text>`+
		`<rect x="%d" y="158" width="10" height="10" fill="#fdae6b"/><text x="%d" y="167">rate</text>`+
		`<rect x="%d" y="158" width="10" height="10" fill="#de2d26"/><text x="%d" y="167">resending</text></g>`+"\n",
		left, left+14, left+80, left+94, left+140, left+154)
	label(196, "retransmissions")
	for i, m := range []struct {
		e    event
		what string
		y    int
	}{{drop, "dropped", 104}, {told, "told by NAK", 190}, {sent, "sent again", 190}} {
		ps := m.e.numbers["from_ps"]
		anchor, dx, y := "start", 5.0, m.y
		if i == 1 {
			anchor, dx = "end", -5
		}
		if i == 0 {
			y = 92
		}
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="4" fill="#a50f15"/><text x="%.1f" y="%d" text-anchor="%s">%s %.3f us</text>`+"\n",
			x(ps), m.y, x(ps)+dx, y+4-4*(1-min(i, 1)), anchor, m.what, float64(ps)/1e6)
	}
	fmt.Fprintf(&b, `<path d="M%.1f 108C%.1f 170 %.1f 150 %.1f 186" fill="none" stroke="#a50f15" stroke-dasharray="4 3"/>`+"\n",
		x(drop.numbers["from_ps"]), x(drop.numbers["from_ps"]), x(sent.numbers["from_ps"]), x(sent.numbers["from_ps"]))
	fmt.Fprintf(&b, `<path d="M%d 215H%d" stroke="#333333"/>`+"\n", left, left+width)
	for us := 0; us <= to; us += 10 {
		at := x(int64(us) * 1e6)
		fmt.Fprintf(&b, `<path d="M%.1f 215v5" stroke="#333333"/><text x="%.1f" y="234" text-anchor="middle">%d us</text>`+"\n", at, at, us)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
