package subnet

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// Tables come back as they were written, and a port that two tables disagree on
// is not.
func TestLFTsRoundTrip(t *testing.T) {
	f := fatTreeOf(t, 4, 3, 1)
	tables := routed(t, f, Options{Engine: "updn"})
	var b bytes.Buffer
	if err := tables.WriteLFTs(&b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadLFTs(f, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for n := range tables.LFT {
		if !slices.Equal(tables.LFT[n], again.LFT[n]) {
			t.Errorf("%s: %v, want %v", f.Nodes[n].Name, again.LFT[n], tables.LFT[n])
		}
	}
	other := strings.Replace(b.String(), " 003 : (Channel", " 004 : (Channel", 1)
	if again, err = ReadLFTs(f, []byte(other)); err != nil || len(tables.Changes(again)) != 1 {
		t.Errorf("one entry was changed, and %d differ (%v)", len(tables.Changes(again)), err)
	}
}

// The form that OpenSM itself dumps, and what a file can have wrong.
func TestReadLFTs(t *testing.T) {
	f, err := Parse([]byte(pair), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	head := "Unicast lids [0-3] of switch Lid 2 guid 0x0000000000200000 ('sw'):\n"
	good := head + "0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'h0'\n0x0002 000 # Switch\n0x0003 UNREACHABLE\n3 lids dumped\n"
	tables, err := ReadLFTs(f, []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	sw, _ := f.NodeByName("sw")
	if want := []uint8{NoPort, 1, 0, NoPort}; !slices.Equal(tables.LFT[sw], want) {
		t.Errorf("table %v, want %v", tables.LFT[sw], want)
	}
	if a := tables.Analyse(); a.Unreachable != 1 || a.Hops[2] != 1 {
		t.Errorf("hops %v, %d unreachable, want one of each way", a.Hops, a.Unreachable)
	}
	for _, tt := range []struct{ text, want string }{
		{"", "1:1: the file ends without a table of switch sw"},
		{"0x0001 001\n", "1:1: an entry stands before the head of any switch"},
		{strings.Replace(head, "2000", "3000", 1), "1:41: there is no switch with GUID 0x0000000000300000"},
		{head + head, "2:41: the table of switch sw stands on line 1 already"},
		{head + "0x0009 001\n", "2:1: nobody in the subnet has LID 9"},
		{head + "0x0001 009\n", "2:1: LID 1 leaves by port 9 of switch sw, which has 8 ports"},
		{head + "0x0001", "2:7: the line ends where a port, a number from 0 to 255, should stand"},
		{head + "hello", "2:1: \"hello\" stands where Unicast lids of a switch"},
		{head[:30] + "\n", "1:31: the line ends where guid and the GUID of the switch should stand"},
	} {
		_, err := ReadLFTs(f, []byte(tt.text))
		var at *Error
		if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// Whatever the bytes, ReadLFTs returns tables that can be judged, or an error.
func FuzzReadLFTs(f *testing.F) {
	f.Add([]byte("Unicast lids [0-3] of switch Lid 2 guid 0x0000000000200000 ('sw'):\n0x0001 001 # a\n"))
	fabric, err := Parse([]byte(pair), ParseOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if tables, err := ReadLFTs(fabric, text); err == nil {
			tables.Analyse()
			tables.CreditLoops(0)
		}
	})
}
