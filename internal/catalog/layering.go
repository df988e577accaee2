package catalog

import "strings"

// What a stack is made of, layer by layer: how a program asks for its data to be moved, what carries them from end to
// end, and what a link does when the buffer behind it is full. RDMA is a matter of the first, PFC and credits of the
// last, and each API or transport may run over several fabrics.

// API is how a program asks for its data to be moved.
type API uint8

// APIs.
const (
	VerbsAPI   API = iota // work requests for registered memory, which the card carries out
	SocketsAPI            // a byte stream to a process, by system calls of its kernel
)

var apis = []string{VerbsAPI: "verbs", SocketsAPI: "sockets"}

func (a API) String() string {
	return nameOf(apis, int(a), func(s *string) string { return *s }, "API")
}

// MarshalText writes the stable name.
func (a API) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the stable name.
func (a *API) UnmarshalText(name []byte) (err error) {
	*a, err = find(len(apis), string(name), API.String, "API")
	return err
}

// Fabric is a kind of links and switches, by what becomes of a frame for which there is no buffer.
type Fabric uint8

// Fabrics.
const (
	LossyEthernet    Fabric = iota // the frame is dropped
	LosslessEthernet               // PFC has stopped the sender before
	CreditedFabric                 // InfiniBand: without credits it was never sent
)

var fabrics = []string{LossyEthernet: "Ethernet, lossy", LosslessEthernet: "Ethernet, lossless", CreditedFabric: "InfiniBand"}

func (f Fabric) String() string {
	return nameOf(fabrics, int(f), func(s *string) string { return *s }, "fabric")
}

// MarshalText writes the stable name.
func (f Fabric) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the stable name.
func (f *Fabric) UnmarshalText(name []byte) (err error) {
	*f, err = find(len(fabrics), string(name), Fabric.String, "fabric")
	return err
}

// API is what programs use a service through.
func (s Service) API() API {
	if s.Is(Verbs) {
		return VerbsAPI
	}
	return SocketsAPI
}

// Layering is what a stack, or a part of what a run carried, is in each of the three layers.
type Layering struct {
	API        API       `json:"api"`        // how programs ask for their data to be moved
	Transports []Service `json:"transports"` // what carries data from end to end; of a stack: all that it has
	Fabric     Fabric    `json:"fabric"`     // links and switches, by what becomes of a frame without room
}

// TransportNames are the names of the transports, "RC, UC, UD".
func (l *Layering) TransportNames() string {
	names := make([]string, len(l.Transports))
	for i, t := range l.Transports {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}
