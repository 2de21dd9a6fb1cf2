# `make demo` shows the main job, `make test` passes the tests; both set themselves up on a fresh machine.
SHELL := /bin/bash
PYTHON_BIN := .venv/bin/python
# Two processes: the tests wait for devices more than they work. tests/conftest.py says what stays together.
SPREAD := -n 2 --dist loadscope --no-loadscope-reorder

.PHONY: help demo demo-down test test-slow test-unit test-lab chaos lint bench lab lab-down lab-report results setup setup-dev generate lock clean

help:
	@echo "make demo    set up, then run the main job: reservations become QoS on the lab's routers for exactly their slot"
	@echo "make test    set up, then run the tests: a case of everything"
	@echo "make test-slow  the cases that make test leaves out for their length, and new random ones"
	@echo "make lab     bring the lab's routers up and leave them up (make lab-down takes them away)"
	@echo "make lab-report  repeat the papers' experiments on the lab's routers and write var/lab-report/index.html"
	@echo "make results keep in docs/results what the last lab-report and bench showed"
	@echo "make bench   measure, print a table, write benchmarks/out/NAME.json"
	@echo "make chaos   break the lab at random for MINUTES=5, by SEED=1, and judge what its routers had"
	@echo "make lint    ruff, mypy, yamllint, ansible-lint"

setup:
	@tools/setup.sh runtime

setup-dev:
	@tools/setup.sh dev

demo: setup
	@$(PYTHON_BIN) -m lab.demo

demo-down: setup
	@$(PYTHON_BIN) -m lab.demo --down

test: setup-dev
	@$(PYTHON_BIN) -m lab requirements --install
	@$(PYTHON_BIN) -m pytest $(SPREAD) $(PYTEST_ARGS)

test-slow: setup-dev
	@$(PYTHON_BIN) -m lab requirements --install
	@$(PYTHON_BIN) -m pytest -m "slow or hypothesis" --hypothesis-profile=new $(SPREAD) $(PYTEST_ARGS)

test-unit: setup-dev
	@$(PYTHON_BIN) -m pytest tests/unit tests/property tests/golden $(PYTEST_ARGS)

test-lab: setup-dev
	@$(PYTHON_BIN) -m lab requirements --install
	@$(PYTHON_BIN) -m pytest tests/lab $(PYTEST_ARGS)

SEED ?= 1
MINUTES ?= 5
chaos: setup
	@$(PYTHON_BIN) -m lab requirements --install
	@$(PYTHON_BIN) -m lab.chaos --seed $(SEED) --minutes $(MINUTES)

lint: setup-dev
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/yamllint --strict .
	@PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/ansible-lint --offline -q

bench: setup-dev
	@$(PYTHON_BIN) -m benchmarks $(BENCH_ARGS)

lab: setup
	@.venv/bin/slotcar lab up

lab-down: setup
	@.venv/bin/slotcar lab down

# About 35 minutes; NAMES="emerge-1 qbss-1" runs some of them.
lab-report: setup
	@$(PYTHON_BIN) -m lab requirements --install
	@$(PYTHON_BIN) -m lab.experiments $(NAMES)

# What `make lab-report` and `make bench` measured last, into docs/results.
results: setup
	@$(PYTHON_BIN) -m lab.results

# What is in the repository for editors and readers, out of the code; tests hold it equal.
generate: setup-dev
	@.venv/bin/slotcar schema reservation > schemas/reservation.schema.json
	@.venv/bin/slotcar schema openapi > schemas/openapi.json
	@.venv/bin/typer controller.cli.app utils docs --name slotcar --output docs/reference/cli.md

# Pins every package with its hashes; names no index. The lab's file is installed beside the controller's and leaves out
# what that one has.
OF_RUNTIME := $(addprefix --no-emit-package ,numpy packaging pyparsing python-dateutil six)
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -o requirements/dev.txt requirements/dev.in
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -c requirements/dev.txt -o requirements/runtime.txt requirements/runtime.in
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -c requirements/dev.txt $(OF_RUNTIME) -o requirements/lab.txt requirements/lab.in

clean:
	rm -rf .venv build client/build lab/build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
