package openmetrics_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// Every query of the dashboard names metrics, and labels, that runs write.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../docs/grafana/hopscope.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{} // of one series, by metric
	for scenario, set := range map[string][]string{
		"victim-flow":   {"workload[0].flows.size=1MB", "workload[1].flow.size=1MB"},
		"virtual-lanes": nil,
	} {
		_, text := observe(t, run.Options{Scenario: scenario, Set: set}, 100*units.Microsecond)
		for name := range parse(t, text) {
			metric, rest, _ := strings.Cut(name, "{")
			labels[metric] = rest
		}
	}
	metrics := slices.Sorted(maps.Keys(labels))
	named := regexp.MustCompile(`\b(?:node|sonic|SAI|hopscope)_[A-Za-z0-9_]+\b`)
	pattern := regexp.MustCompile(`__name__=~"([^"]+)"`)
	queries := 0
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			queries++
			var used []string
			expr := q.Expr
			for _, m := range pattern.FindAllStringSubmatch(expr, -1) {
				is := regexp.MustCompile("^(?:" + m[1] + ")$")
				k := slices.IndexFunc(metrics, is.MatchString)
				if k < 0 {
					t.Errorf("%s: no metric is called %s", p.Title, m[1])
					continue
				}
				used = append(used, metrics[k])
			}
			used = append(used, named.FindAllString(pattern.ReplaceAllString(expr, ""), -1)...)
			if len(used) == 0 {
				t.Errorf("%s: %s names no metric", p.Title, q.Expr)
			}
			for _, name := range used {
				if _, known := labels[name]; !known {
					t.Errorf("%s: no run writes %s", p.Title, name)
				}
			}
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				if !strings.Contains(","+labels[used[0]], ","+m[1]+`="`) {
					t.Errorf("%s: %s has no label %s: %s", p.Title, used[0], m[1], labels[used[0]])
				}
			}
		}
	}
	if queries < 15 {
		t.Errorf("%d queries", queries)
	}
}
