# The node's verbs. `make` alone lists them. `make run` and `make test` install what they need.

SHELL := /bin/bash
# Some hundred processes start here: each module is compiled once, whatever the machine's habit is.
export PYTHONDONTWRITEBYTECODE :=
.DEFAULT_GOAL := help
ifneq ($(AT_ONCE),yes)
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PYTHON := $(BIN)/python
PYTEST := $(PYTHON) -m pytest
# A stamp tells what was done last; it goes away with the environment that it speaks of.
STAMPS := $(VENV)/stamps
CLIENTS := tests/clients
# Each is what a user would have: a project with packages of its own.
NPM_PROJECTS := $(CLIENTS) $(addprefix $(CLIENTS)/projects/,hardhat2 hardhat3)
MIGRATIONS := $(wildcard */migrations/*.py)
NATIVE_SOURCES := $(wildcard native/Cargo.* native/*.toml native/src/*.rs native/src/*/*.rs)
ON_CCHAIN := tests/integration/cchain_app tests/integration/explorer_app
ON_PLATFORM := tests/integration/platform_app
UNIT_CCHAIN := tests/unit/cchain_app tests/unit/jsonrpc tests/unit/health_app tests/unit/xchain_app tests/unit/primitives
# Checks and tests must not touch the data of a node that runs in this directory.
SCRATCH := NODE_DATA_DIR=build/test-data
# One more than processors: installations wait for downloads, and tests for their servers.
TOGETHER := $(MAKE) AT_ONCE=yes --jobs=3 --output-sync=target

## Run

.PHONY: run
run: setup native tables  ## Start the node: http://127.0.0.1:9650, network 12345
	@exec $(PYTHON) manage.py runnode

.PHONY: network
network: setup native tables  ## Start five nodes of one local network, until Ctrl-C
	@exec $(PYTHON) manage.py local_network

.PHONY: setup
setup: $(STAMPS)/runtime  ## Make the virtual environment and install the locked dependencies

.PHONY: tables
tables: build/empty_database.stamp  ## Make the empty database that new data directories begin with

.PHONY: native
native: $(STAMPS)/native  ## Build the native EVM engine, where there is a Rust toolchain

## Check

.PHONY: test
test: $(STAMPS)/dev  ## Run all checks and tests, but coverage
	$(TOGETHER) setup-test
	$(TOGETHER) types lint test-native
	$(MAKE) test-unit
	$(MAKE) test-conformance
	$(MAKE) test-simulation
	$(TOGETHER) test-postgresql test-sqlite
	$(MAKE) e2e

.PHONY: lint
lint: $(STAMPS)/dev  ## Style, imports, settings, migrations, and what the project says of itself
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(SCRATCH) $(PYTHON) manage.py check --fail-level WARNING
	$(SCRATCH) $(PYTHON) manage.py makemigrations --check --dry-run
	scripts/lint_native.sh $(PYTHON)
	$(SCRATCH) $(PYTEST) tests/repository

.PHONY: types
types: $(STAMPS)/dev  ## Types, strictly
	$(SCRATCH) $(BIN)/mypy .

# In two halves, each of which collects its own tests only, because collecting takes a quarter of the time.
.PHONY: test-unit test-unit-cchain test-unit-others
test-unit: $(STAMPS)/dev native  ## Rules alone: no database, no network
	$(TOGETHER) test-unit-cchain test-unit-others

test-unit-cchain: $(STAMPS)/dev native
	$(SCRATCH)/unit-cchain $(PYTEST) $(UNIT_CCHAIN)

test-unit-others: $(STAMPS)/dev native
	$(SCRATCH)/unit-others $(PYTEST) tests/unit $(patsubst %,--ignore=%,$(UNIT_CCHAIN))

# What is traced takes up to three times as long on Python 3.11, so it is no part of `test`.
.PHONY: coverage
coverage: $(STAMPS)/dev native  ## The same, and no less of the code may be run by them than before
	$(SCRATCH) $(PYTEST) tests/unit -n 2 --cov --cov-report=

