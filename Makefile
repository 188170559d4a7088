# make train | test | bench need nothing but Python >= 3.11 and make.
PYTHON ?= python3
VENV ?= .venv
SEED ?= 0
ifndef RUN  # once: with ?= each use would ask for the time again
RUN := runs/FetchReach-v4-sac-seed$(SEED)-$(shell date +%Y%m%d-%H%M%S)
endif
BIN := $(VENV)/bin

.PHONY: help setup setup-dev train test test-slow bench lint format docs clean

help:
	@echo "make train       train FetchReach-v4 to a solved policy and draw its curve (SEED=0)"
	@echo "make test        run the tests"
	@echo "make test-slow   run the learning tests and the long searches"
	@echo "make bench       compare speed with other libraries"
	@echo "make lint        check style and types"
	@echo "make format      lay the code out"
	@echo "make docs        build the documentation into site/"
	@echo "make setup       only make the virtual environment $(VENV)"

setup: $(VENV)/.setup
setup-dev: $(VENV)/.setup-dev

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Woodshed needs Python >= 3.11; say which: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.setup: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[robotics,plot]'
	@touch $@

$(VENV)/.setup-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.setup

train: setup
	$(BIN)/woodshed train FetchReach-v4 --seed $(SEED) --out $(RUN)
	$(BIN)/woodshed plot $(RUN) --out $(RUN)/learning.png

test: setup-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: setup-dev
	$(BIN)/python -m pytest -m slow

bench: setup
	$(BIN)/python -m benchmarks.run

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .venv-bench-* site
