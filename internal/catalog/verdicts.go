package catalog

// Verdict is what may dominate a run.
type Verdict uint8

// Verdicts. The zero one: nothing dominates.
const (
	NoVerdict        Verdict = iota
	VerdictDeadlock          // ports wait for each other in a circle
	VerdictStorm             // pauses or waits for credits from one place held what does not go there
	VerdictUplinks           // several share one of several ways that lead to the same place
	VerdictFull              // a line is full: nothing else is to be gained
	VerdictPort              // more came to a port than it sends, which is not busy all the time
	VerdictReceiver          // a host took data more slowly than they came
	VerdictInside            // a link, memory or credit limit inside a host
	VerdictCore              // a core of a host
	VerdictFailure           // a link that failed
	VerdictMessages          // the rate at which a card takes up the work requests of one queue pair
	VerdictStaged            // without GPUDirect, copies of GPUs' data through the memory of hosts
	VerdictLoss              // a link that loses or damages frames
	VerdictSlowLink          // a link that is slower than others like it
	VerdictHeadroom          // lossless frames that found no room after a pause was sent
	VerdictMap               // a map of DSCPs or PCPs that differs at one hop
	VerdictOversize          // a switch that takes no packets as large as hosts send
	VerdictPolarised         // two tiers of switches that hash alike
	VerdictUnmarked          // pauses that came before marks
	VerdictLostCNPs          // CNPs that did not arrive
	VerdictJobs              // a collective takes longer than alone, for what others send
)

var verdicts = []string{"none", "deadlock", "pause storm", "uneven uplinks", "full line", "congested port",
	"receiver", "inside a host", "core", "failure", "message rate", "staged copies", "lossy link", "slow link",
	"short headroom", "priority map", "MTU mismatch", "polarised ECMP", "PFC before ECN", "lost CNPs", "jobs"}

func (v Verdict) String() string {
	return nameOf(verdicts, int(v), func(s *string) string { return *s }, "verdict")
}

// MarshalText writes the stable name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the stable name.
func (v *Verdict) UnmarshalText(name []byte) (err error) {
	*v, err = find(len(verdicts), string(name), Verdict.String, "verdict")
	return err
}
