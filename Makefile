# The everyday commands. Logic is in cargo and in `xtask`; a recipe has a line or two.
#
# No cargo command has `-p`: cargo selects the features of dependencies by the named packages, so `-p x` would build
# many crates a second time. `--bin x` selects all packages and builds what x needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
# Extra flags for every cargo command; CI sets `--locked`.
CARGO_FLAGS ?=
# Arguments for the program behind `run`, `bench`, `crash`, `test`, `fuzz`, `soak` and `image`: make run ARGS=--once
ARGS ?=
# A provider as another repository would have it; its lock file follows this one.
EXAMPLE := examples/machine-api-provider-example/Cargo.toml
# For `machinist version`, in release builds only: it compiles the crate again at each commit. Empty outside of a clone.
MACHINIST_COMMIT ?= $(shell git describe --always --exclude='*' --abbrev=40 --dirty 2>/dev/null)
XTASK := $(CARGO) run $(CARGO_FLAGS) --bin xtask --

.PHONY: help
help: ## list the commands (default)
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: programs ## the playground: API server, simulated cloud and controllers, until Ctrl-C (ARGS=--once: check and exit)
	@$(CARGO) run $(CARGO_FLAGS) --bin machinist -- playground $(ARGS)

.PHONY: test
test: tools ## all tests, binaries side by side; the first run downloads or builds the control plane and moto
	CARGO_FLAGS="$(CARGO_FLAGS)" $(XTASK) test $(ARGS)

.PHONY: build
build: ## the release binary
	MACHINIST_COMMIT=$(MACHINIST_COMMIT) $(CARGO) build $(CARGO_FLAGS) --release --bin machinist

.PHONY: lint
lint: ## rustfmt, clippy, rustdoc and the checks of xtask; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(CARGO_FLAGS) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(CARGO_FLAGS) --workspace --no-deps --document-private-items
	$(CARGO) clippy --locked --manifest-path $(EXAMPLE) --target-dir target --all-targets -- -D warnings
	$(XTASK) check

.PHONY: fmt
fmt: ## format the code and write the generated files
	$(CARGO) fmt --all
	$(CARGO) metadata --format-version 1 --manifest-path $(EXAMPLE) >/dev/null
	$(XTASK) generate

.PHONY: vet
vet: ## type-check every target
	$(CARGO) check $(CARGO_FLAGS) --workspace --all-targets

.PHONY: image
image: ## the container image, as an OCI archive in target/image; needs no engine and no registry
	$(XTASK) image $(ARGS)

.PHONY: bench
bench: tools ## benchmarks, into target/bench/*.json
	$(CARGO) build $(CARGO_FLAGS) --release --bin machinist --bin machinist-bench
	$(CARGO) run $(CARGO_FLAGS) --release --bin machinist-bench -- $(ARGS)

.PHONY: crash
crash: tools ## every crash point with every fault (`make test` runs a sample)
	GOGC=400 MACHINIST_CRASH=all $(CARGO) test $(CARGO_FLAGS) --workspace --test crash -- --nocapture $(ARGS)

# Not in release: that would compile for longer than it runs.
.PHONY: explore
explore: ## every reachable state of larger worlds (`make test` visits small ones)
	MACHINIST_EXPLORE=1 $(CARGO) test $(CARGO_FLAGS) --workspace --lib -- --nocapture --test-threads=1 explore_ $(ARGS)

.PHONY: fuzz
fuzz: ## feed everything that reads bytes, each reader for so many minutes (ARGS, 10 by default)
	MACHINIST_FUZZ=$(or $(ARGS),10) $(CARGO) test $(CARGO_FLAGS) --workspace --lib -- fuzz_ --nocapture

.PHONY: soak
soak: tools ## 500 machines for an hour while everything goes wrong (ARGS="MINUTES MACHINES SEED")
	$(CARGO) build $(CARGO_FLAGS) --release --bin machinist --bin soak
	$(CARGO) run $(CARGO_FLAGS) --release --bin soak -- $(ARGS)

.PHONY: catalogue
catalogue: ## update the built-in instance types from EC2 (or from AWS_ENDPOINT_URL)
	$(CARGO) run $(CARGO_FLAGS) --quiet --bin machinist -- catalogue --generate > target/instance-types.tsv
	mv target/instance-types.tsv crates/aws-spec/data/instance-types.tsv

.PHONY: clean
clean: ## remove build output; the control-plane cache stays
	$(CARGO) clean

# === internal targets ===

# For `.ci/run`: see there.
.PHONY: tests
tests:
	$(CARGO) test $(CARGO_FLAGS) --no-run --workspace
	$(CARGO) test --locked --no-run --manifest-path $(EXAMPLE) --target-dir target

.PHONY: checks
checks:
	CARGO_FLAGS="$(CARGO_FLAGS)" $(XTASK) docs
	$(XTASK) check

# Required by `run`; the playground does not use AWS, so it needs no moto.
.PHONY: programs
programs: TOOLS := $(CARGO) go
programs: check-tools

# The tests get everything else themselves.
.PHONY: tools
tools: TOOLS := $(CARGO) go python3
tools: check-tools

.PHONY: check-tools
check-tools:
	@missing=; for tool in $(TOOLS); do command -v "$$tool" >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then \
	  echo "not found in PATH:$$missing" >&2; \
	  echo "  cargo    builds machinist: https://rustup.rs" >&2; \
	  echo "  go       builds etcd and kube-apiserver where they cannot be downloaded: https://go.dev/dl" >&2; \
	  echo "  python3  runs moto, the AWS of the tests: install your system's package" >&2; \
	  exit 1; \
	fi
