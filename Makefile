# Waymark: `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps build release static install uninstall test service demo examples embed docs api pictures bench growth interop hostile attack oracle upgrade images fuzz mutants tsan asan format lint vectors clean simulate soak kill pause full descriptors damage clock partitions sync stop

SOURCES := Package.swift Sources Tests $(wildcard examples)
# Tests that hang are stopped, and say so, rather than holding everything up.
TEST_SECONDS ?= 1200
# Tests with real sockets and processes keep real deadlines. Beside the searches of small worlds, which take both
# cores for a minute, or beside one another, they would wait for their turn until the other end has given up: so they
# run by themselves, one kind after the other.
SOCKET_TESTS := ^TransportTests\.
NODE_TESTS := ^(WaymarkTests|CommandTests)\.
PROCESS_TESTS := ^ProcessTests\.

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

# Faults of real processes are for the optimised program.
FAULTS := WAYMARK=$(CURDIR)/.build/release/waymark Tests/Faults/run

deps: ## install the headers of SQLite and libsodium if they are missing
	@.ci/deps

build: deps ## build everything, with debug information
	swift build

release: deps ## build the optimised command: .build/release/waymark
	swift build -c release --product waymark

static: deps ## the same with Swift's own library in it, for machines without Swift: .build-static/release/waymark
	swift build -c release --product waymark --static-swift-stdlib --scratch-path .build-static

# As packagers know them: PREFIX is where it will be, DESTDIR stands before it while a package is made.
PREFIX ?= /usr/local
DESTDIR ?=
BINARY ?= .build-static/release/waymark
INSTALLED := $(DESTDIR)$(PREFIX)
PAGES := share/man/man1/waymark.1 share/bash-completion/completions/waymark share/zsh/site-functions/_waymark \
  share/fish/vendor_completions.d/waymark.fish
DOCUMENTS := README.md LICENSE SECURITY.md

# It builds nothing: it is run as root, and what root builds and runs should not be files of a user.
install: ## install waymark, its manual page and completions, after make static: PREFIX=/usr/local DESTDIR=
	@test -x $(BINARY) || { echo 'There is no $(BINARY). Next: make static, without root; then make install' >&2; exit 1; }
	install -d $(INSTALLED)/bin $(addprefix $(INSTALLED)/,$(dir $(PAGES))) $(INSTALLED)/share/doc/waymark
	install -m 755 $(BINARY) $(INSTALLED)/bin/waymark
	@if command -v strip >/dev/null; then strip $(INSTALLED)/bin/waymark; fi
	$(BINARY) manual >$(INSTALLED)/share/man/man1/waymark.1
	$(BINARY) completions bash >$(INSTALLED)/share/bash-completion/completions/waymark
	$(BINARY) completions zsh >$(INSTALLED)/share/zsh/site-functions/_waymark
	$(BINARY) completions fish >$(INSTALLED)/share/fish/vendor_completions.d/waymark.fish
	chmod 644 $(addprefix $(INSTALLED)/,$(PAGES))
	install -m 644 $(DOCUMENTS) $(INSTALLED)/share/doc/waymark
	@echo 'Installed. Next: waymark init, or waymark join TICKET; then waymark service install'

uninstall: ## take away what install has put there; stores and keys stay: PREFIX=/usr/local DESTDIR=
	rm -f $(INSTALLED)/bin/waymark $(addprefix $(INSTALLED)/,$(PAGES))
	rm -f $(addprefix $(INSTALLED)/share/doc/waymark/,$(DOCUMENTS))
	@rmdir $(INSTALLED)/share/doc/waymark 2>/dev/null || true

