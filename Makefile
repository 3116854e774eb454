# One entry for everything: `make` lists the targets, `make test` works on a fresh machine with Python 3.11 and pip.

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
WORKERS ?= auto
SHELL   := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint types layers check sweep mutate bounds bench clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

venv: $(STAMP)  ## make .venv and install everything (done once; again when the pinned set changes)

# PYTHON must be 3.11 to 3.13; the message of pip for another version is long, so it is checked first.
$(STAMP): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 14) else f"Python 3.11 to 3.13 is needed, this is {v[0]}.{v[1]}: make PYTHON=python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,test]'
	@touch $@

demo: $(STAMP)  ## compare the Triton softmax with the Pallas one and print the report
	$(BIN)/irverify compare corpora/softmax/a.py corpora/softmax/b.py --input 'f32[37,130]'

test: $(STAMP)  ## every test except the long ones
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not sweep' tests

lint: $(STAMP)  ## format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)  ## pyright
	$(BIN)/pyright

layers: $(STAMP)  ## the import contracts
	$(BIN)/lint-imports

check: lint types layers test  ## all of the above

sweep: $(STAMP)  ## whole libraries (liger-kernel, JAX's Pallas operators, NKI kernels of six wheels): a table with reasons
	$(BIN)/python -m tests.sweeps

mutate: $(STAMP)  ## mutants of the corpus: how many survive at which verdict
	$(BIN)/python -m tests.mutation $(ARGS)

bounds: $(STAMP)  ## observed errors of every corpus kernel against their bounds (10^6 elements each: hours)
	$(BIN)/python -m tests.bounds $(ARGS)

bench: $(STAMP)  ## whole compares against one run of Triton's interpreter, as ratios
	$(BIN)/python -m benchmarks.bench

clean:  ## remove .venv and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
