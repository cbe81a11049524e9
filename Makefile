# Waymark: `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps libcrypto build release static install uninstall deb image docs api pictures check test service package-test bonjour upgrade interop conformance schema purchases browser hostile oracle fuzz tsan asan simulate soak guided mutants planted everywhere histories images attack fault-kill fault-pause fault-stop fault-full fault-descriptors fault-damage fault-clock fault-partitions fault-sync consistency demo examples embed bench growth footprint format lint vectors clean

# Warnings are errors; see CONTRIBUTING.md.
export WAYMARK_STRICT := 1

SOURCES := Package.swift Sources Tests $(wildcard examples)
# A test run that takes longer than this is stopped and fails.
TEST_SECONDS ?= 1200
# `make test` runs the optimised program: a debug build takes several times as long. Preconditions, overflow and bounds
# checks of arrays still trap, and the sources have no `assert`; unsafe buffers are checked only by `make check` and by
# the sanitizers. A scratch path of its own, because this build differs from the released one: tests see internal
# declarations, and with DEBUG they can set the clock of the program.
TESTED := -c release -Xswiftc -enable-testing -Xswiftc -DDEBUG --scratch-path .build-test
# Tests that use sockets and processes have real deadlines. They run by themselves, one group after the other: next to
# the exhaustive searches, which use all cores for a minute, they would miss their deadlines.
SOCKET_TESTS := ^TransportTests\.
HTTP_TESTS := ^HTTPTests\.
NODE_TESTS := ^(WaymarkTests|CommandTests)\.
# If a thousand tests begin at the same time, each waits so long for its turns that it misses its deadlines. With 8 at
# once they are also done in half the time. Tests without deadlines are done soonest if fewer share the processors.
FEW_AT_ONCE := --experimental-maximum-parallelization-width 8
FEWER_AT_ONCE := --experimental-maximum-parallelization-width 4
PROCESS_TESTS := ^ProcessTests\.
# Purchases are verified in builds with the trait AppStore only, which needs libcrypto. Without it these tests run too,
# and skip what they can't do.
DEVELOPMENT_TRAITS = MockPurchases$(shell .ci/deps have-libcrypto && echo ,AppStore)
PURCHASE_TESTS := [Pp]urchase
# The groups of `make check`.
QUICK_TESTS := ^(CommandTests|EngineTests|ExchangeTests|JSONDocumentTests|MembershipTests|PlatformTests|RecordsTests|SQLiteTests|SecureChannelTests|SessionTests|SodiumTests|StorageTests|TidyTests|WireTests)\.

help: ## list the targets
	@awk '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { split($$0, part, ":.*## "); split(part[2], text, " \\| "); printf "  make %-18s %s\n", part[1], text[1]; if (text[2]) printf "%26s%s\n", "", text[2] }' Makefile

# Faults are injected into the optimised program.
FAULTS := WAYMARK=$(CURDIR)/.build/release/waymark Tests/Faults/Nodes/run

##@ Build and install

deps: ## install missing headers of SQLite and libsodium
	@.ci/deps

build: deps ## build everything with debug information
	swift build

release: deps ## build the optimised .build/release/waymark
	swift build -c release --product waymark

# Optimised for size. Sections that nothing uses are left out, equal functions are kept once, and relative relocations are
# packed, which needs glibc 2.36 or later. `.ci/static-libraries` says what the folder of libraries is for.
STATIC_LIBRARIES := $(CURDIR)/.build-static/libraries
STATIC_LINK := --gc-sections --icf=all --no-export-dynamic -z pack-relative-relocs --no-eh-frame-hdr \
  -T$(CURDIR)/.ci/static.lds

static: deps ## build one that needs only the C library, in .build-static
	.ci/static-libraries $(STATIC_LIBRARIES)
	swift build -c release --product waymark --static-swift-stdlib --scratch-path .build-static \
	  $(addprefix -Xswiftc ,-Osize -use-ld=lld -resource-dir $(STATIC_LIBRARIES) -Xclang-linker -static-libgcc) \
	  $(addprefix -Xlinker ,$(STATIC_LINK))

# The usual variables of packagers: PREFIX is the destination, DESTDIR a prefix for staging.
PREFIX ?= /usr/local
DESTDIR ?=
BINARY ?= .build-static/release/waymark
INSTALLED := $(DESTDIR)$(PREFIX)
ZSH_COMPLETIONS ?= share/zsh/site-functions
PAGES := share/man/man1/waymark.1 share/bash-completion/completions/waymark $(ZSH_COMPLETIONS)/_waymark \
  share/fish/vendor_completions.d/waymark.fish

