# One recipe for everything a person or CI does here. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
# written last by tools/setup.sh: a half-made environment is made again
STAMP := .venv/.complete
ARGS ?=

.PHONY: help setup java demo test lint bench bench-core clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' Makefile

setup: java $(STAMP) ## create or update .venv (needs Python 3.11+ and Java 17+)

java:
	@tools/check_java.sh

$(STAMP): pyproject.toml requirements.lock tools/setup.sh
	@tools/setup.sh $(STAMP)

demo: setup ## TPC-H on Iceberg, skipping off and on (ARGS="--scale 1 --dir demo-data")
	@$(BIN)/lakesieve demo $(ARGS)

# the linters first: they take seconds; conftest.py puts the Spark tests last
test: lint ## lint, then every test (ARGS="-m 'not spark'" for the fast ones)
	$(BIN)/pytest $(ARGS)

lint: setup ## ruff, mypy, import layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## the measurements behind the README's figures
	$(BIN)/python -m bench $(ARGS)

bench-core: setup ## the index core beside its peers (ARGS="--rows 2e6 --plot curve.svg")
	$(BIN)/python -m bench.core $(ARGS)

clean: ## remove everything that was generated, .venv too
	rm -rf .venv build dist demo-data bench-data warehouse spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
