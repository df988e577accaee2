package iwarp

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/wire"
)

// AppendFPDU writes the FPDU that a side record tells of and does not hold the bytes of; its payload is zeros.
func AppendFPDU(b []byte, side *packet.Side) []byte {
	header := side.DDP.Append(nil)
	f := wire.Framing{Markers: side.Marker > 0, CRC: !side.Unchecked}
	return f.Append(b, wire.MPAMarkerGap-int64(side.Marker), header, make([]byte, int(side.ULPDU)-len(header)))
}
