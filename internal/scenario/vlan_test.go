package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/wire"
)

// An 802.1Q tag adds four bytes to every frame (IEEE 802.1Q 9.4), and a switch
// that trusts it maps the code point by itself.
func TestVLAN(t *testing.T) {
	v := parse(t, base+"vlan: true\nswitch: {trust: pcp, pcp_to_priority: {3: 4}, pfc: {enabled: 4}}\nswitches: {leaf2: {trust: dscp}}\n")
	if v.Wire != wire.EthernetVLAN || v.Transports[0].Wire != wire.EthernetVLAN {
		t.Errorf("wire %q and %q, want %q", v.Wire.Name, v.Transports[0].Wire.Name, wire.EthernetVLAN.Name)
	}
	leaf1, leaf2 := switchNamed(t, v, "leaf1"), switchNamed(t, v, "leaf2")
	if !leaf1.TrustPCP || leaf2.TrustPCP {
		t.Errorf("trust pcp: leaf1 %v, leaf2 %v; want true, false", leaf1.TrustPCP, leaf2.TrustPCP)
	}
	if want := [8]uint8{0, 1, 2, 4, 4, 5, 6, 7}; leaf1.PCPToPrio != want {
		t.Errorf("map %v, want %v", leaf1.PCPToPrio, want)
	}
	if all := strings.Join(v.Warnings, "\n"); !strings.Contains(all, "leaf1: PCP 3 is priority 4 there, while the NIC sends it in priority 3") {
		t.Errorf("no warning of the class that changes: %q", all)
	}
}

// The largest frame of path MTU 4096 is 4156 B of IP packet with and without
// tag: the tag is no part of it.
func TestVLANPortMTU(t *testing.T) {
	for _, vlan := range []string{"false", "true"} {
		parse(t, base+"vlan: "+vlan+"\nswitch: {mtu: 4156}\nnic: {mtu: 4156}\n")
		_, err := Parse("s.yaml", []byte(base+"vlan: "+vlan+"\nswitch: {mtu: 4155}\n"), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "4156 B long and does not fit the port MTU 4155") {
			t.Errorf("vlan %s: %v", vlan, err)
		}
	}
}

// The header of IPv6 is a part of the IP packet, and so 20 bytes of the port's MTU.
func TestIPv6PortMTU(t *testing.T) {
	v := parse(t, base+"ip: v6\nswitch: {mtu: 4176}\nnic: {mtu: 4176}\n")
	if v.Wire != wire.EthernetIPv6 || v.Transports[0].Wire != wire.EthernetIPv6 {
		t.Errorf("wire %q and %q, want %q", v.Wire.Name, v.Transports[0].Wire.Name, wire.EthernetIPv6.Name)
	}
	if v := parse(t, base+"vlan: true\nip: v6\n"); v.Wire != wire.EthernetVLANIPv6 {
		t.Errorf("with a tag the wire is %q, want %q", v.Wire.Name, wire.EthernetVLANIPv6.Name)
	}
	_, err := Parse("s.yaml", []byte(base+"ip: v6\nswitch: {mtu: 4175}\n"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "4176 B long and does not fit the port MTU 4175") {
		t.Errorf("%v", err)
	}
}
