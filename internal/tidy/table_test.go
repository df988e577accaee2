package tidy

// module is the import path of the repository.
const module = "github.com/hopscope/hopscope/"

// Levels, lowest first. A package may import packages of its own module only
// from below; the numbers between the tens order packages within a level.
const (
	levelBase      = 0  // units, random numbers, bytes on the wire
	levelModel     = 10 // engine, records, pure models
	levelDevice    = 20 // ports, switches, cards
	levelScenario  = 30 // files in, world out
	levelRun       = 40 // the pipeline and what becomes of its records
	levelFrontEnd  = 50 // command line
	levelTopmost   = 60 // main
	levelUnchecked = 70 // checks of the whole, imported by nothing
)

// rule is what one package is held to.
type rule struct {
	level      int
	thirdParty []string // modules it may import, by prefix
	std        []string // parts of the standard library it may import although restricted
}

// restricted are the parts of the standard library through which a run could
// depend on anything but its scenario. A package imports one only if its rule
// says so; "net" stands for net/http and the like as well.
var restricted = []string{"context", "crypto/rand", "math/rand", "math/rand/v2", "net", "os", "os/exec", "os/signal",
	"runtime", "sync", "sync/atomic", "syscall", "time", "unsafe"}

// rules has a row for every package.
var rules = map[string]rule{
	"internal/units":    {level: levelBase},
	"internal/rng":      {level: levelBase, std: []string{"math/rand/v2"}}, // its PCG generator, always seeded
	"wire":              {level: levelBase},
	"internal/lang":     {level: levelBase},
	"internal/catalog":  {level: levelBase + 1},
	"internal/anatomy":  {level: levelBase + 1, std: []string{"net/netip"}},
	"internal/pcie":     {level: levelBase + 1},
	"internal/lru":      {level: levelBase + 1},
	"internal/typo":     {level: levelBase},
	"internal/names":    {level: levelBase},
	"internal/visible":  {level: levelBase, thirdParty: []string{"github.com/rivo/uniseg"}},
	"internal/files":    {level: levelBase, std: []string{"os", "syscall"}},
	"internal/perfetto": {level: levelBase + 1, thirdParty: []string{"google.golang.org/protobuf/encoding/protowire"}},
	"internal/mmu":      {level: levelBase + 1},
	"internal/foreign":  {level: levelBase},
	"internal/pcap":     {level: levelBase + 1, thirdParty: []string{"github.com/gopacket/gopacket"}, std: []string{"net/netip", "time"}},
	"internal/tree":     {level: levelBase + 1, thirdParty: []string{"github.com/goccy/go-yaml"}},

	"internal/sim":        {level: levelModel, std: []string{"runtime", "sync/atomic"}},
	"internal/packet":     {level: levelModel},
	"internal/record":     {level: levelModel},
	"internal/topology":   {level: levelModel},
	"internal/workload":   {level: levelModel},
	"internal/congestion": {level: levelModel + 1},
	"internal/param":      {level: levelBase + 1},
	"internal/collective": {level: levelModel + 1},
	"internal/job":        {level: levelModel + 2},
	"internal/training":   {level: levelModel + 3},
	"internal/simai":      {level: levelModel + 4},
	"internal/chakra":     {level: levelModel + 3, thirdParty: []string{"google.golang.org/protobuf"}},
	"internal/roce":       {level: levelModel + 1},
	"internal/subnet":     {level: levelModel + 1},
	"internal/server":     {level: levelModel + 1},
	"internal/transcript": {level: levelBase, std: []string{"os"}}, // for tests
	"internal/card":       {level: levelModel + 2},
	"internal/rdma":       {level: levelModel + 2},
	"internal/tcp":        {level: levelModel + 2},
	"internal/iwarp":      {level: levelModel + 3},

	"internal/dma":     {level: levelDevice},
	"internal/fabric":  {level: levelDevice},
	"internal/balance": {level: levelDevice + 1},
	"internal/host":    {level: levelDevice},
	"internal/nic":     {level: levelDevice + 1},

	"internal/importer":       {level: levelScenario - 3}, // what importers say of themselves
	"internal/importer/ns3":   {level: levelScenario - 2},
	"internal/importer/htsim": {level: levelScenario - 2},
	"internal/importers":      {level: levelScenario - 1}, // their table

	"scenarios":         {level: levelBase},
	"docs":              {level: levelBase},
	"internal/tour":     {level: levelBase + 1},
	"internal/scenario": {level: levelScenario, std: []string{"os"}},
	"internal/fold":     {level: levelScenario + 1},
	"internal/build":    {level: levelScenario + 2},
	"internal/deploy":   {level: levelScenario + 1},
	"internal/account":  {level: levelScenario + 3},
	"internal/ideal":    {level: levelScenario + 3},
	"internal/flow":     {level: levelScenario + 4, std: []string{"context"}},
	"internal/capture":  {level: levelScenario + 3, thirdParty: []string{"github.com/gopacket/gopacket"}, std: []string{"time"}},

	"internal/run":      {level: levelRun, std: []string{"context", "time"}},
	"internal/metrics":  {level: levelRun, std: []string{"sync"}},
	"internal/cases":    {level: levelRun},
	"internal/decode":   {level: levelRun, std: []string{"net/netip"}},
	"internal/ncclog":   {level: levelScenario},
	"internal/claims":   {level: levelRun + 1, std: []string{"context", "sync"}},
	"internal/compare":  {level: levelRun + 1, std: []string{"context", "sync"}},
	"internal/diagnose": {level: levelRun + 1, std: []string{"context", "sync"}},
	"internal/whatif":   {level: levelRun + 1, std: []string{"context", "sync", "time"}},
	"fidelity":          {level: levelRun + 1, std: []string{"context", "os", "sync"}},
	"internal/counters": {level: levelRun + 1},
	"internal/headline": {level: levelRun + 1},
	"internal/advise":   {level: levelRun + 2},
	"internal/batch":    {level: levelRun + 2, std: []string{"context", "sync", "time"}},
	"internal/vary":     {level: levelBase + 1},
	"internal/sweep":    {level: levelRun + 2},
	"internal/campaign": {level: levelRun + 3, std: []string{"context", "os", "os/exec", "runtime", "sync", "time"}},
	"internal/rows":     {level: levelRun, std: []string{"sync"}},
	"internal/report":   {level: levelRun + 3, thirdParty: []string{"github.com/parquet-go/parquet-go"}, std: []string{"os"}},

	"internal/openmetrics": {level: levelRun + 2},
	"internal/timeline":    {level: levelRun + 2},

	"internal/calc": {level: levelRun + 4},
	"internal/diff": {level: levelRun + 4},
	"internal/tune": {level: levelRun + 4, thirdParty: []string{"gonum.org/v1/gonum"}, std: []string{"context", "sync"}},

	"internal/figure": {level: levelRun + 3, thirdParty: []string{"gonum.org/v1/plot"}},
	"internal/page":   {level: levelRun + 4},

	"internal/cli": {level: levelFrontEnd, thirdParty: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"},
		std: []string{"context", "os", "os/signal", "runtime", "runtime/debug", "sync", "syscall", "time"}},
	".":            {level: levelRun + 5, std: []string{"context", "runtime", "runtime/metrics"}},
	"conformance":  {level: levelRun + 6, std: []string{"context", "math/rand/v2"}}, // for tests of other programs
	"command":      {level: levelFrontEnd + 1, std: []string{"context"}},
	"cmd/hopscope": {level: levelTopmost, std: []string{"context", "os"}},

	"internal/tidy":       {level: levelUnchecked},
	"internal/page/audit": {level: levelUnchecked},
	"internal/bench":      {level: levelUnchecked, std: []string{"os", "os/exec"}},
	"internal/mutants":    {level: levelUnchecked, std: []string{"context", "os", "os/exec", "sync", "syscall", "time"}},
	"internal/check":      {level: levelUnchecked, std: []string{"os", "os/exec", "os/signal", "runtime", "time"}},
	"internal/proof":      {level: levelUnchecked, std: []string{"context", "os", "runtime", "runtime/debug", "time"}},
}

