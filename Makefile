# Gapless: what a person types. Every target works from a fresh clone on an empty Debian 12 that
# has the Swift toolchain; what else is needed is installed by deploy/install-dependencies.

SWIFT := $(shell command -v swift 2>/dev/null || echo /opt/swift/usr/bin/swift)
export SWIFT
# What is built says so: a new commit compiles one small file again. Not GAPLESS_…: those are keys
# of the configuration.
BUILD_COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
export BUILD_COMMIT

# Warnings are errors in everything that is built here, and so in every commit.
STRICT := -Xswiftc -warnings-as-errors
# The program needs no Swift installation where it runs.
RELEASE := -c release --static-swift-stdlib $(STRICT)
LINTED := Package.swift Sources Tests

.PHONY: help run check test simulate soak faults trouble update application build release bench drills lint \
	format sanitize fuzz check-deploy client-package clean nightly dependencies

help:
	@echo 'make run       build, start with a demo conversation, name the page; Ctrl-C stops it;'
	@echo '               ORIGIN=postgres, redis or embedded says what keeps the log'
	@echo 'make check     lint, the house rules, the pure targets, the public surface and the change'
	@echo '               log: a minute, after a build'
	@echo 'make test      lint, build, all tests; ends with the numbers passed and failed'
	@echo 'make simulate  seeded worlds without end, until one breaks a promise; Ctrl-C stops it,'
	@echo '               SEEDS=30000 or SECONDS=600 ends it, FIRST=1 says where it begins'
	@echo 'make soak      two gateways for an hour, one mishap after the other, each frame judged, what'
	@echo '               they take plotted and flat; SECONDS=600 is shorter; in .build/reports/soak.*'
	@echo 'make faults    each outage and failover 20 times, kills, bad disks, storms; prints a table'
	@echo 'make trouble   what can go wrong, done to a gateway one after the other, and what it says'
	@echo '               about it; a quarter of an hour; in .build/reports/trouble.md'
	@echo 'make update    gateways of 0.1, built from the history, and of this version on one Redis'
	@echo 'make application  16 connections write to a Postgres with outages for ten minutes, beside a'
	@echo '               poller whose losses are counted; SECONDS=60 is shorter'
	@echo 'make build     everything, for debugging'
	@echo 'make release   the program alone, optimised: .build/release/gapless'
	@echo 'make bench     the load generator against the program; JSON in .build/bench-*.json'
	@echo 'make drills    storms, restarts and slow readers at scale, judged; JSON in .build/drills'
	@echo 'make lint      style, without changing anything'
	@echo 'make format    style, put right'
	@echo 'make sanitize  the gateway tests against a build with the address and leak sanitizer, then'
	@echo '               with the one for threads; KIND=address or KIND=thread is one of them'
	@echo 'make fuzz      every input from outside, invented by libFuzzer; TARGET=json is one of them,'
	@echo '               SECONDS=1800 for each; stops at a finding and says how to repeat it'
	@echo 'make nightly   seeds, soak, fuzz, faults, sanitizers, trouble and updates, each for its share'
	@echo '               of HOURS=8; CHECK=soak is one of them; a page of results in .build/nightly'
	@echo 'make check-deploy  the files of deploy/, by the tools that they are for; on a clean tree what'
	@echo '               deploy/release makes too, in an empty Debian'
	@echo 'make client-package  the JavaScript client as a tarball, with types; in .build/client-package'
	@echo 'make clean     remove what was built'

run: release
	@[ '$(ORIGIN)' != postgres ] || deploy/install-dependencies postgres
	@DEMO_UPSTREAM='$(or $(ORIGIN),$(DEMO_UPSTREAM))' deploy/demo .build/release/gapless

# What can be checked without a socket, for somebody who changes the program.
check: lint build
	@deploy/install-dependencies check
	@Tests/check

test:
	@deploy/install-dependencies test
	@STRICT='$(STRICT)' Tests/run

client-package:
	@deploy/install-dependencies test
	@deploy/client-package

# As with faults, the program is the one that is shipped.
soak: release build
	@mkdir -p .build/reports
	@SOAK_SECONDS=$(or $(SECONDS),3600) TEST_SEED=$${TEST_SEED:-$$(date +%s)} \
	    TESTED_PROGRAM=$(CURDIR)/.build/release/gapless \
	    $(SWIFT) test --skip-build $(STRICT) --filter '^SoakTests\.' >.build/reports/soak.log \
	    2>&1; status=$$?; grep -E '^(soak: |✘|↳ [^/]|✔ Test run)' .build/reports/soak.log; \
	    exit $$status

