# Everyday commands; CONTRIBUTING.md says when to use which. What make test runs
# is a Go program, for machines without make.

GO       ?= go
BASE     ?= HEAD~1
PAIRS    ?= 5
FUZZTIME ?= 10s
PKG      ?= ./internal/sim ./internal/fabric ./internal/congestion ./internal/rdma ./internal/tcp ./internal/iwarp ./internal/nic ./internal/dma \
            ./internal/collective ./internal/metrics
SAMPLE   ?= 0
WITH     ?=

.PHONY: test lint unit race quick bare long mutants oracle bench bench-pair fidelity fuzz-short golden

# Everything a change must pass.
test:
	$(GO) run ./internal/check

# The quick part of it.
quick:
	$(GO) run ./internal/check -quick

lint:
	$(GO) run ./internal/check format vet staticcheck

unit:
	$(GO) run ./internal/check test

race:
	$(GO) run ./internal/check race

# README's two commands, the second in full, in a root directory that holds a
# minimal Debian, Go and CA certificates (needs root; debootstrap is installed).
bare:
	.ci/bare

# The same tests with as many random cases as one has patience for.
long:
	HOPSCOPE_LONG=1 $(GO) test -timeout 12h ./...

# Small changes to the packages PKG that their tests should notice; WITH names
# packages whose tests see what survives, SAMPLE limits the number per package.
mutants:
	$(GO) run ./internal/mutants -sample $(SAMPLE) -with "$(WITH)" $(PKG)

# Programs that others wrote, which are installed where that is allowed;
# oracle/README.md lists them. The kernel's TCP is apart, for it needs root and fifteen
# minutes: cd oracle && HOPSCOPE_LINUX_TCP=1 go test ./linux -v.
oracle:
	$(GO) run ./internal/check oracle

# What a packet-hop costs, stack by stack: CPU time, and instructions where valgrind
# is installed.
bench:
	$(GO) run ./internal/bench

# The same of this tree and of commit BASE, in PAIRS alternated pairs.
bench-pair:
	$(GO) run ./internal/bench -pair $(BASE) -pairs $(PAIRS)

# The published cases in full, recorded under fidelity/results. Real ns-3 files
# are compared when HOPSCOPE_DATA names the folder that holds them. The program is
# built first, because only go build notes the commit.
fidelity:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
		$(GO) build -buildvcs=auto -o "$$dir/hopscope" ./cmd/hopscope && "$$dir/hopscope" fidelity --record fidelity/results

# Every fuzz target for a short while.
fuzz-short:
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

# Writes scenarios/*/golden.txt and README's sample again from what the program
# prints now. Read the difference before you commit it.
golden:
	$(GO) test ./scenarios -count=1 -run 'Golden|Readme' -update
