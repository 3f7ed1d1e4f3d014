# The everyday verbs. Logic lives in cargo and in `xtask`; a recipe here is a line or two.
#
# No cargo command says `-p`: cargo chooses the features of a dependency from the packages that are named, so `-p x` would build
# many crates a second time. `--bin x` alone names them all and then builds what x needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
# Extra flags for every cargo command; CI says `--locked`.
CARGO_FLAGS ?=
# Arguments for the program behind `run`, `bench`, `crash`, `test` and `image`: make run ARGS=--once
ARGS ?=
# A provider as another repository would have it; its lock file follows ours.
EXAMPLE := examples/machine-api-provider-example/Cargo.toml
XTASK := $(CARGO) run $(CARGO_FLAGS) --bin xtask --

.PHONY: help
help: ## list the verbs (default)
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: programs ## a real Kubernetes API with sample objects and the controllers, until Ctrl-C (ARGS=--once: prove it and exit)
	@$(CARGO) run $(CARGO_FLAGS) --bin machinist -- playground $(ARGS)

.PHONY: test
test: tools ## every test, binaries side by side; the control plane and moto are fetched or built on the first run
	CARGO_FLAGS="$(CARGO_FLAGS)" $(XTASK) test $(ARGS)

.PHONY: build
build: ## the release binary
	$(CARGO) build $(CARGO_FLAGS) --release --bin machinist

.PHONY: lint
lint: ## formatting, clippy, docs, dependency policy, and the checks of xtask; warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(CARGO_FLAGS) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(CARGO_FLAGS) --workspace --no-deps --document-private-items
	$(CARGO) clippy --locked --manifest-path $(EXAMPLE) --target-dir target --all-targets -- -D warnings
	$(XTASK) check

.PHONY: fmt
fmt: ## format the code and write the generated files anew
	$(CARGO) fmt --all
	$(CARGO) metadata --format-version 1 --manifest-path $(EXAMPLE) >/dev/null
	$(XTASK) generate

.PHONY: vet
vet: ## type-check every target
	$(CARGO) check $(CARGO_FLAGS) --workspace --all-targets

.PHONY: image
image: ## the container image, with docker, podman or buildah
	$(XTASK) image $(ARGS)

.PHONY: bench
bench: tools ## ratios against a limit measured in the same run, into target/bench/*.json
	$(CARGO) build $(CARGO_FLAGS) --release --bin machinist --bin machinist-bench
	$(CARGO) run $(CARGO_FLAGS) --release --bin machinist-bench -- $(ARGS)

.PHONY: crash
crash: tools ## every crash point with every fault (`make test` takes a sample)
	MACHINIST_CRASH=all $(CARGO) test $(CARGO_FLAGS) --workspace --test crash -- --nocapture $(ARGS)

.PHONY: catalogue
catalogue: ## ask EC2 (or what AWS_ENDPOINT_URL names) for its instance types and write the built-in list anew
	$(CARGO) run $(CARGO_FLAGS) --quiet --bin machinist -- catalogue --generate > target/instance-types.tsv
	mv target/instance-types.tsv crates/aws-spec/data/instance-types.tsv

.PHONY: clean
clean: ## remove what was built here; the control plane's own cache stays
	$(CARGO) clean

# === not verbs ===

# What `run` cannot do without; the playground asks no AWS, so it needs no moto.
.PHONY: programs
programs: TOOLS := $(CARGO) go
programs: check-tools

# The tests fetch everything else by themselves.
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
	  echo "  python3  runs moto, the AWS of the tests, in a virtual environment: your system's package" >&2; \
	  exit 1; \
	fi