test: deps ## build and run all tests, those of the two feature builds among them
	swift build --build-tests
	swift build --product waymark --traits AllFeatures --scratch-path .build-allfeatures
	swift build --product waymark --traits MockPurchases --scratch-path .build-mock
	timeout $(TEST_SECONDS) swift test --skip-build --skip '$(SOCKET_TESTS)|$(NODE_TESTS)|$(PROCESS_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build --filter '$(SOCKET_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build --filter '$(NODE_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build --filter '$(PROCESS_TESTS)'

demo: deps ## three nodes on this machine, told as a story
	swift build -c release --product waymark
	swift build -c release --product Demo
	@"$$(swift build -c release --show-bin-path)/Demo"

examples: release ## four stories (five devices on a network, two machines, a subscription, a lost laptop), and what embeds the node
	@for name in lan two-machines free-and-premium restore-after-loss; do examples/$$name/run || exit 1; done
	@$(MAKE) --no-print-directory embed

EMBED := swift build --package-path examples/embed --scratch-path .build-embed

embed: deps ## two programs that embed the node: an app's life, and views that watch without loops
	$(EMBED)
	@"$$($(EMBED) --show-bin-path)/Life"
	@"$$($(EMBED) --show-bin-path)/Views"

docs: build ## the library's documentation for developers, by docc, without a warning: OUT=.build/documentation
	@Tests/Docs/run $(OUT)

api: deps ## what of the library's public face is not as it was: BASE=a tag or a commit
	swift package diagnose-api-breaking-changes $(BASE) --products Waymark --products WaymarkTesting

pictures: release ## the pictures of them in the README, from what they say now
	@python3 examples/picture.py lan restore-after-loss

interop: build ## a client in Python, written from Protocol/ alone, meets a node, and then does all it should not
	@Tests/Interop/run
	@Tests/Hostile/run

hostile: build ## a hostile member at random against a circle of nodes: SEED=… STEPS=…
	@Tests/Hostile/run random $(SEED) $(STEPS)

attack: release ## fifty hostile connections, then costly sets of one member: what an honest peer feels
	@Tests/Attack/run
	@Tests/Attack/run costly

oracle: build ## five nodes against a model in Python: SEED=… STEPS=…; or HISTORIES=1000, many short ones
	@if [ -n "$(HISTORIES)" ]; then Tests/Oracle/run histories "$(SEED)" "$(HISTORIES)" "$(STEPS)"; \
	else Tests/Oracle/run $(SEED) $(STEPS); fi

simulate: deps ## a circle of simulated devices, every fault from one seed: SEED=…; or SEEDS=…, that many
	@Tests/Simulate/run "$(SEED)" "$(SEEDS)"

soak: deps ## simulated circles from new seeds for as long as there is time: MINUTES=…
	@Tests/Simulate/run soak "$(MINUTES)"

kill: release ## three nodes killed in the middle of everything, with a journal outside: KILLS=… SEED=…
	@$(FAULTS) kill $(or $(KILLS),1000) $(SEED)

pause: release ## nodes that stand still for up to LONGEST seconds and go on: CYCLES=… SEED=… LONGEST=…
	@$(FAULTS) pause $(or $(CYCLES),100) $(or $(SEED),1) $(LONGEST)

stop: release ## nodes that are told to end, at any moment: TIMES=… SEED=…
	@$(FAULTS) stop $(or $(TIMES),1000) $(SEED)

full: release ## a node's disk runs full and gets room again: CYCLES=… SEED=…
	@$(FAULTS) full $(or $(CYCLES),200) $(SEED)

descriptors: release ## a flood of connections to a node that may open few files
	@$(FAULTS) descriptors 20 32 40 64 256

damage: release ## damaged stores, logs, keys and other files at the start: CASES=… SEED=…
	@$(FAULTS) damage $(or $(CASES),1000) $(SEED)

clock: build ## clocks that jump by up to ten years: JUMPS=… SEED=…
	@Tests/Faults/run clock $(or $(JUMPS),36) $(SEED)

partitions: release ## five nodes in networks of their own, whose links fail: ROUNDS=… SEED=… SECONDS=…
	@$(FAULTS) partitions $(or $(ROUNDS),50) $(or $(SEED),1) $(SECONDS)

sync: release ## a disk that fails to keep what it is told to: CYCLES=… SEED=…
	@$(FAULTS) sync $(or $(CYCLES),100) $(SEED)

service: build ## a node under a real systemd: started, watched, started again, taken down (needs root)
	@Tests/Service/run

bench: release ## rates, latencies, bytes and memory beside a bare SQLite: ROWS=100000 MANY=1000000 ONLY=… REPORT=…
	swift build -c release --product Bench
	@bin="$$(swift build -c release --show-bin-path)"; "$$bin/Bench" --waymark "$$bin/waymark" --rows $(or $(ROWS),100000) \
	  --many $(or $(MANY),1000000) --rounds $(or $(ROUNDS),5) --pipeline ../shared/bench \
	  $(if $(ONLY),--only $(ONLY)) $(if $(REPORT),--report $(REPORT))

growth: release ## the same as records, authors and nodes grow: ONLY=records,authors,nodes RECORDS=1000,… AUTHORS=… NODES=… HOP=10 REPORT=…
	swift build -c release --product Bench
	@bin="$$(swift build -c release --show-bin-path)"; "$$bin/Bench" growth --waymark "$$bin/waymark" \
	  $(if $(ONLY),--only $(ONLY)) $(if $(RECORDS),--records $(RECORDS)) $(if $(AUTHORS),--authors $(AUTHORS)) \
	  $(if $(NODES),--nodes $(NODES)) $(if $(HOP),--hop $(HOP)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(REPORT),--report $(REPORT))

upgrade: build ## an older program, made from this tree, in one circle with the present one
	@Tests/Upgrade/run

images: deps ## what a crash could leave of a store at every moment of what it does: WORD=… for some scenarios
	swift build -c release --product Images
	@"$$(swift build -c release --show-bin-path)/Images" $(WORD)

fuzz: deps ## feed what comes from strangers with made-up bytes: TARGET=… SECONDS=…
	@Tests/Fuzz/run "$(TARGET)" "$(SECONDS)"

mutants: deps ## planted mistakes that the simulator has to find: ONLY=… SEEDS=1000
	@SEEDS="$(SEEDS)" Tests/Mutants/run $(ONLY)

tsan: deps ## all tests under the thread sanitizer
	@Tests/Sanitizers/run thread

asan: deps ## all tests under the address sanitizer
	@Tests/Sanitizers/run address

format: ## lay out every Swift file
	swift format --in-place --recursive --parallel $(SOURCES)

lint: ## check the layout of every Swift file
	swift format lint --strict --recursive --parallel $(SOURCES)

vectors: ## make the test vectors again (needs python3 with venv)
	.ci/vectors

clean: ## remove what was built
	rm -rf .build .build-static .build-allfeatures .build-mock .build-fuzz .build-tsan .build-asan .build-mutants
