package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/hopscope/hopscope/internal/anatomy"
	"github.com/hopscope/hopscope/internal/capture"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/spf13/cobra"
)

// packetFlags are the flags of hopscope packet.
type packetFlags struct {
	anatomy.Options
	pcap string
}

func newPacket() *cobra.Command {
	var f packetFlags
	c := &cobra.Command{
		Use:   "packet [STACK [OPERATION]]",
		Short: "Print a packet byte by byte, and what lets it cross a router; without an operation, list them",
		Example: "  hopscope packet\n" +
			"  hopscope packet rocev2 write\n" +
			"  hopscope packet rocev2 nak --ipv6 --vlan\n" +
			"  hopscope packet infiniband ud-send --grh --payload 256\n" +
			"  hopscope packet iwarp write --markers\n" +
			"  hopscope packet rocev2 cnp --pcap - | tshark -V -r -",
		RunE: func(c *cobra.Command, args []string) error { return runPacket(c, args, f) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.IntVar(&f.Payload, "payload", 16, "`BYTES` of payload, where the packet carries any")
	flags.BoolVar(&f.IPv6, "ipv6", false, "over IPv6 in place of IPv4")
	flags.BoolVar(&f.VLAN, "vlan", false, "with an 802.1Q tag")
	flags.BoolVar(&f.GRH, "grh", false, "with a GRH, on InfiniBand")
	flags.BoolVar(&f.Markers, "markers", false, "with MPA's markers, of iWARP")
	flags.StringVar(&f.pcap, "pcap", "", "write the packet to `FILE` as pcapng, of iWARP "+
		"behind the start-up by which\nWireshark knows it (-: to standard output, instead of the text)")
	c.ValidArgsFunction = completePacket
	return c
}

func runPacket(c *cobra.Command, args []string, f packetFlags) error {
	stacks := anatomy.Stacks()
	switch {
	case len(args) > 2:
		return fmt.Errorf("packet takes a stack and an operation, not %d words", len(args))
	case len(args) > 0 && !slices.Contains(stacks, args[0]):
		return fmt.Errorf("there are no packets of %s; %s", args[0], oneOf(args[0], stacks))
	case f.Payload < 0 || f.Payload > anatomy.MaxPayload:
		return fmt.Errorf("--payload %d: give a number of bytes from 0 to %d", f.Payload, anatomy.MaxPayload)
	case c.Flags().Changed("pcap") && (f.pcap == "" || len(args) < 2):
		return fmt.Errorf("--pcap is for one packet and a file; write hopscope packet STACK OPERATION --pcap FILE")
	}
	if err := checkFile("--pcap", f.pcap); err != nil {
		return err
	}
	if len(args) < 2 {
		if len(args) == 1 {
			stacks = args
		}
		return failure(report.PacketNames(c.OutOrStdout(), stacks, textOptions(c)))
	}
	if names := anatomy.Operations(args[0]); !slices.Contains(names, args[1]) {
		return fmt.Errorf("%s has no packet %s; %s", args[0], args[1], oneOf(args[1], names))
	}
	p, frame, err := anatomy.Sample(args[0], args[1], f.Options)
	if err != nil {
		return err
	}
	if f.pcap != "" {
		err := putTo(c, f.pcap, func(w io.Writer) error {
			packets := append(anatomy.Before(args[0], args[1], f.Options), frame)
			return capture.Write(w, "hopscope "+version(), args[0]+" "+args[1], args[0] == "infiniband", packets...)
		})
		if err != nil || f.pcap == "-" {
			return failure(err)
		}
	}
	return failure(report.Packet(c.OutOrStdout(), &p, textOptions(c)))
}

// completePacket offers stacks, then their packets.
func completePacket(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	words := anatomy.Stacks()
	if len(args) > 0 {
		words = anatomy.Operations(args[0])
	}
	return matching(typed, words), cobra.ShellCompDirectiveNoFileComp
}
