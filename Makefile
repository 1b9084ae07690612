# Outercore: every chore, by name. `make help` lists them. Needs a Rust toolchain, Python 3 and make; everything else is fetched.

CARGO  ?= cargo
PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),target)

# Tests, lints and the Python module that is tested share one profile (see Cargo.toml), so that no dependency is compiled twice.
PROFILE := checked
VENV    := $(TARGET)/venv

.DEFAULT_GOAL := help
.PHONY: help build demo test lints test-rust package test-python deny bench bench-basc bench-graphene bench-external bench-algorithms bench-papers bench-small model fault attack sanitize fuzz soak budgets plan-truth golden python clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

build: ## The command: target/release/outercore
	$(CARGO) build --release --locked -p outercore-cli

demo: build ## A tour: Debian's packages ranked, then a graph larger than its memory budget
	scripts/demo.sh

# Lints and the Python package are made at the lowest priority beside the tests, which leave a quarter of two cores idle. They wait until these are compiled, and share build scripts and macros with them.
BESIDE := $(TARGET)/beside.log
test: ## Formatting, lints, every test, licences and advisories
	$(CARGO) fmt --all --check
	@mkdir -p $(TARGET)
	@{ sleep 10; exec nice -n 19 $(MAKE) --no-print-directory lints package; } >$(BESIDE) 2>&1 & beside=$$!; trap "kill $$beside 2>/dev/null" EXIT; \
	$(MAKE) --no-print-directory test-rust && { wait $$beside || { cat $(BESIDE); exit 1; }; }
	@cat $(BESIDE)
	$(RUN_PYTHON)
	@$(MAKE) --no-print-directory deny

lints: ## What clippy finds is an error
	$(CARGO) clippy --locked --profile $(PROFILE) --workspace --all-targets -- -D warnings

test-rust: ## Every test of the Rust crates
	$(CARGO) test --locked --profile $(PROFILE) --workspace

package: ## The Python package with assertions, and what tests it, in target/venv
	scripts/python.sh --tests --profile $(PROFILE) $(VENV)

RUN_PYTHON = @[ ! -x $(VENV)/bin/pytest ] || { $(VENV)/bin/mypy && $(VENV)/bin/pytest -q; }
test-python: package ## Types and tests of the Python package
	$(RUN_PYTHON)

deny:
	@if ! $(CARGO) deny --version >/dev/null 2>&1; then echo 'SKIPPED: licences and advisories (cargo-deny is not installed: cargo install cargo-deny)'; \
	else $(CARGO) deny check bans licenses sources && \
	if $(CARGO) deny fetch db >/dev/null 2>&1; then $(CARGO) deny check advisories; else echo 'SKIPPED: advisories (their database cannot be fetched)'; fi; fi

bench: build ## The benchmarks, cold and inside a memory limit (an hour; RECORD=1 keeps the table in docs/benchmarks)
	scripts/bench.sh $(if $(RECORD),--record)

bench-graphene: ## Graphene's techniques on and off, cold (root, half an hour; ONLY=blocks for one section)
	scripts/bench_graphene.sh $(if $(ONLY),--only $(ONLY))

bench-external: build ## Fully-external techniques on and off, cold (root, half an hour; SCALE=24, DATA=FOLDER of real graphs)
	$(PYTHON) scripts/bench_external.py --binary $(TARGET)/release/outercore --folder $(or $(OUTERCORE_BENCH_DIR),$(TARGET)/bench-external) --scale $(or $(SCALE),24) $(if $(DATA),--data $(DATA))

model: ## Where threads wait for each other, under a model checker: every interleaving of a few threads
	RUSTFLAGS='--cfg outercore_model' $(CARGO) test --locked --profile $(PROFILE) -p outercore-testing --test models --target-dir $(TARGET)/model -- --skip ::tests::

fault: export OUTERCORE_TEST_ALL = 1
fault: model ## Errors and delays at every operation and system call, power losses, refused memory, kills, damage, failing disks (root for some), mutated inputs
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-graph --test build_faults --test killed --test hostile --test crash
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-interchange --test crash
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-algorithms --test run_faults --test damage --test bits
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-cli --test syscalls --test allocations --test changes --test tampered -- --nocapture
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-fuzzing
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-cli --test concurrent
	$(CARGO) build --locked --profile $(PROFILE) -p outercore-cli
	$(PYTHON) scripts/fault_disks.py --binary $(TARGET)/$(PROFILE)/outercore
	$(PYTHON) scripts/fault_uml.py --binary $(TARGET)/$(PROFILE)/outercore

attack: build ## The command from outside: hostile input, damage, budgets, signals, foreign files, any words; CASES=10000 SEED=1
	$(PYTHON) scripts/attack --binary $(TARGET)/release/outercore --cases $(or $(CASES),10000) --seed $(or $(SEED),1)

SANITIZED := RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=address --cfg outercore_asan' $(CARGO) test --locked --profile sanitized \
	--target $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p') --target-dir $(TARGET)/sanitized
sanitize: export OUTERCORE_TEST_CASES ?= 300
sanitize: ## Planted faults of memory, unit tests of storage and graphs, and whole commands on sound and on damaged graphs, under the address sanitizer; faults and commands under valgrind too
	$(SANITIZED) -p outercore-testing --test watched
	$(SANITIZED) -p outercore-graph --lib
	$(SANITIZED) -p outercore-storage --lib -- --skip this_process_has_memory
	$(SANITIZED) -p outercore-cli --test tampered -- --nocapture
	@if ! valgrind --version >/dev/null 2>&1; then echo 'SKIPPED: valgrind is not installed'; \
	else export OUTERCORE_TEST_WRAPPER='valgrind --quiet --error-exitcode=99' && \
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-testing --test watched planted && \
	$(CARGO) test --locked --profile $(PROFILE) -p outercore-cli --test tampered -- --nocapture; fi

