package congestion

import (
	"fmt"
	"strings"
)

// Page is the docs page of an algorithm, in Markdown, from what it declares.
func (a *Algorithm) Page() string {
	var b strings.Builder
	c := a.NewControl("")
	fmt.Fprintf(&b, "# %s\n\n%s\n\nSource: %s. In a scenario: `controller: %s`.\n\n", a.Title, a.Text, a.Source, a.Name)
	n := c.Settings.Needs()
	b.WriteString("## What it hears\n\n")
	for _, line := range n.words() {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if bytes := n.WireBytes(); bytes > 0 {
		fmt.Fprintf(&b, "\nEach packet and each acknowledgement is %d bytes longer for that.\n", bytes)
	}
	if len(a.Presets) > 0 {
		b.WriteString("\n## Presets\n\n| Preset | Meaning | Source |\n|---|---|---|\n")
		for _, p := range a.Presets {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, p.Text, p.Source)
		}
	}
	b.WriteString("\n## Parameters\n\n| Key | Default | Range | Meaning | Source |\n|---|---|---|---|---|\n")
	for _, p := range c.Parameters() {
		value := p.String()
		if v, _ := p.Number(); v == 0 && p.Zero != "" {
			value = p.Zero
		}
		within := p.Range()
		if !p.Bounded() {
			within = "`true` or `false`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.Name, value, within, p.Text, p.Source)
	}
	return b.String()
}

// words are what a controller needs, a line each.
func (n Needs) words() (out []string) {
	for _, w := range []struct {
		on   bool
		says string
	}{
		{n.CNP, "Congestion notification packets (CNPs), with which receivers answer marked packets."},
		{n.Echo, "In each acknowledgement, whether its packet was marked."},
		{n.Stamps, fmt.Sprintf("Round trips by the cards' clocks: packets carry a time stamp of %d bytes, which "+
			"acknowledgements take back.", StampBytes)},
		{n.INT, fmt.Sprintf("Telemetry of up to %d switches: packets carry a header of %d bytes, which "+
			"acknowledgements take back.", MaxINT, INTBytes)},
		{n.Probes, fmt.Sprintf("Answers to probes of the round trip, frames of %d bytes.", ProbeBytes)},
		{n.EveryAck, "An acknowledgement of every packet, whatever `nic.ack_every` says."},
	} {
		if w.on {
			out = append(out, w.says)
		}
	}
	return out
}
