package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// hostsJob is a run of a job over six hosts of a star, without noise.
func hostsJob(t *testing.T, keys string, operations ...string) *record.Run {
	t.Helper()
	text := "noise: off\nstack: rocev2-pfc-only\ntopology: {star: {hosts: 6, link: 100Gbps}}\njobs:\n- communicators: {ep: {size: 6" + keys +
		"}}\n  operations: [{" + strings.Join(operations, "}, {") + "}]\n"
	v, err := scenario.Parse("s.yaml", []byte(text), nil, nil)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	r := runOf(t, v)
	if r.Stopped != "quiescence" {
		t.Fatalf("%s\nstopped by %s", text, r.Stopped)
	}
	checkJob(t, r)
	return r
}

// With equal sizes an alltoallv takes the course of an alltoall, packet for packet, also where several rounds share a
// channel.
func TestEqualSizes(t *testing.T) {
	equal := "[" + strings.Repeat("200KB, ", 5) + "200KB]"
	for _, keys := range []string{"", ", channels: 1", ", channels: 3"} {
		a := hostsJob(t, keys, "alltoall: {on: ep, size: 1200KB}")
		b := hostsJob(t, keys, "alltoallv: {on: ep, sizes: "+equal+"}")
		if a.Fingerprint != b.Fingerprint || a.Jobs[0].EndPS[0] != b.Jobs[0].EndPS[0] {
			t.Errorf("%q: %s at %d, and %s at %d", keys, a.Fingerprint, a.Jobs[0].EndPS[0], b.Fingerprint, b.Jobs[0].EndPS[0])
		}
	}
	a := runOf(t, jobScenario(t, "gpus", "communicators: {ep: {size: 16}}", "alltoall: {on: ep, size: 4MB}"))
	b := runOf(t, jobScenario(t, "gpus", "communicators: {ep: {size: 16}}",
		"alltoallv: {on: ep, sizes: ["+strings.Repeat("250KB, ", 15)+"250KB]}"))
	if a.Fingerprint != b.Fingerprint {
		t.Errorf("GPUs: %s and %s", a.Fingerprint, b.Fingerprint)
	}
}

// A rank sends and receives just what the sizes say, nothing where they are 0, and the exchange takes as long as the
// hottest receiver, max over j of the sum of b_ij over C, takes at least, and not a fifth longer (training.md C3).
func TestSizes(t *testing.T) {
	const kb = 1000
	sizes := [6][6]int64{{0, 100, 0, 0, 0, 900}, {}, {0, 0, 700, 0, 0, 1200}, {0, 0, 0, 0, 40, 800}, {300, 0, 0, 0, 0, 1100}}
	rows, in, all := []string{}, [6]int64{}, int64(0)
	for i, row := range sizes {
		var cells []string
		for j, b := range row {
			cells = append(cells, fmt.Sprintf("%dKB", b))
			if i != j {
				in[j] += b * kb
				all += b * kb
			}
		}
		rows = append(rows, "["+strings.Join(cells, ", ")+"]")
	}
	r := hostsJob(t, "", "alltoallv: {on: ep, sizes: ["+strings.Join(rows, ", ")+"]}", "mark: {after: alltoallv}")
	got, news := int64(0), int64(0)
	for i := range r.QPs {
		if q := &r.QPs[i]; strings.HasSuffix(q.Workload, "slots") {
			news += q.DeliveredBytes
		} else {
			got += q.DeliveredBytes
		}
	}
	if got != all {
		t.Errorf("%d bytes arrived, and %d of the news of slots; the sizes add up to %d", got, news, all)
	}
	least := (100 * units.Gbps).TxTimeLong(units.Bytes(in[5]))
	if took := r.Jobs[0].EndPS[0]; took < least || took > least*6/5 {
		t.Errorf("it took %d ps; the hottest receiver takes at least %d", took, least)
	}
}

// A copy takes its bytes over the rate of the GPU's link, x16 of PCIe 5, and one beside the card's reads of the same GPU
// takes turns with them: both together take what all bytes take on the link that they share.
func TestCopies(t *testing.T) {
	const ranks, comm = "[h0/gpu0, h1/gpu0]", "communicators: {dp: {size: 2}}"
	alone := jobOf(t, ranks, "", "copy: {size: 16MB}")
	call := jobOf(t, ranks, comm, "allreduce: {on: dp, size: 16MB}")
	both := jobOf(t, ranks, comm, "copy: {size: 16MB}", "allreduce: {on: dp, size: 16MB}")
	rate := 16e6 / (float64(alone.EndPS[0]) / 1e12) / 1e9
	if rate < 40 || rate > 63 { // of 63 GB/s what headers leave is 55, and writes into DRAM are slower still
		t.Errorf("a copy runs at %.1f GB/s", rate)
	}
	if b := both.EndPS[0]; b < call.EndPS[0]*5/4 || b > alone.EndPS[0]+call.EndPS[0] {
		t.Errorf("a copy takes %d, a call %d, both beside each other %d", alone.EndPS[0], call.EndPS[0], b)
	}
	peer := jobOf(t, "[h0/gpu0, h0/gpu1]", "", "copy: {to: 1, size: 16MB, ranks: 0}", "mark: {ranks: 1}")
	if peer.EndPS[0]*4 > alone.EndPS[0] {
		t.Errorf("a copy over NVLink takes %d, over PCIe %d", peer.EndPS[0], alone.EndPS[0])
	}
	host := jobOf(t, "[h0/gpu0]", "", "host: {name: load, time: 50us}", "copy: {name: in, from: host, to: gpu, size: 1MB, after: load}",
		"compute: {time: 10us, after: in}")
	if host.Times[0].Kind != record.JobHost || host.Times[0].TimePS != 50*units.Microsecond ||
		host.Times[1].Kind != record.JobCopies || host.Times[2].TimePS != 10*units.Microsecond {
		t.Errorf("%+v", host.Times)
	}
}
