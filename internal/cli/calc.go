package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/calc"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/spf13/cobra"
)

// calcFlags are the flags that calculators share.
type calcFlags struct {
	input
	asic, ports string
	json        string
}

// add adds them. usual is the number of ports where none is given.
func (f *calcFlags) add(c *cobra.Command, p Pipeline, ports string) {
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.ports, "ports", "", ports)
	f.changes(flags, p)
	flags.StringVar(&f.json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
}

// write writes what was worked out.
func (f *calcFlags) write(c *cobra.Command, made *report.Calculation, err error) error {
	if err != nil {
		return err
	}
	if f.json != "" {
		data, err := made.JSON()
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		if err != nil || f.json == "-" {
			return failure(err)
		}
	}
	return failure(made.Text(c.OutOrStdout(), textOptions(c)))
}

// usualPorts is how many ports of one kind a switch has where nothing is said.
const usualPorts = 32

// oneKind is a switch of equal ports, whose number --ports gives.
func (f *calcFlags) oneKind(p calc.Ports) (calc.Switch, error) {
	s := calc.Switch{ASIC: f.asic, Ports: []calc.Ports{p}, Set: f.set, Known: f.known}
	if f.ports == "" {
		return s, nil
	}
	given, err := calc.ParsePorts(f.ports, p)
	if err == nil && (len(given) > 1 || given[0].Rate != p.Rate || given[0].Length != p.Length) {
		err = fmt.Errorf("--ports %s: all ports are alike here; give their number alone", f.ports)
	}
	s.Ports = given
	return s, err
}

const onePorts = "`N` ports of the switch, all alike (default: 32)"

func (f *calcFlags) asicFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.asic, "asic", "", "the memory of an ASIC, by `NAME`: "+strings.Join(calc.ASICs(false), ", ")+
		" (default: 16 MiB for each 50 Gb/s of a port, alpha 1/8, as scenarios have it)")
}

// rateOf reads a rate given as an argument.
func rateOf(command, text string) (units.Rate, error) {
	rate, err := units.ParseRate(text)
	if err == nil && rate == 0 {
		err = errors.New("a rate of 0 sends nothing; give the rate of a port, such as 400Gbps")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", command, err)
	}
	return rate, err
}

func newHeadroom(p Pipeline) *cobra.Command {
	var f calcFlags
	c := &cobra.Command{
		Use:   "headroom RATE LENGTH",
		Short: "Work out the headroom of a lossless priority for a cable",
		Long: "headroom prints what can arrive at a port of a rate after XOFF over a cable, term by term,\n" +
			"beside Spectrum's rule and the tables that switches are shipped with, what all headrooms\n" +
			"leave of a switch's memory, and from how many queues on PFC then acts before ECN.",
		Example: "  hopscope headroom 400Gbps 300m\n" +
			"  hopscope headroom 100Gbps 40m --asic tomahawk\n" +
			"  hopscope headroom 800Gbps 2km --ports 64 --set mtu=1024 --set noise=off",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf(
					"headroom takes the rate of a port and the length of its cable, such as hopscope headroom 400Gbps 300m; %d given",
					len(args),
				)
			}
			if err := checkJSON(f.json); err != nil {
				return err
			}
			rate, err := rateOf("headroom", args[0])
			if err != nil {
				return err
			}
			length, err := units.ParseLength(args[1])
			if err != nil {
				return fmt.Errorf("headroom: %w", err)
			}
			s, err := f.oneKind(calc.Ports{Count: usualPorts, Rate: rate, Length: length})
			if err != nil {
				return err
			}
			made, err := calc.Headroom(s)
			return f.write(c, made, err)
		},
	}
	f.asicFlag(c)
	f.add(c, p, onePorts)
	return c
}

