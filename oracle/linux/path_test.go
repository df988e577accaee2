package linux

import (
	"testing"
	"time"
)

// The link that both sides share: 1500 bytes take 120 us at 100 Mb/s, a queue of
// 4500 holds three packets, and every third data segment is lost, others not.
func TestLink(t *testing.T) {
	l := newLink(&Path{Mbps: 100, RTT: 20 * time.Millisecond, Queue: 4500})
	for i := range 5 {
		at, ok := l.send(0, 1500, true)
		if want := 10*time.Millisecond + time.Duration(i+1)*120*time.Microsecond; ok != (i < 3) || ok && at != want {
			t.Errorf("packet %d arrives at %v, %v; want %v", i, at, ok, want)
		}
	}
	if at, ok := l.send(120*time.Microsecond, 1500, true); !ok || at != 10480*time.Microsecond {
		t.Errorf("when one has left the next arrives at %v, %v; want 10.48ms", at, ok)
	}
	if l.dropped != 2 || l.sent != 4 || l.lost != 0 {
		t.Errorf("%d dropped, %d sent, %d lost", l.dropped, l.sent, l.lost)
	}
	l = newLink(&Path{Mbps: 100, Queue: 1 << 30, Every: 3})
	for i := range 9 {
		l.send(0, 52, false)
		if _, ok := l.send(0, 1500, true); ok == (i%3 == 2) {
			t.Errorf("data segment %d: arrives %v", i+1, ok)
		}
	}
	l = newLink(&Path{Mbps: 100, Queue: 1 << 40, Every: 100, Seed: 1})
	for range 100000 {
		l.send(0, 1500, true)
	}
	if l.lost < 900 || l.lost > 1100 { // 1000, standard deviation 31
		t.Errorf("%d of 100000 lost at random, want 1000", l.lost)
	}
}