.PHONY: search
search: $(STAMPS)/dev native  ## Property tests with dozens of cases for each that `test` tries; takes long
	$(SCRATCH) $(PYTEST) tests/unit tests/conformance -m hypothesis --hypothesis-profile=thorough -n 2
	$(SCRATCH) $(PYTEST) tests/simulation --hypothesis-profile=thorough -n 2
	$(SCRATCH) $(PYTEST) tests/integration/cchain_app/atomic/test_random_transfers.py --hypothesis-profile=thorough -n 2
	$(SCRATCH) $(PYTEST) tests/conformance/cchain_app/coreth/test_local_chain.py --hypothesis-profile=thorough

.PHONY: test-conformance
test-conformance: $(STAMPS)/dev native system-packages  ## Against the vectors of other implementations
	$(SCRATCH) $(PYTEST) tests/conformance -n 2

.PHONY: test-simulation
test-simulation: $(STAMPS)/dev native  ## Networks that vote, in virtual time, with every fault
	$(SCRATCH) $(PYTEST) tests/simulation -n 2

.PHONY: shares
shares: $(STAMPS)/dev native  ## Measure which share of absent and of faulty stake the votes stand (docs/network.md)
	@$(SCRATCH) DJANGO_SETTINGS_MODULE=nodeproject.settings.test $(PYTHON) -m tests.simulation.shares

.PHONY: test-integration
test-integration: $(STAMPS)/dev native system-packages  ## Services and API on SQLite, and on PostgreSQL and Redis
	$(TOGETHER) test-postgresql test-sqlite

# In parts, so that the processors are busy to the end: what begins last is the shortest.
.PHONY: test-sqlite test-sqlite-others test-sqlite-cchain test-sqlite-platform
test-sqlite: test-sqlite-others test-sqlite-cchain test-sqlite-platform

test-sqlite-others: $(STAMPS)/dev native system-packages
	$(SCRATCH)/sqlite-others $(PYTEST) tests/integration $(patsubst %,--ignore=%,$(ON_CCHAIN) $(ON_PLATFORM))

test-sqlite-cchain: $(STAMPS)/dev native system-packages
	$(SCRATCH)/sqlite-cchain $(PYTEST) $(ON_CCHAIN)

test-sqlite-platform: $(STAMPS)/dev native system-packages
	$(SCRATCH)/sqlite-platform $(PYTEST) $(ON_PLATFORM)

.PHONY: test-postgresql
test-postgresql: $(STAMPS)/dev native system-packages
	$(SCRATCH)/postgresql $(PYTHON) -m tests.servers.run $(PYTEST) tests/integration -m "not sqlite_only"

.PHONY: test-native
test-native: $(STAMPS)/runtime  ## The native engine's own tests
	scripts/test_native.sh $(PYTHON)

.PHONY: e2e
e2e: setup-test  ## Real clients against the running node
	$(SCRATCH) $(PYTEST) tests/e2e -n 3 --dist loadscope --no-loadscope-reorder  # as tests/e2e/sharing.py has it

# Some sixty megabytes, and minutes: so it is no part of `test`, which tries the fork of a geth where it is there.
.PHONY: geth
geth:  ## Build go-ethereum into build/bin, where there is a Go toolchain: a peer that a test forks
	GOBIN=$(CURDIR)/build/bin go install -trimpath github.com/ethereum/go-ethereum/cmd/geth@v1.17.10

.PHONY: soak
soak: $(STAMPS)/dev native  ## One node under mixed load for ten minutes, then for a day in virtual time (benchmarks/README.md)
	$(PYTHON) -m benchmarks.soak
	$(PYTHON) -m benchmarks.soak_day

.PHONY: soak-network
soak-network: $(STAMPS)/dev native system-packages  ## Fifty runs of five voters under load and all faults; 75 to 100 minutes
	$(SCRATCH) $(PYTHON) -m tests.e2e.soak_network

.PHONY: soak-subnets
soak-subnets: $(STAMPS)/dev native  ## Fifty chains of subnets under load, and twenty kills of their node
	$(SCRATCH) $(PYTHON) -m tests.e2e.soak_subnets

.PHONY: bench
bench: $(STAMPS)/dev native tables  ## Measure the node beside others
	$(PYTHON) -m benchmarks

.PHONY: capacity
capacity: $(STAMPS)/dev native tables system-packages  ## Measure the costs in docs/capacity.md, and compute the needs
	$(PYTHON) -m benchmarks.capacity --markdown

