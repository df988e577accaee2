# Everyday commands; CONTRIBUTING.md says when to use which.
# make test needs Go (go.mod says which) and, for the race detector, a C
# compiler, which it installs with apt-get where it may.

GO          ?= go
STATICCHECK := $(GO) tool -modfile=tools/go.mod staticcheck
RACE_PKGS   := ./internal/sim ./internal/build ./internal/run
BENCH       ?= Permutation
FUZZTIME    ?= 10s

.PHONY: test deps lint unit race bench fidelity fuzz-short golden

# Everything a change must pass. Lint comes first because it is quickest to
# fix; the tests come last so that their lines end the output.
test: lint race unit

# The race detector needs cgo, and cgo needs a C compiler.
deps:
	@if ! command -v gcc >/dev/null && ! command -v clang >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev; \
		else \
			echo "make race needs a C compiler: apt-get install gcc libc6-dev, or run make lint unit" >&2; exit 1; \
		fi; \
	fi

lint:
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './.git/*')); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:" $$unformatted >&2; exit 1; fi
	$(GO) vet ./...
	cd oracle && $(GO) vet ./...
	$(STATICCHECK) ./...

unit:
	$(GO) test -timeout 20m ./...

# Where goroutines run, with small networks: -short leaves the large ones out.
race: deps
	CGO_ENABLED=1 $(GO) test -race -short -timeout 20m $(RACE_PKGS)

bench:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 60m ./internal/...

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
