package page_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/hopscope/hopscope/internal/page"
)

var update = flag.Bool("update", false, "write the drawings of README again")

// The drawings in README are those that the scenarios give now.
func TestReadmeDrawings(t *testing.T) {
	for scenario, drawing := range map[string]string{"incast-4to1": "timeline", "victim-flow": "topology"} {
		file := "../../docs/figures/" + drawing + ".svg"
		var now []byte
		for _, f := range page.Run(simulate(t, scenario, ""), page.Meta{}).Drawings {
			if f.Name == drawing {
				now = f.File()
			}
		}
		if *update {
			if err := os.WriteFile(file, now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		had, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(had, now) {
			t.Errorf("%s is not what %s gives; look at it after go test ./internal/page -run Readme -update", file, scenario)
		}
	}
}