DOCUMENTS := README.md LICENSE SECURITY.md

# Builds nothing: it runs as root, and root should not build in the directory of a user.
install: ## install it with manual and completions, after static | PREFIX=/usr/local DESTDIR=
	@test -x $(BINARY) || { echo '$(BINARY) does not exist. Next: make static (not as root), then make install' >&2; exit 1; }
	install -d $(INSTALLED)/bin $(addprefix $(INSTALLED)/,$(dir $(PAGES))) $(INSTALLED)/share/doc/waymark
	install -m 755 $(BINARY) $(INSTALLED)/bin/waymark
	@if command -v strip >/dev/null; then strip $(INSTALLED)/bin/waymark; fi
	$(BINARY) manual >$(INSTALLED)/share/man/man1/waymark.1
	$(BINARY) completions bash >$(INSTALLED)/share/bash-completion/completions/waymark
	$(BINARY) completions zsh >$(INSTALLED)/$(ZSH_COMPLETIONS)/_waymark
	$(BINARY) completions fish >$(INSTALLED)/share/fish/vendor_completions.d/waymark.fish
	chmod 644 $(addprefix $(INSTALLED)/,$(PAGES))
	install -m 644 $(DOCUMENTS) $(INSTALLED)/share/doc/waymark
	@echo 'Installed. Next: waymark init, or waymark join TICKET; then waymark service install'

uninstall: ## remove what install put there; stores and keys stay | PREFIX=/usr/local DESTDIR=
	rm -f $(INSTALLED)/bin/waymark $(addprefix $(INSTALLED)/,$(PAGES))
	rm -f $(addprefix $(INSTALLED)/share/doc/waymark/,$(DOCUMENTS))
	@rmdir $(INSTALLED)/share/doc/waymark 2>/dev/null || true

deb: static ## build a Debian package of it, in .build-static
	@.packaging/deb

image: static ## build a container image of it as an OCI archive, in .build-static
	@.packaging/image

docs: build ## build the documentation of the library with docc | OUT=.build/documentation
	@Tests/Tools/Docs/run $(OUT)

api: deps ## report breaking changes of the public API | BASE=a tag or a commit
	swift package diagnose-api-breaking-changes $(BASE) --products Waymark --products WaymarkTesting

pictures: release ## record the pictures of the README from the examples
	@python3 examples/picture.py lan restore-after-loss
	@WAYMARK=$(CURDIR)/.build/release/waymark Tests/Independent/Browser/run pictures

##@ Test

check: deps ## run the quick tests, the tidy tests and the linter
	swift build --build-tests
	timeout $(TEST_SECONDS) swift test --skip-build --filter '$(QUICK_TESTS)'
	@$(MAKE) --no-print-directory lint

libcrypto:
	@.ci/deps appstore

