package catalog

// Reason is what is special about the place of a cause: why the way between a memory and a card of a host
// carries no more than it does, where that is more than the rate of one link, or what is set wrong at a port.
type Reason uint8

// Reasons.
const (
	NoReason       Reason = iota
	ReasonACS             // access control services send what goes from device to device up to the root complex
	ReasonSockets         // the data lie at another socket than the card (NUMA)
	ReasonSlot            // the slot is slower than its card, or than the slots of others like it
	ReasonShared          // the data of several devices take one card
	ReasonHeadroom        // a lossless port's headroom is less than what comes until its pause acts
	ReasonMap             // a switch's map of DSCPs or PCPs puts frames in another priority than their senders
	ReasonOversize        // a switch takes no packets as large as hosts send
)

var reasons = []string{"", "ACS", "NUMA", "slow slot", "shared card", "short headroom",
	"priority map", "MTU"}

func (r Reason) String() string {
	return nameOf(reasons, int(r), func(s *string) string { return *s }, "reason")
}

// MarshalText writes the stable name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the stable name.
func (r *Reason) UnmarshalText(name []byte) (err error) {
	*r, err = find(len(reasons), string(name), Reason.String, "reason")
	return err
}