// never lists imports that levels would allow. Metrics and reports know no
// devices, so that a report can be made again from a saved run directory; the
// command line reaches devices through run alone; only sim runs beneath run.
var never = map[string][]string{
	"internal/metrics":    {"internal/sim", "internal/fabric", "internal/nic", "internal/rdma", "internal/congestion", "internal/scenario", "internal/build"},
	"internal/compare":    {"internal/sim", "internal/fabric", "internal/nic", "internal/rdma", "internal/congestion", "internal/scenario", "internal/build"},
	"fidelity":            {"internal/sim", "internal/fabric", "internal/nic", "internal/rdma", "internal/congestion", "internal/scenario", "internal/build"},
	"internal/report":     {"internal/sim", "internal/fabric", "internal/nic", "internal/rdma", "internal/congestion", "internal/scenario", "internal/build", "internal/run"},
	"internal/cli":        {"internal/sim", "internal/fabric", "internal/nic", "internal/rdma", "internal/congestion", "internal/build"},
	"internal/congestion": {"internal/sim", "internal/packet", "internal/topology", "internal/workload"},
	"internal/rdma":       {"internal/sim", "internal/topology", "internal/workload"},
	"internal/tcp":        {"internal/sim", "internal/topology", "internal/workload"},
	"internal/iwarp":      {"internal/sim", "internal/topology", "internal/workload"},
	"internal/scenario":   {"internal/sim", "internal/nic"},
	"internal/packet":     {"internal/units"},
}

// mayRange are packages below the level of run that iterate over maps or start
// goroutines although order could matter there.
var mayRange = map[string]bool{"internal/sim": true}

// Limits of size.
const (
	maxFileLines     = 800
	maxFunctionLines = 70
	// longFunctions is how many functions are longer, tests apart. It may only
	// fall; a function that shrinks takes the number along.
	longFunctions = 0
)

// mutable lists package-level variables that change while the program runs,
// with the reason.
var mutable = map[string]string{}

// devices are what reachNone must not reach, also through others.
var devices = []string{"internal/sim", "internal/fabric", "internal/nic", "internal/host", "internal/dma", "internal/mmu", "internal/rdma",
	"internal/tcp", "internal/congestion", "internal/packet", "internal/scenario", "internal/build", "internal/account", "internal/run"}

// reachNone are made of records alone.
var reachNone = []string{"internal/record", "internal/metrics", "internal/compare", "internal/report", "internal/rows", "internal/cases"}

// stackless are packages in which a new stack should need no branch, stackFields and
// stackTypes what a branch on one reads, stackNames what it compares with.
var (
	stackless   = []string{"internal/metrics", "internal/compare", "internal/report", "internal/account", "internal/run"}
	stackFields = []string{"Credits", "TCP", "Service", "Stack", "Layer"}
	stackTypes  = []string{"Service", "Layer"}
	stackNames  = []string{"RC", "UC", "UD", "TCP", "tcp", "rocev2", "infiniband", "ethernet", "prio", "VL"}
)

// stackBranches is how many conditions in them do. It may only fall.
const stackBranches = 2

// longLines is how many lines outside tests have more than maxColumns columns. It may only
// fall.
const (
	maxColumns = 120
	longLines  = 1077
)
