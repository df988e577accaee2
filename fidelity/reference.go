package fidelity

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// referenceFlow is a row of a reference simulator's fct.txt.
type referenceFlow struct {
	Src, Dst int // node numbers
	SrcPort  int // 10000 + k for the k-th flow of the pair
	Bytes    int64
	FCT      int64 // ns, from creation to the ACK of the last byte
	Alone    int64 // ns, of the same flow alone on its path
}

// reference is what one run of a reference simulator measured.
type reference struct {
	Flows     []referenceFlow
	Pauses    int64 // XOFFs received
	Marks     int64
	PeakQueue int64 // bytes, largest egress queue of any switch; 0: not recorded
}

// readReference reads fct.txt and summary.json of a run's folder.
func readReference(dir string) (*reference, error) {
	r := &reference{}
	if err := r.readFlows(filepath.Join(dir, "fct.txt")); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		return nil, err
	}
	var s struct {
		Marks  int64    `json:"marks"`
		Switch []string `json:"sw"`
		Pauses int64    `json:"pause_frames"`
		Result struct {
			Pauses int64 `json:"pause_frames"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %v", dir, err)
	}
	r.Marks, r.Pauses = s.Marks, s.Pauses+s.Result.Pauses
	peak := regexp.MustCompile(`max_egress_q (\d+)`)
	for _, line := range s.Switch {
		if m := peak.FindStringSubmatch(line); m != nil {
			v, _ := strconv.ParseInt(m[1], 10, 64)
			r.PeakQueue = max(r.PeakQueue, v)
		}
	}
	return r, nil
}

// readFlows reads rows of `sip dip sport dport bytes start_ns fct_ns alone_ns`.
func (r *reference) readFlows(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		w := strings.Fields(lines.Text())
		if len(w) != 8 {
			return fmt.Errorf("%s:%d: %d words, want 8", file, n, len(w))
		}
		var v [8]int64
		for i := range w {
			base := 10
			if i < 2 {
				base = 16
			}
			if v[i], err = strconv.ParseInt(w[i], base, 64); err != nil {
				return fmt.Errorf("%s:%d: %v", file, n, err)
			}
		}
		// The address of node n is 0x0b000001 + (n/256)<<16 + (n%256)<<8.
		r.Flows = append(r.Flows, referenceFlow{Src: int(v[0] >> 8 & 0xffff), Dst: int(v[1] >> 8 & 0xffff),
			SrcPort: int(v[2]), Bytes: v[4], FCT: v[6], Alone: v[7]})
	}
	return lines.Err()
}

// tableRow is a line of a summary table of reference runs: name, ideal, min,
// p50, mean and max completion in us, largest queue in bytes, and so on.
type tableRow struct {
	Min, P50, Max     float64 // us, to one digit after the point
	PeakQueue, Pauses int64
	Marks             int64
}

// readTableRow finds the row of a run in a summary table.
func readTableRow(file, name string) (tableRow, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return tableRow{}, err
	}
	for line := range strings.Lines(string(text)) {
		w := strings.Fields(line)
		if len(w) < 16 || w[0] != name {
			continue
		}
		f := func(i int) float64 { v, _ := strconv.ParseFloat(w[i], 64); return v }
		return tableRow{Min: f(2), P50: f(3), Max: f(5), PeakQueue: int64(f(6)), Pauses: int64(f(9)), Marks: int64(f(15))}, nil
	}
	return tableRow{}, fmt.Errorf("%s has no row %s", file, name)
}

// quantile returns the value below which a share q of the sorted values lie,
// by position n*q.
func quantile(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*q))]
}

// sorted returns v in order.
func sorted(v []float64) []float64 {
	slices.Sort(v)
	return v
}
