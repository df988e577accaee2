//go:build linux

package linux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/run"
)

// Shares is what each of several flows had brought at the end of each tenth of the time.
type Shares [][]int64

// jain is Jain's index after so many tenths, and the least flow's part of an equal share.
func (s Shares) jain(tenth int) (jain, least float64) {
	sum, squares, low := 0.0, 0.0, 0.0
	for i, read := range s {
		x := float64(read[tenth-1])
		sum, squares = sum+x, squares+x*x
		if i == 0 || x < low {
			low = x
		}
	}
	n := float64(len(s))
	return sum * sum / (n * squares), n * low / sum
}

// connecting is for how long connections are opened before all begin to send: together a
// SYN would be lost to the others' data.
const connecting = 300 * time.Millisecond

// KernelShares has n flows of the kernel's TCP share a path from one namespace to another.
func KernelShares(p *Path, n int) (Shares, *Result, error) {
	ends := [2]*end{}
	for i := range ends {
		e, err := newEnd(byte(i+1), uint32(p.mtu()))
		if err != nil {
			return nil, nil, err
		}
		defer e.close()
		ends[i] = e
	}
	listener, err := ends[1].listen(p.CC)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	f := &forwarder{fds: [2]int{ends[0].fd, ends[1].fd}, l: [2]*link{newLink(p), newLink(p)}, start: time.Now()}
	var all sync.WaitGroup
	errs := make([]error, 2*n+1)
	shares := make(Shares, n)
	all.Go(func() {
		if errs[2*n] = urgent(); errs[2*n] == nil {
			errs[2*n] = f.run(connecting + p.For)
		}
	})
	for i := range n {
		from := f.start.Add(connecting)
		all.Go(func() { shares[i], errs[i] = receive(listener, from, p.For) })
		all.Go(func() { _, errs[n+i] = ends[0].send(p.CC, from, from.Add(p.For)) })
	}
	all.Wait()
	r := &Result{Dropped: f.l[0].dropped, Later: f.late}
	if f.given > 0 {
		r.Late = f.sum / time.Duration(f.given)
	}
	return shares, r, errors.Join(errs...)
}

// OurShares has hopscope's host send n flows over the same bottleneck, behind a link a hundred times
// as fast, with the noise that is on by default.
func OurShares(p *Path, n int, seed uint64) (Shares, error) {
	text := fmt.Sprintf(`
stack: tcp
tcp: {mtu: %d}
topology:
  hosts: [sender, receiver]
  switches: [sw]
  links:
    - {between: [sender, sw], rate: %dMbps, delay: %dns}
    - {between: [sw, receiver], rate: %dMbps, delay: %dns}
switch: {buffer: 2MB, lossy: {alpha: 1000, pool: %dB}}
stop: %%dus
workload:
%s`, p.mtu(), 100*p.Mbps, p.RTT.Nanoseconds()/4, p.Mbps, p.RTT.Nanoseconds()/4, p.Queue, strings.Repeat("  - flow: {from: sender, to: receiver, size: 2GB}\n", n))
	shares := make(Shares, n)
	for i := range shares {
		shares[i] = make([]int64, tenths)
	}
	for tenth := range tenths {
		if tenth != 0 && tenth != tenths-1 {
			continue // the two that are compared
		}
		stop := p.For.Microseconds() * int64(tenth+1) / tenths
		r, _, err := run.Do(context.Background(), run.Options{Scenario: "shares", Text: []byte(fmt.Sprintf(text, stop)), Seed: &seed, Workers: 1})
		if err != nil {
			return nil, err
		}
		k := 0
		for i := range r.QPs {
			if q := &r.QPs[i]; q.Host == "receiver" {
				shares[k][tenth] = q.DeliveredBytes
				k++
			}
		}
	}
	return shares, nil
}
