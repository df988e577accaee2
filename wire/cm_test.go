package wire

import "testing"

// Fields of a REQ and a REP where tshark 4.0.17 finds them; what is cut before the queue pair is nothing.
func TestCM(t *testing.T) {
	req, rep := make([]byte, MADLen), make([]byte, MADLen)
	copy(req, []byte{1, 7, 2, 3, 16: 0, 17: 0x10, 27: 0x55, 56: 1, 57: 2, 58: 3, 119: 14 << 3})
	copy(rep, []byte{1, 7, 2, 3, 16: 0, 17: 0x13, 27: 0x66, 31: 0x55, 36: 4, 37: 5, 38: 6})
	for n, c := range []struct {
		b     []byte
		want  CM
		least int
	}{
		{req, CM{Kind: CMREQ, Local: 0x55, QPN: 0x010203, AckTimeout: 14}, 60},
		{rep, CM{Kind: CMREP, Local: 0x66, Remote: 0x55, QPN: 0x040506}, 40},
	} {
		if got, ok := ParseCM(c.b); !ok || got != c.want {
			t.Errorf("%d: %+v, %v, want %+v", n, got, ok, c.want)
		}
		for k := range c.b {
			if got, ok := ParseCM(c.b[:k]); ok != (k >= c.least) || ok && got.QPN != c.want.QPN {
				t.Errorf("%d: %d bytes: %+v, %v", n, k, got, ok)
			}
		}
	}
	req[1] = 3 // of subnet administration
	if _, ok := ParseCM(req); ok {
		t.Error("another class is taken for the connection manager's")
	}
}

// Of a packet that is cut the headers and the length of the payload are known; what is whole is as
// DecodeFrame has it.
func TestDecodeCut(t *testing.T) {
	whole := Transport{BTH: BTH{Opcode: RCWriteFirst, DestQP: 5, PSN: 9}, RETH: RETH{DMALen: 4096}, Payload: make([]byte, 101)}
	whole.BTH.PadCnt = 3
	b := append(whole.append(nil, 1<<16), 1, 2, 3, 4)
	for n := range len(b) + 1 {
		var got Transport
		payload, err := got.DecodeCut(b[:n], len(b))
		switch {
		case n < BTHLen+RETHLen:
			if err == nil {
				t.Errorf("%d bytes: no error", n)
			}
		case err != nil || payload != 101 || len(got.Payload) != min(101, n-BTHLen-RETHLen) || got.RETH.DMALen != 4096:
			t.Errorf("%d bytes: payload %d, %d of it, %v", n, payload, len(got.Payload), err)
		case (got.ICRC == 0x04030201) != (n == len(b)):
			t.Errorf("%d bytes: ICRC %x", n, got.ICRC)
		}
	}
}
