package figure

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// mostSteps is how many points a distribution has at most.
const mostSteps = 400

// Distribution is the completion times of some messages, as they are drawn.
type Distribution struct {
	Name  string
	Place string  // of the times in the JSON
	PS    []int64 // sorted
}

// Completions draws which part of the messages of each workload had completed after which time;
// nil: fewer than two had.
func Completions(r *record.Run) *Figure {
	var list []Distribution
	at := map[string]int{}
	for i := range r.Messages {
		m := &r.Messages[i]
		if !metrics.Completed(m) {
			continue
		}
		k, known := at[m.Workload]
		if !known {
			k = len(list)
			at[m.Workload] = k
			list = append(list, Distribution{Name: m.Workload, Place: "/messages"})
		}
		list[k].PS = append(list[k].PS, int64(m.CompletionPS))
	}
	for i := range list {
		slices.Sort(list[i].PS)
	}
	return Distributions(list, "completion time")
}

// Distributions draws cumulative distributions along one axis; nil: there are not two times.
func Distributions(list []Distribution, what string) *Figure {
	least, most, n := int64(0), int64(0), 0
	list = slices.DeleteFunc(slices.Clone(list), func(d Distribution) bool { return len(d.PS) == 0 })
	for _, d := range list {
		n += len(d.PS)
		if first := d.PS[0]; least == 0 || first < least {
			least = first
		}
		most = max(most, d.PS[len(d.PS)-1])
	}
	if n < 2 || most <= 0 {
		return nil
	}
	unit, by := scaled(float64(most), timeUnits...)
	x := linear(fmt.Sprintf("%s (%s)", what, unit), 0, float64(most)/by*1.03, 10)
	if least > 0 && most/least >= 8 {
		label := func(v float64) string { return metrics.FormatTimeDigits(units.Time(v), 1) }
		x, by = logTime(what, float64(least)*0.9, float64(most)*1.1, label), 1
	}
	p := panel{title: "part of the messages that had completed (%)", y: linear("", 0, 100, 5), class: "cdf"}
	for i, d := range list {
		if i == 2*colours {
			break
		}
		v := curve{name: d.Name, path: d.Place, colour: i, step: true, attrs: []string{"data-workload", d.Name}}
		v.x, v.y = append(v.x, max(x.min, min(float64(d.PS[0])/by, x.max))), append(v.y, 0)
		for k := range d.PS {
			if last := k == len(d.PS)-1; last || k*mostSteps/len(d.PS) != (k+1)*mostSteps/len(d.PS) || len(d.PS) <= mostSteps {
				v.x, v.y = append(v.x, float64(d.PS[k])/by), append(v.y, 100*float64(k+1)/float64(len(d.PS)))
			}
		}
		v.x, v.y = append(v.x, x.max), append(v.y, 100)
		p.curves = append(p.curves, v)
	}
	title := "Distribution of completion times"
	if more := len(list) - len(p.curves); more > 0 {
		title += fmt.Sprintf("; %s more are not drawn", strconv.Itoa(more))
	}
	return chart("completions", title, x, []panel{p}, 200)
}