# The program is the one that is shipped; the tests around it are built for debugging. The table is
# kept beside the reports of the tests.
faults: release build
	@mkdir -p .build/reports
	@TEST_SCALE=20 TEST_SEED=$$(date +%s) TESTED_PROGRAM=$(CURDIR)/.build/release/gapless \
	    $(SWIFT) test --skip-build $(STRICT) --filter '^FaultTests\.' >.build/reports/faults.log \
	    2>&1; status=$$?; grep -E '^(faults: |✘|↳ [^/]|✔ Test run)' .build/reports/faults.log; \
	    exit $$status

# What the gateway says when something is wrong, as deploy/reference/trouble.md has it.
trouble: release
	@deploy/install-dependencies test
	@Tests/trouble .build/release/gapless

# Gateways of 0.1 are replaced by those of this version under load, and led back; 0.1 is built from
# the history of this repository, once.
update: release build
	@mkdir -p .build/reports
	@TESTED_OLD_PROGRAM=$${TESTED_OLD_PROGRAM:-$$(Tests/old-program)} \
	    TESTED_PROGRAM=$(CURDIR)/.build/release/gapless \
	    $(SWIFT) test --skip-build $(STRICT) --filter '^FaultTests\..*RollingUpdates' \
	    >.build/reports/update.log 2>&1; status=$$?; \
	    grep -E '^(faults: |✘|↳ [^/]|✔ Test run)' .build/reports/update.log; exit $$status

# As with faults, for an application that writes in its own transactions.
application: release build
	@mkdir -p .build/reports
	@APPLICATION_SECONDS=$(or $(SECONDS),600) TEST_SEED=$${TEST_SEED:-$$(date +%s)} \
	    TESTED_PROGRAM=$(CURDIR)/.build/release/gapless \
	    $(SWIFT) test --skip-build $(STRICT) --filter '^FaultTests\..*Applications' \
	    >.build/reports/application.log 2>&1; status=$$?; \
	    grep -E '^(faults: |✘|↳ [^/]|✔ Test run)' .build/reports/application.log; exit $$status

simulate: dependencies
	@SIMULATION_ENDLESS=1 SIMULATION_FIRST=$${FIRST:-$$(date +%s)} SIMULATION_SEEDS=$(SEEDS) \
	    SIMULATION_SECONDS=$(SECONDS) $(SWIFT) test -c release $(STRICT) \
	    -Xswiftc -enable-testing --filter '^SimulationTests\.EndlessTests'

build: dependencies
	@$(SWIFT) build --build-tests $(STRICT)

release: dependencies
	@$(SWIFT) build $(RELEASE) --product gapless
	@deploy/bundle-page .build/release/gapless-page

bench: release
	@for product in gapless-bench gapless-plain gapless-counted; do \
	    $(SWIFT) build $(RELEASE) --product $$product || exit 1; \
	done
	@.build/release/gapless-bench allocations --gateway .build/release/gapless-counted \
	    >.build/bench-allocations.json
	@for scenario in fanout idle pages resume apply start flat; do \
	    .build/release/gapless-bench $$scenario --repeat 5 >.build/bench-$$scenario.json \
	        || exit 1; \
	done

drills: release
	@Tests/drills .build/release/gapless

lint:
	@$(SWIFT) format lint --strict --parallel --recursive $(LINTED)

format:
	@$(SWIFT) format --in-place --parallel --recursive $(LINTED)

sanitize: dependencies
	@STRICT='$(STRICT)' KIND='$(KIND)' Tests/sanitize

# Bash counts SECONDS up by itself.
fuzz: dependencies
	@STRICT='$(STRICT)' TARGET='$(TARGET)' SECONDS_PER_TARGET='$(or $(SECONDS),1800)' Tests/fuzz

nightly: dependencies
	@deploy/install-dependencies test
	@Tests/nightly $(or $(HOURS),8) $(CHECK)

check-deploy: release
	@deploy/install-dependencies deploy
	@[ -n "$$(git status --porcelain)" ] || deploy/release >/dev/null
	@Tests/check-deploy .build/release/gapless

clean:
	@rm -rf .build

dependencies:
	@deploy/install-dependencies build
