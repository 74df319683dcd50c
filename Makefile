# Two commands matter: `make run` and `make test`. `make help` lists the rest.
# Everything here is a thin layer over the presets in CMakePresets.json.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
DATA ?= ./dlo-data
LISTEN ?= 127.0.0.1:8080
FUZZ_SECONDS ?= 60
TESTS ?= .

ctest = ctest --test-dir build/$(1) --output-on-failure -j $(JOBS) --no-tests=error $(CTEST_ARGS)
configure = cmake --preset $(1) $(2) >build-$(1).log 2>&1 || { cat build-$(1).log; exit 1; }
# build,<preset>[,<targets>[,<options of the first configuration>]]
build = { [ -f build/$(1)/build.ninja ] || $(call configure,$(1),$(3)); } \
        && rm -f build-$(1).log && cmake --build build/$(1) -j $(JOBS) $(if $(2),--target $(2))
# `make run` configures the program alone; whoever measures wants the rest, too.
build_bench = { $(call configure,release); } && $(call build,release,$(1))

.DEFAULT_GOAL := help
.PHONY: run test bench bench-peers instructions lint asan tsan clang fuzz soak help format check

run: ## install what is missing, build, start the office on ./dlo-data (DATA=, LISTEN=)
	@scripts/setup build
	@$(call build,release,dlo,-DDLO_BUILD_BENCH=OFF -DDLO_BUILD_TESTS=OFF)
	@exec build/release/dlo serve --data $(DATA) --listen $(LISTEN)

test: ## install what is missing, build, run every test (TESTS=regex for some)
	@scripts/setup base
	@$(call build,dev)
	@$(call ctest,dev) -R '$(TESTS)'

bench: ## the benchmarks, optimised; one file per claim
	@scripts/setup base bench
	@$(call build_bench,benchmarks)
	@scripts/bench build/release

bench-peers: ## our queue beside redis, RabbitMQ, NATS, ...: ratios and goals (ROUNDS=5)
	@scripts/setup base bench peers
	@cmake --preset release -DDLO_BUILD_PEERS=ON >/dev/null
	@$(call build,release,peers)
	@bench/peers/run

instructions: ## what a message of the queue costs in instructions (callgrind); fails above 6000
	@scripts/setup base bench
	@$(call build_bench,queue_bench)
	@scripts/instructions build/release

check: ## layers, coroutine shapes, house style, formatting: seconds
	@scripts/setup base lint
	@scripts/check

lint: ## the checks above plus clang-tidy (LINT=all for every file)
	@scripts/setup base lint
	@scripts/check
	@$(call build,dev)
	@scripts/tidy build/dev $(LINT)

format: ## format every source file in place
	@scripts/setup lint
	@scripts/format

asan: ## every test with the second compiler, under address and undefined-behaviour sanitizers
	@scripts/setup base lint fuzz
	@$(call build,asan)
	@$(call ctest,asan) -R '$(TESTS)'

# The first two open a journal thousands of times, in one thread: ten minutes and more that show nothing here.
# The third bounds the memory of a server, which the sanitizer multiplies. Sabotages break one rule each of a
# suite that runs here unbroken.
unthreaded = EveryFlippedBitOfASealedJournal|WhicheverByteOfAJournalIsFlipped|HostileClientsCostOthersNothing|Saboteur
tsan: ## the tests of everything that has threads, under the thread sanitizer
	@scripts/setup base
	@$(call build,tsan,threaded)
	@$(call ctest,tsan) -L threads -E '$(unthreaded)' -R '$(TESTS)'

clang: ## the whole tree with the second compiler and no sanitizer, and its tests
	@scripts/setup base lint
	@$(call build,clang)
	@$(call ctest,clang) -R '$(TESTS)'

fuzz: ## each fuzzer for FUZZ_SECONDS (60)
	@scripts/setup base fuzz
	@$(call build,fuzz,fuzzers)
	@scripts/fuzz build/fuzz $(FUZZ_SECONDS)

soak: ## the long form of the crash and soak tests: an hour and more; one more where instructions are not counted
	@scripts/setup base bench
	@$(call build_bench,crash soak)
	@DLO_SOAK=1 $(call ctest,release) -L soak
	@scripts/soak-instructions build/release

help: ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
