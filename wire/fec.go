package wire

// FEC is a forward error correction of Ethernet links: Reed-Solomon codewords of Symbols symbols
// of 10 bits, Data of them payload, of which Corrects may be wrong.
type FEC struct {
	Name                    string
	Symbols, Data, Corrects int
}

// FECs lists what IEEE 802.3 uses: RS(528,514) of clause 91 on lanes of 25 Gb/s, RS(544,514) of
// clauses 91, 119 and 172 on those of 50 Gb/s and more.
func FECs() []FEC {
	return []FEC{{"rs528", 528, 514, 7}, {"rs544", 544, 514, 15}}
}

const symbolBits = 10

// Uncorrectable is the probability that a codeword cannot be corrected where bits are wrong
// independently of each other with probability ber: that more than Corrects symbols are.
func (f *FEC) Uncorrectable(ber float64) float64 {
	right := 1.0 // a symbol
	for range symbolBits {
		right *= 1 - ber
	}
	wrong := 1 - right
	switch {
	case wrong <= 0:
		return 0
	case right <= 0:
		return 1
	}
	// The terms of the binomial distribution, each from the one before; for a few errors the
	// sum of the tail keeps the digits that 1 less the rest would lose.
	term := 1.0
	for range f.Symbols {
		term *= right
	}
	if term == 0 { // below what a float64 holds: hundreds of wrong symbols
		return 1
	}
	tail := 0.0
	for k := 0; k < f.Symbols; k++ {
		term *= float64(f.Symbols-k) / float64(k+1) * wrong / right
		if k+1 > f.Corrects {
			tail += term
		}
	}
	return min(tail, 1)
}

// Codewords is in how many codewords a frame of so many bits lies at least, and with which
// probability in more, as many as the link interleaves: 2 from 200 Gb/s on, 4 from 800 Gb/s on. A
// frame begins anywhere.
func (f *FEC) Codewords(bits int, bps int64) (least, interleaved int, more float64) {
	interleaved = 1
	switch {
	case bps >= 800_000_000_000:
		interleaved = 4
	case bps >= 200_000_000_000:
		interleaved = 2
	}
	block := interleaved * f.Data * symbolBits
	return interleaved * (1 + (bits-1)/block), interleaved, float64((bits-1)%block) / float64(block)
}
