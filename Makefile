# Everything a person or CI does with this checkout. `make` alone lists it.

PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
# A file's tests share daemons, so a file stays with one worker; tests/conftest.py says which files come first.
PARALLEL = -n 2 --dist loadfile --no-loadscope-reorder

# Compiled modules halve the time of the tests, which start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
BENCH_FILE ?= benchmarks/last.json

.PHONY: help try bench bench-quick soak faults test check format docs coverage clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

try: $(VENV)/.installed ## set cronoq up in .venv and run a first real job in a throw-away home
	@bash tests/first_job.sh $(BIN)/cronoq

test: $(VENV)/.developed ## run all tests
	$(BIN)/python -m pytest $(PARALLEL)

check: $(VENV)/.developed ## all that CI runs: style, types, layers, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest $(PARALLEL)

bench: $(VENV)/.developed ## measure cronoq beside its peers (a quarter of an hour on an otherwise idle machine)
	$(BIN)/python -m benchmarks --json $(BENCH_FILE)

bench-quick: $(VENV)/.developed ## the same in about two minutes, smaller
	$(BIN)/python -m benchmarks --quick --json $(BENCH_FILE)

# One number for all: minutes of simulated histories, and of a life under load; a hundred thousand inputs a surface.
MINUTES ?= 20
INPUTS  ?= 100000
KILLS   ?= 200

soak: $(VENV)/.developed ## long trials: MINUTES=20 of simulated histories and of a whole life, INPUTS=100000 a surface
	$(BIN)/python -m tests.simulation --seconds $$(( $(MINUTES) * 60 )) --first $$(( $$(date +%s) * 1000 ))
	$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $$(date +%s)
	$(BIN)/python -m tests.faults.life --minutes $(MINUTES)

faults: $(VENV)/.developed ## real faults: every step of a task's walk, and KILLS=200 kills under load, three times
	CRONOQ_FAULTS=all $(BIN)/python -m pytest -n0 tests/faults
	$(BIN)/python tests/faults/storm.py --kills $(KILLS) --victim daemon
	$(BIN)/python tests/faults/storm.py --kills $(KILLS) --victim runner
	$(BIN)/python tests/faults/storm.py --kills $(KILLS) --victim both

format: $(VENV)/.developed ## put the source into its standard form
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

docs: $(VENV)/.developed ## write manual, completions and the page of the lifecycle anew from the program
	$(BIN)/python -m cronoq_cli.commands.reference
	$(BIN)/python -m cronoq_cli.model.lifecycle_diagram > docs/lifecycle.md

coverage: $(VENV)/.developed ## run all tests and show the lines they miss
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

clean: ## remove what these targets made
	rm -rf $(VENV) build dist *.egg-info htmlcov .coverage .coverage.* .hypothesis .import_linter_cache
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find cronoq_cli tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "cronoq needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "could not make $(VENV); on Debian: apt-get install python3-venv" >&2; exit 1; }

# The command is copied at installation, so a change of the entry file needs a new one; the package itself does not.
$(VENV)/.installed: $(BIN)/python pyproject.toml cronoq_cli/entry/cronoq
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.developed: $(BIN)/python pyproject.toml cronoq_cli/entry/cronoq
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed
