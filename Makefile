# Both commands set up all they need in a private virtual environment: make demo, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILT_FROM := pyproject.toml hatch_build.py src/corpuscope/workspace/narrowing/front.c

.PHONY: demo test test-slow test-all lint bench clean

demo: $(VENV)/.demo
	@$(BIN)/python examples/demo.py

test: $(VENV)/.dev
	$(BIN)/pytest -n auto -m "not slow"

test-slow: $(VENV)/.slow
	$(BIN)/pytest -n auto -m slow

test-all: $(VENV)/.slow
	$(BIN)/pytest -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "corpuscope needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: $(BUILT_FROM) | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(BUILT_FROM) | $(BIN)/python
	@echo "Installing what the tests need ..."
	@$(BIN)/python -m pip install --quiet --editable '.[bench,bm25s,claude-code,convert,dense,langchain,parquet]' --group dev
	@touch $@ $(VENV)/.demo

$(VENV)/.slow: $(VENV)/.dev
	@echo "Installing small local models and what runs them (some 6 GB) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[local]' --group slow
	@touch $@
