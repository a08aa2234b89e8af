# Everything here needs only Go, git and make. `make` alone prints the targets.

BIN := $(CURDIR)/bin
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.15.0

# Like releases and operators, see docs/adr/0002-no-cgo.md.
export CGO_ENABLED ?= 0

# Without symbols the binaries are a quarter smaller; stack traces stay. For a
# debugger: make build LDFLAGS=
LDFLAGS ?= -s

# Of a first build, a tenth would go into collecting the compiler's garbage, and
# with few cores as much into threads that get into each other's way.
FEW_CORES := $(filter 1 2 3 4,$(shell getconf _NPROCESSORS_ONLN))
BUILD := env GOGC=off GOMEMLIMIT=2GiB $(FEW_CORES:%=GOMAXPROCS=1) go build $(FEW_CORES:%=-p %) -ldflags "$(LDFLAGS)" -o $(BIN)/ ./cmd/mysdk ./cmd/mysdk-cluster

# Tests that need the control plane take this binary instead of building one.
CLUSTER := MYSDK_CLUSTER_BIN=$(BIN)/mysdk-cluster

# Tests are short programs that allocate much, and start the compiler and the
# linker: without most of the garbage collection they take a fifth to a third less.
GC := GOGC=400

# The expensive tests spend half of their time waiting for other processes.
PARALLEL := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# What the race detector covers: compiling all of Kubernetes a second time for
# it would take longer than everything else together.
RACE := ./internal/clierr ./internal/filelock ./internal/fileset ./internal/host/... ./internal/project ./internal/localrun/... ./internal/cluster/... \
	./internal/controlplane/hostpods ./internal/controlplane/recorder ./internal/ui ./internal/explore ./internal/recording/... ./internal/hostprogram

# Containers need root, whose caches are to be this user's.
ROOT := $(if $(filter-out 0,$(shell id -u)),sudo -n -E env "PATH=$$PATH" "HOME=$$HOME")

FUZZTIME ?= 30s
KILL_ROUNDS ?= 50

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1:/p' $(MAKEFILE_LIST) | while IFS=: read -r name what; do printf '  %-12s %s\n' "$$name" "$$what"; done

.PHONY: build
build: ## Build mysdk and mysdk-cluster into bin/
	$(BUILD)

.PHONY: quickstart
quickstart: ## Build, then do a newcomer's whole first session for real: init, create api, run local, scale, heal, delete
	go test -vet=off -count=1 -timeout 60m -v -run '^TestQuickstart$$' ./internal/quickstart -args -bin $(BIN) $(BUILD)

.PHONY: test
test: build ## Run what every change must pass: everyday lane, control plane, compiled scaffolds, quickstart
	$(CLUSTER) $(GC) go test -vet=off -timeout 40m -shuffle=on -parallel $(PARALLEL) ./...
	@$(MAKE) --no-print-directory quickstart

.PHONY: e2e
e2e: build ## Try mysdk on a node that runs containers (Linux, root, Debian's containerd; see internal/e2e)
	$(ROOT) MYSDK_E2E=1 go test -timeout 40m -v ./internal/e2e

.PHONY: short
short: ## Run the everyday tests: no cluster, no network, under a minute
	$(GC) go test -vet=off -short ./...

.PHONY: race
race: ## Run the race detector, where there is the C compiler that it needs
	@if command -v "$$(go env CC)" >/dev/null; then \
		echo "go test -race -short"; CGO_ENABLED=1 go test -race -short $(RACE); \
	else echo "no C compiler: the race detector is left out"; fi

.PHONY: test-all
test-all: build ## Run all tests, including the slow ones that 'make test' leaves out
	MYSDK_NIGHTLY=1 $(CLUSTER) $(GC) go test -vet=off -timeout 150m -parallel $(PARALLEL) ./...
	@$(MAKE) --no-print-directory quickstart

# e2e comes last: root owns what it leaves in the build cache.
.PHONY: nightly
nightly: ## Run what takes hours: test-all, kill tests of KILL_ROUNDS (50) each, race, fuzz, bench, vulnerabilities, release build, e2e
	@rc=0; for lane in test-all kill race fuzz bench vulncheck snapshot e2e; do $(MAKE) --no-print-directory $$lane || rc=1; done; exit $$rc

.PHONY: kill
kill: build ## Run the kill tests, KILL_ROUNDS (50) rounds each
	MYSDK_NIGHTLY=1 MYSDK_KILL_ROUNDS=$(KILL_ROUNDS) $(CLUSTER) go test -timeout 120m -run '^TestKill' \
		$$(grep -rl --include='*_test.go' '^func TestKill' cmd internal | xargs -n1 dirname | sort -u | sed 's|^|./|')

.PHONY: lint
lint: ## Run golangci-lint, go vet and staticcheck among others
	go run $(GOLANGCI_LINT) run

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the binaries call
	go run $(GOVULNCHECK) ./cmd/...

.PHONY: snapshot
snapshot: ## Check .goreleaser.yaml, and build the binaries for this machine with it into dist/
	go run $(GORELEASER) check
	go run $(GORELEASER) build --snapshot --clean --single-target

.PHONY: release
release: ## Build and sign the archives of the tag that is checked out, and draft its release
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run $(GORELEASER) release --clean

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s)
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' cmd internal plugins | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -h -o '^func Fuzz[A-Za-z0-9]*' $$dir/*_test.go | sed 's/func //'); do \
			echo "./$$dir $$target"; go test ./$$dir -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; \
		done; \
	done

.PHONY: bench
bench: build ## Measure speed and memory
	$(CLUSTER) go test -run '^$$' -bench . -skip '^Benchmark(MemoryOf|Explore)' -benchtime 5x ./...
	$(CLUSTER) go test -run '^$$' -bench '^BenchmarkMemoryOfBundles$$' -benchtime 20x ./internal/olm/run
	$(CLUSTER) go test -run '^$$' -bench '^BenchmarkMemoryOfOLM$$' -benchtime 10x ./internal/olm/run

.PHONY: explore-bench
explore-bench: build ## Explore the scaffolded operator, as it is and with 30 faults planted, an hour; MYSDK_TEST_EXPLORE="DIR FLAGS" explores another project too
	$(CLUSTER) go test ./cmd -run '^$$' -bench '^BenchmarkExplore' -benchtime 1x -timeout 3h

.PHONY: test-times
test-times: build ## Run all tests and print their CPU-seconds by package
	$(CLUSTER) $(GC) go run ./internal/figures -times ./...

.PHONY: figures
figures: build ## Print the project's figures beside their goals: code, test lanes, build from an empty cache
	$(CLUSTER) $(GC) go run ./internal/figures

.PHONY: update
update: build ## Rewrite golden trees, scripts and the reference from what the code does
	go test ./cmd -run 'TestGolden|TestReference|TestScripts' -short -update
	go test -short ./internal/bundle ./internal/chart ./internal/grafana ./internal/ui -update

.PHONY: baseline
baseline: ## Keep today's scaffold as that of VERSION, for upgrades from it: before a release
	go test ./internal/upgrade -run TestBaseline_Keep -v -baseline "$(VERSION)"

.PHONY: clean
clean: ## Remove what build made
	rm -rf $(BIN)
