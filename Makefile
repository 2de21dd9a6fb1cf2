# `make demo` shows the main job, `make test` passes the tests; both set themselves up on a fresh machine.
SHELL := /bin/bash
# Where a machine forbids it (images of containers do), each of a run's programs would compile all its modules again.
unexport PYTHONDONTWRITEBYTECODE
PYTHON_BIN := .venv/bin/python
# More processes than a small machine has cores: the tests wait for devices more than they work. tests/conftest.py says
# what stays together.
SPREAD := -n 3 --dist loadscope --no-loadscope-reorder

.PHONY: help demo demo-down domains domains-chaos test test-slow test-unit test-lab chaos lint bench lab lab-down lab-report results setup setup-dev generate lock wheels collection image sbom site clean

help:
	@echo "make demo    set up, then run the main job: reservations become QoS on the lab's routers for exactly their slot"
	@echo "make domains  three controllers, one for each domain of the lab, agree on a flow over all of them, and carry it"
	@echo "make domains-chaos  an hour of virtual time in which controllers and messages of three domains fail, for SEEDS=3 seeds from SEED=1 on"
	@echo "make test    set up, then run the tests: a case of everything"
	@echo "make test-slow  the cases that make test leaves out: long ones, traffic in real time, and new random ones"
	@echo "make lab     bring the lab's routers up and leave them up (make lab-down takes them away)"
	@echo "make lab-report  repeat the papers' experiments on the lab's routers and write var/lab-report/index.html"
	@echo "make results keep in docs/results what the last lab-report and bench showed"
	@echo "make bench   measure, print a table, write benchmarks/out/NAME.json"
	@echo "make chaos   break the lab at random for MINUTES=5 of its time, by SEED=1, and judge what its routers had"
	@echo "make wheels  build slotcar, slotcar-client, slotcar-transfer and slotcar-lab into dist/"
	@echo "make collection  build the Ansible collection slotcar.broker into dist/"
	@echo "make image   build the controller's image with podman; BASE=debootstrap where no registry can be reached"
	@echo "make lint    ruff, mypy, yamllint, ansible-lint"

setup:
	@tools/setup.sh runtime

setup-dev:
	@tools/setup.sh dev

demo: setup
	@$(PYTHON_BIN) -m slotcar_lab.demo

domains: setup
	@$(PYTHON_BIN) -m slotcar_lab.domains
	@$(PYTHON_BIN) -m slotcar_lab.domains --traffic

# An hour of virtual time for each of SEEDS seeds, from SEED on.
domains-chaos: setup-dev
	@SLOTCAR_CHAOS_SEED=$(SEED) SLOTCAR_CHAOS_SEEDS=$(SEEDS) $(PYTHON_BIN) -m pytest -s -m slow tests/integration/domains/test_chaos.py

demo-down: setup
	@$(PYTHON_BIN) -m slotcar_lab.demo --down

# Compiled once in a new checkout, and not by each of the run's processes at the same time.
test: setup-dev
	@$(PYTHON_BIN) -m compileall -q -j 0 controller client mover lab plugins benchmarks
	@$(PYTHON_BIN) -m slotcar_lab requirements --install
	@$(PYTHON_BIN) -m pytest $(SPREAD) $(PYTEST_ARGS)

test-slow: setup-dev
	@$(PYTHON_BIN) -m slotcar_lab requirements --install
	@$(PYTHON_BIN) -m pytest -m "slow or hypothesis" --hypothesis-profile=new $(SPREAD) $(PYTEST_ARGS)

test-unit: setup-dev
	@$(PYTHON_BIN) -m pytest tests/unit tests/property tests/golden $(PYTEST_ARGS)

test-lab: setup-dev
	@$(PYTHON_BIN) -m slotcar_lab requirements --install
	@$(PYTHON_BIN) -m pytest tests/lab $(PYTEST_ARGS)

SEED ?= 1
SEEDS ?= 3
MINUTES ?= 5
chaos: setup
	@$(PYTHON_BIN) -m slotcar_lab requirements --install
	@$(PYTHON_BIN) -m slotcar_lab.chaos --seed $(SEED) --minutes $(MINUTES)

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
	@$(PYTHON_BIN) -m slotcar_lab requirements --install
	@$(PYTHON_BIN) -m slotcar_lab.experiments $(NAMES)

# What `make lab-report` and `make bench` measured last, into docs/results.
results: setup
	@$(PYTHON_BIN) -m slotcar_lab.results

# What is in the repository for editors and readers, out of the code; tests hold it equal.
generate: setup-dev
	@.venv/bin/slotcar schema reservation > schemas/reservation.schema.json
	@.venv/bin/slotcar schema openapi > schemas/openapi.json
	@$(PYTHON_BIN) tools/slot_state_table.py > docs/reference/slot-states.md
	@$(PYTHON_BIN) tools/event_table.py > docs/reference/events.md
	@$(PYTHON_BIN) tools/verb_table.py > docs/reference/verbs.md
	@$(PYTHON_BIN) tools/rights_table.py docs/security.md
	@$(PYTHON_BIN) tools/state_picture.py > docs/pictures/states.svg
	@$(PYTHON_BIN) tools/profile_table.py > docs/reference/profiles.md
	@.venv/bin/typer slotcar.cli.app utils docs --name slotcar --output docs/reference/cli.md
	@$(PYTHON_BIN) tools/collection_docs.py docs/collection

# What is left of an earlier build would be taken into the wheels.
wheels: setup
	@rm -rf build client/build mover/build lab/build dist/*.whl
	@$(PYTHON_BIN) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist ./client ./mover . ./lab
	@rm -rf build client/build mover/build lab/build

collection: setup
	@.venv/bin/ansible-galaxy collection build --force --output-path dist

image:
	@BASE="$(BASE)" tools/image.sh

# The site of the documentation in site/, in an environment of its own; a link that leads nowhere is an error.
site:
	@python3 -m venv dist/.site && dist/.site/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.txt
	@NO_MKDOCS_2_WARNING=1 dist/.site/bin/mkdocs build --strict --quiet

# What requirements/runtime.txt installs, as CycloneDX; cyclonedx-bom is not pinned with the rest, for it runs beside it.
sbom:
	@mkdir -p dist
	@python3 -m venv dist/.sbom && dist/.sbom/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom
	@dist/.sbom/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o dist/slotcar.cdx.json requirements/runtime.txt

# Pins every package with its hashes; names no index. The lab's file is installed beside the controller's and leaves out
# what that one has.
OF_RUNTIME := $(addprefix --no-emit-package ,numpy packaging pyparsing python-dateutil six)
OF_BOTH := $(addprefix --no-emit-package ,cffi cryptography pycparser typing-extensions)
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -o requirements/dev.txt requirements/dev.in
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -c requirements/dev.txt -o requirements/runtime.txt requirements/runtime.in
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -c requirements/dev.txt $(OF_RUNTIME) -o requirements/lab.txt requirements/lab.in
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -c requirements/dev.txt $(OF_BOTH) -o requirements/transfer.txt requirements/transfer.in
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
	  -o requirements/site.txt requirements/site.in

clean:
	rm -rf .venv build client/build mover/build lab/build dist site *.egg-info */*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