.PHONY: screenshots
screenshots: setup-test  ## Take the pictures in docs/images anew
	$(SCRATCH) DJANGO_SETTINGS_MODULE=nodeproject.settings.test $(PYTHON) -m tests.e2e.screenshots

.PHONY: walks
walks: $(STAMPS)/dev native  ## Count the files that requests pass (docs/architecture.md)
	@$(SCRATCH) $(PYTHON) -m tests.walks

.PHONY: fmt
fmt: $(STAMPS)/dev  ## Format the sources
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	if scripts/native_toolchain.sh; then cargo fmt --manifest-path native/Cargo.toml; fi

## Set up

.PHONY: wheel
wheel: $(STAMPS)/runtime  ## Build the wheel of all this, native engine included, into dist/
	@scripts/build_wheel.sh $(PYTHON) dist
	@ls dist/*.whl

.PHONY: wheel-of
wheel-of: $(STAMPS)/wheels
	@scripts/build_wheel.sh $(PYTHON) dist $(TARGET)
	@ls dist/*.whl

# rustc's targets of other platforms are installed by rustup; the script names those that are missing.
.PHONY: wheels
wheels: $(STAMPS)/wheels  ## Build wheels for Linux (x86-64, arm64), macOS (arm64) and other platforms, into dist/wheels/
	scripts/build_wheels.sh $(PYTHON) dist/wheels

.PHONY: setup-test
setup-test: $(STAMPS)/dev native system-packages $(NPM_PROJECTS:%=%/node_modules/.stamp)  ## Install what the tests need

.PHONY: hooks
hooks: $(STAMPS)/dev  ## Let git run ruff before each commit
	$(BIN)/pre-commit install

.PHONY: system-packages
system-packages:
	@scripts/system_packages.sh

.PHONY: lock
lock: $(STAMPS)/dev  ## Compile the lock files anew; they hold hashes and no address
	scripts/lock.sh

.PHONY: images
images:  ## Pin the images of deploy/ to the digests that their tags have now; needs docker and a registry
	scripts/pin_images.sh

.PHONY: manager
manager: tests/clients/node_modules/.stamp  ## Compile the validator manager of L1s (explorer_app/managers)
	$(PYTHON) scripts/compile_manager.py

.PHONY: licences
licences: $(STAMPS)/dev  ## List the licences of what is used anew
	$(PYTHON) scripts/licences.py

$(PYTHON):
	@scripts/make_venv.sh $(VENV)

# A lock file is complete, and settles what packages ask for too narrowly (pyproject.toml).
$(STAMPS)/runtime: requirements/runtime.lock | $(PYTHON)
	$(PYTHON) -m pip install --require-hashes --no-deps -r $<
	@mkdir -p $(@D) && touch $@

# The versions are runtime.lock's; what it has is in here too.
$(STAMPS)/dev: requirements/dev.lock requirements/runtime.lock | $(PYTHON)
	$(PYTHON) -m pip install --require-hashes --no-deps -r $<
	@mkdir -p $(@D) && touch $(STAMPS)/runtime $@

$(STAMPS)/wheels: requirements/wheels.lock | $(STAMPS)/runtime
	$(PYTHON) -m pip install --require-hashes --no-deps -r $<
	@touch $@

$(STAMPS)/native: $(NATIVE_SOURCES) | $(STAMPS)/runtime
	@scripts/build_native.sh $(PYTHON) $@

build/empty_database.stamp: $(MIGRATIONS) requirements/runtime.lock scripts/build_empty_database.py | $(STAMPS)/runtime
	@$(PYTHON) scripts/build_empty_database.py
	@mkdir -p $(@D) && touch $@

$(NPM_PROJECTS:%=%/node_modules/.stamp): %/node_modules/.stamp: %/package-lock.json %/package.json | system-packages
	cd $* && npm ci --no-audit --no-fund
	@touch $@

.PHONY: help
help:
	@awk 'BEGIN {FS = ":.*## "} /^## / {printf "\n%s\n", substr($$0, 4)} \
	  /^[a-z0-9-]+:.*## / && !seen[$$1]++ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