test: deps libcrypto ## build and run all tests
	swift build --build-tests $(TESTED)
	swift build --product waymark --traits AllFeatures --scratch-path .build-allfeatures
	swift build --build-tests --traits $(DEVELOPMENT_TRAITS) --scratch-path .build-mock
	timeout $(TEST_SECONDS) swift test --skip-build $(TESTED) $(FEWER_AT_ONCE) --skip '$(SOCKET_TESTS)|$(HTTP_TESTS)|$(NODE_TESTS)|$(PROCESS_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build $(TESTED) --filter '$(SOCKET_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build $(TESTED) --filter '$(HTTP_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build $(TESTED) $(FEW_AT_ONCE) --filter '$(NODE_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build $(TESTED) $(FEW_AT_ONCE) --filter '$(PROCESS_TESTS)'
	timeout $(TEST_SECONDS) swift test --skip-build --traits $(DEVELOPMENT_TRAITS) --scratch-path .build-mock --filter '$(PURCHASE_TESTS)'

service: build ## run a node under a real systemd (needs root)
	@Tests/Process/Service/run

package-test: deb image ## install the package in two bare Debian systems, and run the image (needs root)
	@Tests/Process/Packages/run

bonjour: deps ## let two nodes find each other through Avahi only (needs root)
	@Tests/Process/Bonjour/run

upgrade: build ## run an older build and the current one in one circle
	@Tests/Process/Upgrade/run

interop: build ## run an independent client in Python against a node
	@Tests/Independent/Interop/run
	@Tests/Independent/Hostile/run

schema: ## validate all test vectors against Protocol/waymark.cddl
	@Tests/Independent/Schema/run

purchases: ## verify the vectors of purchases with an independent verifier | TOKEN=file ROOT=der CIRCLE=hex
	@Tests/Independent/Purchase/run $(if $(TOKEN),"$(TOKEN)" $(if $(ROOT),--root "$(ROOT)") $(if $(CIRCLE),--circle "$(CIRCLE)"))

browser: build ## check the page in Chromium, as a file and live
	@Tests/Independent/Browser/run file
	@Tests/Independent/Browser/run live

# A client of another program needs no build of this one.
conformance: $(if $(TARGET),,build) ## judge a client from outside, or this node | TARGET=host:port PROFILE=reader,member,full TICKET=file LISTEN=… ONLY=…
	@Tests/Independent/Conformance/run

hostile: build ## run a random hostile member against a circle | SEED=… STEPS=…
	@Tests/Independent/Hostile/run random $(SEED) $(STEPS)

oracle: build ## compare five nodes with a model in Python | SEED=… STEPS=… HISTORIES=1000 (many short ones)
	@if [ -n "$(HISTORIES)" ]; then Tests/Independent/Oracle/run histories "$(SEED)" "$(HISTORIES)" "$(STEPS)"; \
	else Tests/Independent/Oracle/run $(SEED) $(STEPS); fi

fuzz: deps ## fuzz every parser of untrusted input | TARGET=… SECONDS=…
	@Tests/Faults/Fuzz/run "$(TARGET)" "$(SECONDS)"

tsan: deps ## run all tests under the thread sanitizer
	@Tests/Tools/Sanitizers/run thread

asan: deps ## run all tests under the address sanitizer
	@Tests/Tools/Sanitizers/run address

##@ Simulate

simulate: deps ## simulate a circle with all faults, from seeds | SEED=… SEEDS=…
	@Tests/Faults/Simulate/run "$(SEED)" "$(SEEDS)"

soak: deps ## simulate circles from new seeds until the time is up | MINUTES=…
	@Tests/Faults/Simulate/run soak "$(MINUTES)"

guided: deps ## simulate circles, varying the runs that reached rare states, until the time is up | MINUTES=… SEED=…
	@Tests/Faults/Simulate/run guided "$(MINUTES)" "$(SEED)"

mutants: deps ## check that the simulator finds planted bugs | ONLY=… SEEDS=1000 GUIDED=1
	@SEEDS="$(SEEDS)" GUIDED="$(GUIDED)" Tests/Faults/Mutants/run $(ONLY)

planted: deps ## check that tests and histories find mistakes planted in the shell | ONLY=… PART=1/4 MINUTES=15
	@Tests/Faults/Planted/run $(ONLY) $(if $(PART),--part $(PART)) $(if $(MINUTES),--minutes $(MINUTES))

everywhere: deps ## list mistakes in some modules that no unit test notices | MODULES="Control Home" SAMPLE=1000 MINUTES=30
	@python3 -B Tests/Faults/Planted/everywhere.py $(MODULES) $(if $(SAMPLE),--sample $(SAMPLE)) \
	  $(if $(MINUTES),--minutes $(MINUTES))

histories: deps ## compare random histories with a model | SEED=1 RUNS=20 STEPS=60 DEVICES=3 SIMULATED=1 TWICE=1 REPLAY=a file
	swift build -c release --product HistoryRunner
	@"$$(swift build -c release --show-bin-path)/HistoryRunner" $(if $(SEED),--seed $(SEED)) $(if $(RUNS),--runs $(RUNS)) \
	  $(if $(STEPS),--steps $(STEPS)) $(if $(DEVICES),--devices $(DEVICES)) $(if $(REPLAY),--replay $(REPLAY)) \
	  $(if $(SIMULATED),--simulated) $(if $(TWICE),--twice)

images: deps ## check every state that a crash can leave of a store | WORD=… (selects scenarios)
	swift build -c release --product Images
	@"$$(swift build -c release --show-bin-path)/Images" $(WORD)

##@ Inject faults into real nodes

attack: release ## measure an honest peer while others attack its node
	@Tests/Faults/Attack/run
	@Tests/Faults/Attack/run costly
	@Tests/Faults/Attack/run addresses
	@Tests/Faults/Attack/run quota
	@Tests/Faults/Attack/run files

fault-kill: release ## kill nodes at any moment; check them against a journal | KILLS=… SEED=…
	@$(FAULTS) kill $(or $(KILLS),1000) $(SEED)

fault-pause: release ## suspend nodes for up to LONGEST seconds | CYCLES=… SEED=… LONGEST=…
	@$(FAULTS) pause $(or $(CYCLES),100) $(or $(SEED),1) $(LONGEST)

fault-stop: release ## terminate nodes with a signal at any moment | TIMES=… SEED=…
	@$(FAULTS) stop $(or $(TIMES),1000) $(SEED)

fault-full: release ## fill the disk of a node and free it again | CYCLES=… SEED=…
	@$(FAULTS) full $(or $(CYCLES),200) $(SEED)

fault-descriptors: release ## flood a node that may open few files with connections
	@$(FAULTS) descriptors 20 32 40 64 256

fault-damage: release ## damage stores, logs, keys and other files | CASES=… SEED=…
	@$(FAULTS) damage $(or $(CASES),1000) $(SEED)

fault-clock: build ## set clocks up to ten years off | JUMPS=… SEED=…
	@Tests/Faults/Nodes/run clock $(or $(JUMPS),36) $(SEED)

fault-partitions: release ## cut and restore the links between five nodes | ROUNDS=… SEED=… SECONDS=…
	@$(FAULTS) partitions $(or $(ROUNDS),50) $(or $(SEED),1) $(SECONDS)

fault-sync: release ## run on a disk that fails to sync | CYCLES=… SEED=…
	@$(FAULTS) sync $(or $(CYCLES),100) $(SEED)

consistency: release ## judge what clients are told during faults (needs root) | MINUTES=3 SEED=… REPORT=yes (writes it into Tests/REPORT.md) OLDER=a commit from which nodes are upgraded
	@OLDER=$(OLDER) WAYMARK=$(CURDIR)/.build/release/waymark Tests/Faults/Consistency/run $(or $(MINUTES),3) $(SEED) $(if $(REPORT),--report)

##@ See it work

demo: deps ## show the whole story with three nodes
	swift build -c release --product waymark
	swift build -c release --product Demo
	@"$$(swift build -c release --show-bin-path)/Demo"

examples: release ## run the four story examples and the embedding example
	@for name in lan two-machines free-and-premium restore-after-loss; do examples/$$name/run || exit 1; done
	@$(MAKE) --no-print-directory embed

EMBED := swift build --package-path examples/embed --scratch-path .build-embed

embed: deps ## run three programs that embed a node
	$(EMBED)
	@"$$($(EMBED) --show-bin-path)/Life"
	@"$$($(EMBED) --show-bin-path)/Views"
	@"$$($(EMBED) --show-bin-path)/Packing"

##@ Measure

bench: release ## measure throughput, latency, bytes and memory | ROWS=100000 MANY=1000000 ROUNDS=5 ONLY=… FILES=100x2000000,… REPORT=…
	swift build -c release --product Bench
	@bin="$$(swift build -c release --show-bin-path)"; "$$bin/Bench" --waymark "$$bin/waymark" --rows $(or $(ROWS),100000) \
	  --many $(or $(MANY),1000000) --rounds $(or $(ROUNDS),5) --pipeline ../shared/bench \
	  $(if $(ONLY),--only $(ONLY)) $(if $(FILES),--files $(FILES)) $(if $(REPORT),--report $(REPORT))

growth: release ## measure how they grow with records, authors and nodes | ONLY=records,authors,nodes RECORDS=… AUTHORS=… NODES=…
	swift build -c release --product Bench
	@bin="$$(swift build -c release --show-bin-path)"; "$$bin/Bench" growth --waymark "$$bin/waymark" \
	  $(if $(ONLY),--only $(ONLY)) $(if $(RECORDS),--records $(RECORDS)) $(if $(AUTHORS),--authors $(AUTHORS)) \
	  $(if $(NODES),--nodes $(NODES)) $(if $(HOP),--hop $(HOP)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(REPORT),--report $(REPORT))

footprint: ## compare size, start and memory of the static program with Syncthing | LIMITS=--limits (fails if exceeded)
	@test -x $(BINARY) || { echo '$(BINARY) does not exist. Next: make static' >&2; exit 1; }
	@python3 Tests/Tools/Yardsticks/footprint.py $(BINARY) $(LIMITS)

##@ Maintain

format: ## format every Swift file
	swift format --in-place --recursive --parallel $(SOURCES)

lint: ## check the format of every Swift file
	swift format lint --strict --recursive --parallel $(SOURCES)

vectors: ## generate the test vectors (needs python3 with venv)
	.ci/vectors

clean: ## remove all build products
	rm -rf .build .build-static .build-test .build-allfeatures .build-mock .build-fuzz .build-tsan .build-asan .build-mutants .build-planted