fuzz: export RUSTC_BOOTSTRAP = 1
fuzz: ## Every fuzz target under libFuzzer for SECONDS=30 each, with what it found kept in target/fuzz (SANITIZER=address; needs cargo-fuzz)
	for name in $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs))); do mkdir -p $(TARGET)/fuzz/corpus/$$name && \
	$(CARGO) fuzz run --release --sanitizer $(or $(SANITIZER),none) --target-dir $(abspath $(TARGET))/fuzz $$name $(abspath $(TARGET)/fuzz/corpus)/$$name $(CURDIR)/crates/fuzzing/corpus/$$name -- \
	-max_total_time=$(or $(SECONDS),30) -max_len=3000 -len_control=0 -timeout=20 -rss_limit_mb=3000 -malloc_limit_mb=300 || exit 1; done

bench-algorithms: build ## Every algorithm on RMAT of scale 22, in memory and with a quarter of the graph, cold (SCALE=22; ten minutes)
	$(PYTHON) scripts/bench_algorithms.py --binary $(TARGET)/release/outercore --dir $(or $(OUTERCORE_BENCH_DIR),$(TARGET)/bench) $(if $(SCALE),--scale $(SCALE))

bench-papers: ## The papers' experiments in our form, a chapter of docs/papers.md each, cold (root, hours; ONLY=async, graphene, external or basc; of async SECTION=bfs SCALE=20 GRAPH=OTHER.oc:SOURCE; of basc SECTION=selections DATA=FOLDER of real graphs)
	$(if $(filter async,$(or $(ONLY),async)),scripts/bench_async.sh $(if $(SECTION),--only $(SECTION)) $(if $(SCALE),--scale $(SCALE)) $(addprefix --graph ,$(GRAPH)))
	$(if $(filter graphene,$(or $(ONLY),graphene)),$(MAKE) bench-graphene ONLY=$(SECTION))
	$(if $(filter external,$(or $(ONLY),external)),$(MAKE) bench-external)
	$(if $(filter basc,$(or $(ONLY),basc)),$(MAKE) bench-basc)

bench-basc: build ## The static cache and the orders against page caches of the same memory (root for some, an hour or more; SECTION=selections SCALE=20 DATA=FOLDER of real graphs)
	$(PYTHON) scripts/bench_basc.py --binary $(TARGET)/release/outercore --dir $(or $(OUTERCORE_BENCH_DIR),$(TARGET)/bench)/basc $(if $(SCALE),--scale $(SCALE)) $(if $(DATA),--data $(DATA)) $(if $(SECTION),--only $(SECTION))

soak: build ## Random graphs through every model and option against references and each other, products of 268 M edges; MINUTES=10 SEED=1
	PROPTEST_CASES=$(or $(CASES),20000) $(CARGO) test --locked --profile $(PROFILE) --lib -q
	OUTERCORE_TEST_ALL=1 $(CARGO) test --locked --profile $(PROFILE) -p outercore-graph -p outercore-ordering -p outercore-algorithms --test memory --test orders --test matrix --test published --test external --test seraph --test sub_blocks --test weighted_passes
	OUTERCORE_RANDOM_GRAPHS=2000 $(CARGO) test --locked --profile $(PROFILE) -p outercore-algorithms --test matrix random_graphs
	OUTERCORE_KRONECKER=12 $(CARGO) test --locked --release -p outercore-algorithms --test kronecker
	$(PYTHON) scripts/soak.py --binary $(TARGET)/release/outercore --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

budgets: build ## Every algorithm, model and shape of graph in ten budgets each: none may be exceeded, and more memory may not be slower (twenty minutes; SCALE=18 SHARE=1/4 ONLY=bfs ALL=1)
	$(PYTHON) scripts/budgets.py --binary $(TARGET)/release/outercore --folder $(or $(OUTERCORE_BENCH_DIR),$(TARGET)/bench)/budgets $(if $(SCALE),--scale $(SCALE)) $(if $(SHARE),--share $(SHARE)) $(if $(ONLY),--only $(ONLY)) $(if $(ALL),--all)

plan-truth: build ## How often memory, bytes and scratch are within a fifth of what plans say: every algorithm and model on graphs of many shapes (half an hour; SCALE=18 DATA=FOLDER of real graphs ONLY=bfs)
	$(PYTHON) scripts/plan_truth.py --binary $(TARGET)/release/outercore --folder $(or $(OUTERCORE_BENCH_DIR),$(TARGET)/bench)/plans $(if $(SCALE),--scale $(SCALE)) $(if $(DATA),--data $(DATA)) $(if $(ONLY),--only $(ONLY)) --worst 10

bench-small: build ## Small graphs in memory, every algorithm against igraph and NetworKit, where PYTHON has them (two minutes; DATA=FOLDER of real graphs)
	$(PYTHON) scripts/bench_small.py --binary $(TARGET)/release/outercore --folder $(or $(OUTERCORE_BENCH_DIR),$(TARGET)/bench)/small $(if $(DATA),--data $(DATA))

golden: build ## The golden graphs of a new version of the format, for the tests to hold on to; VERSION=2
	scripts/golden.sh $(VERSION)

python: ## The Python package, in target/venv
	scripts/python.sh --profile release $(VENV)

clean: ## Everything that was made
	$(CARGO) clean
	rm -rf target
