package wire

import "testing"

// The sizes of the Ethernet profiles are those of frames that Append makes,
// and of models.md 4.5: 62 bytes around a payload, ACK 66, CNP 78.
func TestProfilesMatchFrames(t *testing.T) {
	for _, c := range []struct {
		profile        Profile
		tagged         bool
		version        uint8
		data, ack, cnp int
	}{
		{Ethernet, false, 4, 62, 66, 78},
		{EthernetVLAN, true, 4, 66, 70, 82},
		{EthernetIPv6, false, 6, 82, 86, 98},
		{EthernetVLANIPv6, true, 6, 86, 90, 102},
	} {
		size := func(op Opcode, payload int) int {
			f := sampleFrame(op, payload, c.version, c.tagged)
			b, err := f.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			return len(b) + FCSLen
		}
		p := c.profile
		for _, check := range []struct {
			name                 string
			profile, frame, want int
		}{
			{"Data", p.Data, size(RCSendOnly, 0), c.data},
			{"Data with 1024 bytes", p.Data + 1024, size(RCWriteMiddle, 1024), c.data + 1024},
			{"RETH", p.Data + p.RETH, size(RCWriteOnly, 0), c.data + 16},
			{"Ack", p.Ack, size(RCAcknowledge, 0), c.ack},
			{"CNP", p.CNP, size(CNPOpcode, 0), c.cnp},
			{"Pad", p.Data + p.Pad, size(RCSendOnly, 1), c.data + 4},
			{"Pad, none", p.Data + 2*p.Pad, size(RCSendOnly, 8), c.data + 8},
			{"Control", p.Control, len(PFC{}.AppendFrame(nil, MAC{})) + FCSLen, 64},
			{"MinFrame", p.MinFrame, MinFrameLen, 64},
			{"Overhead", p.Overhead, PreambleLen + GapLen, 20},
			{"Preamble", p.Preamble, PreambleLen, 8},
		} {
			if check.profile != check.want || check.frame != check.want {
				t.Errorf("%s %s: profile %d, frame %d, want %d", p.Name, check.name, check.profile, check.frame, check.want)
			}
		}
		// The header that a cut-through switch waits for holds all it routes by.
		if need := p.Data - ICRCLen - FCSLen; p.Header < need {
			t.Errorf("%s: %d bytes of header, want %d at least, up to the BTH", p.Name, p.Header, need)
		}
	}
}

// InfiniBand around a payload (models.md 4.5): 26 bytes, 66 with a GRH.
func TestInfiniBandSizes(t *testing.T) {
	for lnh, want := range map[uint8]int{LNHLocal: 26, LNHGlobal: 66} {
		p := samplePacket(RCSendMiddle, 0, lnh)
		if b, err := p.Append(nil); err != nil || len(b) != want {
			t.Errorf("LNH %d: %d bytes, %v, want %d", lnh, len(b), err, want)
		}
	}
}

// The sizes of the InfiniBand profiles are those of packets that Append makes,
// and of models.md 4.5 and 6.1: 26 bytes around a payload, 66 with a GRH, ACK 30,
// flow-control packet 6.
func TestInfiniBandProfiles(t *testing.T) {
	for lnh, p := range map[uint8]Profile{LNHLocal: InfiniBand, LNHGlobal: InfiniBandGRH} {
		grh := 0
		if lnh == LNHGlobal {
			grh = 40
		}
		size := func(op Opcode, payload int) int {
			packet := samplePacket(op, payload, lnh)
			b, err := packet.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			return len(b)
		}
		for _, check := range []struct {
			name                  string
			profile, packet, want int
		}{
			{"Data", p.Data, size(RCSendOnly, 0), 26 + grh},
			{"Data with 1024 bytes", p.Data + 1024, size(RCWriteMiddle, 1024), 26 + grh + 1024},
			{"RETH", p.Data + p.RETH, size(RCWriteOnly, 0), 42 + grh},
			{"Ack", p.Ack, size(RCAcknowledge, 0), 30 + grh},
			{"CNP", p.CNP, size(IBCNPOpcode, 0), 26 + grh},
			{"Control", p.Control, len(FlowControl{}.Append(nil)), 6},
			{"Block", p.Block, 64, 64},
		} {
			if check.profile != check.want || check.packet != check.want {
				t.Errorf("%s %s: profile %d, packet %d, want %d", p.Name, check.name, check.profile, check.packet, check.want)
			}
		}
		// With a delimiter before and behind, packets and flow-control packets fill
		// the columns of four lanes.
		for _, n := range []int{p.Data, p.Ack, p.CNP, p.Control, p.Data + 4096} {
			if (n+p.Overhead)%4 != 0 {
				t.Errorf("%s: %d bytes and %d delimiters leave a lane over", p.Name, n, p.Overhead)
			}
		}
	}
}
