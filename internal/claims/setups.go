package claims

// Elements of --set that several claims share.

// star puts hosts around one switch, by links of the claim's rate.
func star(hosts string) string {
	return "topology={star: {hosts: " + hosts + ", link: {rate}, length: 5m}}"
}

// stack runs the scenario over another stack.
func stack(name string) string { return "stack=" + name }

const (
	// incast has four hosts send to a fifth.
	incast = "workload=[{incast: {from: [h0, h1, h2, h3], to: h4, size: {size}}}]"
	// alone has one of them send.
	alone = "workload=[{incast: {from: [h0], to: h4, size: {size}}}]"
	// single has one host send to another.
	single = "workload=[{flow: {from: h0, to: h1, size: {size}}}]"
	// small is a message that the network carries idle.
	small = "workload=[{flow: {from: h0, to: h4, size: 64B}}]"
	// linux gives all hosts the costs of a server with Linux, whatever the stack.
	linux = "host.preset=linux-xeon"
	// freeHost takes them away.
	freeHost = "host.preset=free"
)

var (
	allRates = []string{"100Gbps", "400Gbps", "800Gbps"}
	seeds    = []uint64{2, 3}

	fiveHosts = Text{"Four hosts send {size} each at once to a fifth, through one switch, at {rate}.",
		"四台主机经同一台交换机同时向第五台各发送 {size}，链路 {rate}。"}
)

// named is a variant over a stack, which has the stack's name.
func named(key, of string, more ...string) Variant {
	return Variant{Key: key, Name: Text{of, of}, Set: append([]string{stack(of)}, more...)}
}

// with is a variant by what is set in it.
func with(key, en, zh string, set ...string) Variant {
	return Variant{Key: key, Name: Text{en, zh}, Set: set}
}
