package scenarios_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/claims"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
)

// The pages on claims are what their declarations and runs give; of the short form some of the claims.
func TestReadmeClaims(t *testing.T) {
	const each = "\n### "
	all := claims.All()
	var jobs []claims.Job
	for i := range all {
		if *update || !testing.Short() || i%8 == 0 {
			jobs = append(jobs, claims.Job{Number: i + 1, Claim: &all[i]})
		}
	}
	do := func(ctx context.Context, s claims.Spec) (*record.Run, error) {
		r, _, err := run.Do(ctx, run.Options{Scenario: s.Scenario, Set: s.Set, Seed: s.Seed, Workers: 1})
		return r, err
	}
	results, err := claims.Judge(t.Context(), jobs, claims.Options{Workers: 2, Do: do})
	if err != nil {
		t.Fatal(err)
	}
	for file, l := range map[string]lang.Language{"../docs/claims.md": lang.English, "../docs/claims.zh.md": lang.Chinese} {
		now := report.ClaimsPage(results, l)
		if *update {
			if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		had, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) == len(all) {
			if line, a, b := firstDifference(string(had), now); line > 0 {
				t.Errorf("%s, line %d\nshown %s\nnow   %s\nmake golden writes it", file, line, a, b)
			}
			continue
		}
		for _, section := range strings.Split(now, each)[1:] {
			section, _, _ = strings.Cut(section, "\n## ") // the next chapter's title
			if !strings.Contains(string(had), each+strings.TrimRight(section, "\n")+"\n") {
				t.Errorf("%s has no such claim, which make golden writes:\n%s", file, section)
			}
		}
	}
}
