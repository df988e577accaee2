package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
	"golang.org/x/term"
)

// When the progress line appears, and how often it changes.
const (
	progressAfter = time.Second
	progressEvery = 250 * time.Millisecond
)

// meter shows progress on one line of a terminal and takes it away at the end.
type meter struct {
	mu    sync.Mutex
	out   io.Writer
	on    bool
	shown bool
	width func() int
	clock func() time.Time
	start time.Time
	last  time.Time
	quiet bool
	told  time.Time // when stepped last wrote a line
}

// newMeter shows progress on w if that is a terminal and quiet is false.
func newMeter(w io.Writer, quiet bool) *meter {
	fd, ok := terminal(w)
	m := &meter{out: w, on: ok && !quiet, quiet: quiet, clock: time.Now}
	m.width = func() int {
		if n, _, err := term.GetSize(fd); err == nil && n > 0 {
			return n
		}
		return 80
	}
	m.start = m.clock()
	return m
}

// show draws p when it is time to.
func (m *meter) show(p run.Progress) {
	m.draw(func(elapsed time.Duration) string { return progressLine(p, elapsed) })
}

// read draws how much of a file was read when it is time to.
func (m *meter) read(done, all int64) {
	m.draw(func(elapsed time.Duration) string { return readLine(done, all, elapsed) })
}

// readLine says how much was read and how long the rest takes at the pace so far.
func readLine(done, all int64, elapsed time.Duration) string {
	line := fmt.Sprintf("%d of %d MB read", done>>20, all>>20)
	if share := float64(done) / float64(max(1, all)); share > 0 && share < 1 {
		left := time.Duration(float64(elapsed) * (1 - share) / share)
		line = fmt.Sprintf("%3.0f %%, about %s left, %s", 100*share, roundDuration(left), line)
	}
	return line
}

// draw shows what line returns when it is time to.
func (m *meter) draw(text func(elapsed time.Duration) string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	if !m.on || now.Sub(m.start) < progressAfter || now.Sub(m.last) < progressEvery {
		return
	}
	m.last = now
	m.shown = true
	line := text(now.Sub(m.start))
	if room := m.width() - 1; len(line) > room {
		line = line[:max(room, 0)]
	}
	fmt.Fprint(m.out, "\r\x1b[K"+line)
}

// stepped writes a line on a step that is over, so that a long run tells what it has found before it ends; of a
// short run, or one that writes no progress, it writes nothing, and of many steps one a second.
func (m *meter) stepped(s record.StepOver) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	if m.quiet || now.Sub(m.start) < progressAfter || now.Sub(m.told) < progressAfter {
		return
	}
	m.told = now
	if m.shown {
		fmt.Fprint(m.out, "\r\x1b[K")
	}
	fmt.Fprintln(m.out, "hopscope: "+report.StepSays(s))
}

// clear takes the line away.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown {
		fmt.Fprint(m.out, "\r\x1b[K")
		m.shown = false
	}
}

// progressLine says how much is done, and if the total is known how long the
// rest takes at the pace so far. The most useful parts come first, since a
// narrow terminal cuts the end.
func progressLine(p run.Progress, elapsed time.Duration) string {
	var parts []string
	done, known := fractionDone(p)
	if known {
		parts = append(parts, fmt.Sprintf("%3.0f %%", 100*done))
	}
	if done > 0 && done < 1 {
		left := time.Duration(float64(elapsed) * (1 - done) / done)
		parts = append(parts, "about "+roundDuration(left)+" left")
	}
	parts = append(parts, "at "+metrics.FormatTime(p.Now))
	if p.Steps > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s steps", metrics.FormatCount(int64(p.StepsOver)),
			metrics.FormatCount(int64(p.Steps))))
	}
	if p.Messages > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s messages", metrics.FormatCount(int64(p.Completed)), metrics.FormatCount(int64(p.Messages))))
	}
	if s := elapsed.Seconds(); s > 0 {
		parts = append(parts, eventRate(float64(p.Events)/s))
	}
	return strings.Join(parts, ", ")
}

// fractionDone is the share of what jobs have to do, or of the payload, that is done, or of the time
// until the run stops if that is nearer; known is false when there is none.
func fractionDone(p run.Progress) (done float64, known bool) {
	switch {
	case p.Work > 0:
		done, known = float64(p.Done)/float64(p.Work), true
	case p.TotalBytes > 0:
		done, known = float64(p.DeliveredBytes)/float64(p.TotalBytes), true
	}
	if p.Stop > 0 && p.Stop < units.Never {
		done, known = max(done, float64(p.Now)/float64(p.Stop)), true
	}
	return min(done, 1), known
}

// eventRate writes events per second of wall time.
func eventRate(r float64) string {
	if r >= 1e6 {
		return fmt.Sprintf("%.1f M events/s", r/1e6)
	}
	return fmt.Sprintf("%.0f k events/s", r/1e3)
}

// roundDuration writes d to the second, or to the minute from ten minutes on.
func roundDuration(d time.Duration) string {
	if d < 10*time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
