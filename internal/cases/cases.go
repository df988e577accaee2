// Package cases is what came of holding the simulator to published cases, as its reports
// and JSON have it. It knows neither how cases are run nor what they run.
package cases

import "fmt"

// Version is the version of Result as JSON. It changes when a field changes its
// meaning or goes; new fields do not change it.
const Version = 1

// Figure is one number that a run was held to.
type Figure struct {
	Case      string `json:"case"`   // "F6", "ns3/incast16_nocc"
	Name      string `json:"figure"` // what was measured, with its unit
	Expected  string `json:"expected"`
	Measured  string `json:"measured"`
	Tolerance string `json:"tolerance"`
	Source    string `json:"source"` // where Expected comes from
	OK        bool   `json:"ok"`
	// Why says why a figure that misses does; empty for one nobody has explained.
	Why string `json:"why,omitempty"`
}

// String is the figure on one line, for a test's message.
func (f Figure) String() string {
	return fmt.Sprintf("%s, %s: expected %s (%s), measured %s; %s", f.Case, f.Name, f.Expected, f.Tolerance, f.Measured, f.Source)
}

// Info describes a case.
type Info struct {
	Name  string `json:"name"` // "F6", "ns3/incast16_nocc"
	Title string `json:"title"`
	Long  bool   `json:"long"` // left out of the short form as a whole
	Data  bool   `json:"data"` // compares with reference runs that come apart from the program
}

// CaseResult is what came of one case.
type CaseResult struct {
	Info
	Figures []Figure  `json:"figures"`
	LeftOut []LeftOut `json:"left_out,omitempty"`
}

// LeftOut is what of a case was not run.
type LeftOut struct {
	Part   string `json:"part,omitempty"` // empty: the whole case
	Reason string `json:"reason"`
}

// Result is everything that was checked.
type Result struct {
	Version int          `json:"version"`
	Short   bool         `json:"short"`
	Cases   []CaseResult `json:"cases"`
}

// Counts returns how many figures there are and how many missed.
func (r *Result) Counts() (figures, missed int) {
	for _, c := range r.Cases {
		figures += len(c.Figures)
		for _, f := range c.Figures {
			if !f.OK {
				missed++
			}
		}
	}
	return figures, missed
}
