package scenarios_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/claims"
)

// The pages on references name claims by number, and below in a comment how each begins: claims move when others are
// added.
func TestSourcesNameClaims(t *testing.T) {
	all := claims.All()
	for _, file := range []string{"../docs/sources.md", "../docs/sources.zh.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]string{} // looked up, never iterated
		for _, m := range statement.FindAllStringSubmatch(string(page), -1) {
			said[m[1]] = m[2]
		}
		named := 0
		for _, m := range regexp.MustCompile(`(?:claims|论断) ([0-9, 、]+)`).FindAllStringSubmatch(string(page), -1) {
			for _, n := range regexp.MustCompile(`[0-9]+`).FindAllString(m[1], -1) {
				named++
				if i, err := claims.Find(all, n); err != nil {
					t.Errorf("%s: %v", file, err)
				} else if said[n] == "" || !strings.HasPrefix(all[i-1].Says.EN, said[n]) {
					t.Errorf("%s: claim %s is %q, its comment says %q", file, n, all[i-1].Says.EN, said[n])
				}
			}
		}
		if named < 15 {
			t.Errorf("%s names %d claims", file, named)
		}
	}
}
