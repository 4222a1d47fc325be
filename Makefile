# make demo   set everything up, then watch CodeTree solve the example tasks
# make test   set everything up, then lint, types, import contract, tests
# make setup  leave .venv/bin/treewright ready
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: demo test setup check lint types contract tests format lock clean

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

demo: setup
	@$(BIN)/python -m treewright.models.weights
	@$(BIN)/treewright demo examples/tasks

test: setup services check

setup: $(READY)

$(READY): requirements.lock pyproject.toml scripts/setup
	@scripts/setup $(VENV)
	@touch $@

# What the tests need beside Python packages; installed where missing, never asked about.
.PHONY: services
services: setup
	@scripts/services

check: lint types contract tests

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

contract:
	$(BIN)/lint-imports

tests:
	$(BIN)/pytest -n 2

format:
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Pins and hashes without any host name; uv.lock itself stays out of the repository.
lock:
	@scripts/lock

clean:
	rm -rf $(VENV) .uv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
