# One verb per job; `make` lists them. All output goes to build/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

SEEDS ?= 200
SIM ?= blob
SECONDS_EACH := $(if $(filter command% environment%,$(origin SECONDS)),$(SECONDS),30)
ROUNDS ?= 100
CRASH ?=
BENCH ?=
QUICK ?=
DATA ?= data
CLIENT ?=
CONFIG ?=
NODE ?=

ALL ?=

CODE = git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp'
# What differs from the last commit; clang-tidy takes seconds for each file.
CHANGED = { git diff --name-only --diff-filter=d HEAD -- '*.cpp'; \
  git ls-files --others --exclude-standard -- '*.cpp'; }

.PHONY: help setup configure build all serve test bench sim sim-bugs crash fuzz sanitize \
  conformance format lint checks clean

help:  ## this list
	@awk -F ':.*##' '/^[a-z-]+:.*##/ {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup:  ## install the missing Debian packages
	@scripts/setup

# The file that a successful configure leaves last.
build/build.ninja: CMakePresets.json
	@cmake --preset release
	@touch $@

configure: setup build/build.ninja

build: configure  ## the server and command line, build/moraine
	@ninja -C build moraine

all: configure
	@ninja -C build

serve: build  ## run one node: DATA=folder (default data), or CONFIG=cluster.yaml [NODE=n]
	build/moraine serve $(if $(CONFIG),--config $(CONFIG) $(if $(NODE),--node $(NODE)),--data $(DATA))

test: setup checks all  ## everything that must hold before a commit
	@scripts/run_tests build

bench: configure  ## benchmarks as ratios, to build/bench.json: [QUICK=1] [BENCH=blob|topics|tables|lanes|query]
	@ninja -C build moraine moraine_bench
	build/moraine_bench $(if $(QUICK),--quick) $(if $(BENCH),--only $(BENCH))

sim: configure  ## the simulator over SEEDS=n seeds (default 200): [SIM=blob|moves|topics|tables|node|query]
	@ninja -C build moraine_sim
	build/moraine_sim --seeds $(SEEDS) --scenario $(SIM)

sim-bugs: configure  ## show that the simulator finds every seeded bug
	@ninja -C build moraine_sim
	build/moraine_sim --bugs

crash: configure  ## kill -9 the real program under load, ROUNDS=n times (default 100): [CRASH=blob|topics|tables]
	@ninja -C build moraine moraine_crash
	$(if $(filter topics tables,$(CRASH)),,build/moraine_crash --rounds $(ROUNDS))
	$(if $(filter blob tables,$(CRASH)),,build/moraine_crash --topics --rounds $(ROUNDS))
	$(if $(filter blob topics,$(CRASH)),,build/moraine_crash --tables --rounds $(ROUNDS))

fuzz: setup  ## every fuzzer for SECONDS=n each (default 30), corpus in build/fuzz/corpus
	@cmake --preset fuzz
	@ninja -C build/fuzz fuzzers
	@scripts/run_fuzzers build/fuzz $(SECONDS_EACH)

sanitize: setup  ## all tests under the address, undefined-behaviour and thread sanitizers
	@for preset in asan tsan; do \
	  cmake --preset $$preset; \
	  ninja -C build/$$preset; \
	  scripts/run_tests build/$$preset -LE check; \
	done

conformance: build  ## real clients against the served protocols: [CLIENT=kafka|yt] [QUICK=1]
	@QUICK=$(QUICK) conformance/run $(CLIENT)

format:  ## rewrite all C++ in the style of .clang-format
	@$(CODE) | xargs clang-format-19 -i
	@$(CODE) | xargs scripts/wrap_comments

lint: checks all  ## checks, formatting, clang-tidy on changed files (ALL=1: on all)
	@$(CODE) | xargs clang-format-19 --dry-run --Werror
	@$(if $(ALL),$(CODE),$(CHANGED)) | sed -n '/_fuzz\.cpp$$/d; /\.cpp$$/p' | \
	  xargs -r -P "$$(nproc)" -n 4 clang-tidy-19 -p build --quiet --warnings-as-errors='*'
	@echo "OK: lint"

checks:  ## the house rules only: layers, style, documents
	@scripts/check_layers
	@scripts/check_style
	@scripts/check_docs

clean:  ## remove build/
	rm -rf build
