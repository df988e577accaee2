package run_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/run"
)

// What a host says it has taken in order, which progress asks for again and again, is
// the sum over its queue pairs: of requests and READ responses, with losses, sent again
// from the first packet on or alone, of datagrams, and of TCP.
func TestDeliveredIsTheSum(t *testing.T) {
	for _, x := range []struct{ stack, flow string }{
		{"rocev2", "size: 300KB"},
		{"rocev2-lossy", "size: 300KB"},
		{"rocev2-lossy\nnic: {recovery: go-back-0}", "size: 100KB"},
		{"rocev2-lossy\nnic: {recovery: selective-repeat}", "size: 300KB, verb: read"},
		{"rocev2", "size: 4000B, service: ud, verb: send, count: 20"},
		{"rocev2-lossy", "size: 30KB, service: uc, verb: send, count: 5"},
		{"tcp", "size: 300KB"},
	} {
		v := parse(t, fmt.Sprintf(`
name: delivered
stack: %s
topology: {star: {hosts: 5, link: {rate: 100Gbps, delay: 1us}}}
workload:
  - incast: {to: h4, %s}
`, x.stack, x.flow))
		w, err := build.New(v, build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := run.Simulate(context.Background(), w, run.Options{Workers: 1})
		want := map[string]int64{}
		for i := range r.QPs {
			want[r.QPs[i].Host] += r.QPs[i].DeliveredBytes
		}
		all := int64(0)
		for _, h := range w.Hosts {
			if h == nil {
				continue
			}
			if all += h.Delivered(); h.Delivered() != want[h.Name] {
				t.Errorf("%s, %s: %s took %d B, its queue pairs %d", x.stack, x.flow, h.Name, h.Delivered(), want[h.Name])
			}
		}
		if all == 0 {
			t.Errorf("%s, %s: nothing was delivered", x.stack, x.flow)
		}
	}
}