func newECN(p Pipeline) *cobra.Command {
	var f calcFlags
	var rtt string
	var flows int
	c := &cobra.Command{
		Use:   "ecn RATE --rtt TIME --flows N",
		Short: "Work out thresholds of marking for flows that share a port",
		Long: "ecn prints what N flows of DCQCN that share a port of a rate come to: how much is under way\n" +
			"in a round trip, what share of packets is marked where they settle and how long the queue is\n" +
			"then, a curve to begin with beside the one that scenarios have, and for each from how many\n" +
			"queues on PFC acts before ECN.",
		Example: "  hopscope ecn 400Gbps --rtt 8us --flows 16\n" +
			"  hopscope ecn 100Gbps --rtt 5us --flows 64 --set dcqcn=paper --set switch.ecn.kmin=150KB",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return fmt.Errorf(
					"ecn takes the rate of a port, such as hopscope ecn 400Gbps --rtt 8us --flows 16; %d given",
					len(args),
				)
			case rtt == "":
				return errors.New("ecn needs the round trip of the idle path, such as --rtt 8us")
			case flows < 1 || flows > calc.MostFlows:
				return fmt.Errorf(
					"--flows %d: give how many flows share the port, 1 to %d, such as --flows 16",
					flows,
					calc.MostFlows,
				)
			}
			if err := checkJSON(f.json); err != nil {
				return err
			}
			rate, err := rateOf("ecn", args[0])
			if err != nil {
				return err
			}
			trip, err := units.ParseTime(rtt)
			if err == nil && (trip == 0 || trip > calc.LongestRTT) {
				err = fmt.Errorf("%s is no round trip; give more than 0 and at most %v", rtt, calc.LongestRTT)
			}
			if err != nil {
				return fmt.Errorf("--rtt: %w", err)
			}
			s, err := f.oneKind(calc.Ports{Count: usualPorts, Rate: rate, Length: 5 * units.Metre})
			if err != nil {
				return err
			}
			made, err := calc.ECN(s, calc.Flows{Count: flows, RTT: trip})
			return f.write(c, made, err)
		},
	}
	c.Flags().StringVar(&rtt, "rtt", "", "round trip of the idle path, `TIME`")
	c.Flags().IntVar(&flows, "flows", 0, "`N` flows share the port")
	f.asicFlag(c)
	f.add(c, p, onePorts)
	return c
}

func newBuffer(p Pipeline) *cobra.Command {
	var f calcFlags
	c := &cobra.Command{
		Use:   "buffer ASIC",
		Short: "Work out the thresholds of a switch's packet memory, to the cell",
		Long: "buffer prints, for an ASIC with some ports, what its priority groups share, at which cell one\n" +
			"of them is paused alone and beside others, which is dropped, and from how many queues on PFC\n" +
			"acts before ECN. ASICs: " + strings.Join(calc.ASICs(true), ", ") + "; names of their switches will do.",
		Example: "  hopscope buffer tomahawk5 --ports 64x400Gbps:300m\n" +
			"  hopscope buffer sn5600 --ports 48x400Gbps:5m,16x800Gbps:40m --set switch.pfc.enabled=[3,4]",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf(
					"buffer takes one ASIC, such as hopscope buffer tomahawk5 --ports 64x400Gbps; %d given; known are %s",
					len(args),
					strings.Join(calc.ASICs(true), ", "),
				)
			}
			if err := checkJSON(f.json); err != nil {
				return err
			}
			s := calc.Switch{ASIC: args[0], Set: f.set, Known: f.known}
			usual, err := calc.UsualPorts(args[0])
			if err == nil && f.ports != "" {
				s.Ports, err = calc.ParsePorts(f.ports, usual)
			}
			if err != nil {
				return err
			}
			made, err := calc.Buffer(s)
			return f.write(c, made, err)
		},
	}
	f.add(
		c,
		p,
		"`PORTS`: 32x400Gbps:300m, several kinds with commas between; "+
			"rate and cable may be left out (default: those of the switch whose files are read)",
	)
	return c
}
