# Everything here needs only Go, git and make. `make` alone prints the targets.

BIN := $(CURDIR)/bin
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name what; do printf '  %-12s %s\n' "$$name" "$$what"; done

.PHONY: build
build: ## Build mysdk and mysdk-cluster into bin/
	go build -o $(BIN)/ ./cmd/mysdk ./cmd/mysdk-cluster

.PHONY: quickstart
quickstart: build ## Do a newcomer's whole first session for real: init, create api, run local, scale, heal, delete
	go run ./internal/quickstart -bin $(BIN)

.PHONY: test
test: build ## Run all tests: everyday lane, race detector, control plane, compiled scaffolds, quickstart
	go vet ./...
	MYSDK_CLUSTER_BIN=$(BIN)/mysdk-cluster go test -timeout 40m -shuffle=on ./...
	go test -race -short $(RACE)
	$(MAKE) quickstart

.PHONY: short
short: ## Run the everyday tests: no cluster, no network, under a minute
	go test -short ./...
