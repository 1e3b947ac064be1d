# One recipe for everything a person or CI does here. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
# other versions of Spark have an environment each
BIN_3_5 := .venv-3.5/bin
# written last by tools/setup.sh: a half-made environment is made again
STAMPS := .venv/.complete .venv-3.5/.complete
ARGS ?=
SESSIONS ?=
TESTS_3_5 := advisor/test_logs deletes/test_read extension/test_servers extension/test_statements \
  rows/test_planned_rows $(addprefix test_,contract expressions first_plan many_files spark_versions)
MANY_KEYS := $(addprefix many_keys/test_,entries many_keys several_keys words)
# make soak runs the versions that are neither the default nor the oldest one
TESTS_OTHER := $(addprefix test_,contract first_plan restarts spark_versions)
TESTS_4.0 := $(MANY_KEYS) test_distinct test_documents test_expressions test_order extension/test_statements extension/test_servers rows/test_delta_commands rows/test_drawn_tables rows/test_iceberg_rows rows/test_planned_rows rows/test_row_ranges test_branches advisor/test_logs deletes/test_read deletes/test_differential test_many_files
TESTS_4.2 := extension/test_programs extension/test_statements extension/test_servers rows/test_delta_commands rows/test_drawn_tables rows/test_planned_rows rows/test_row_ranges
TESTS_4.3 := rows/test_row_ranges
SOAK_3_5 := extension/test_programs rows/test_delta_commands rows/test_drawn_tables rows/test_iceberg_rows commands/test_scans deletes/test_differential $(MANY_KEYS) \
  $(addprefix test_,branches build differential documents distinct failures order paths readers restarts)
ifeq ($(LAKESIEVE_DEPTH),soak)
TESTS_3_5 += $(SOAK_3_5)
endif

.PHONY: help setup java jars demo test soak test-oldest test-4.3 test-4.2 test-4.0 test-3.5 test-hudi lint docs bench bench-core bench-formats bench-engines bench-serve bench-advise bench-commands clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

setup: java $(STAMPS) jars ## create or update environments and jars (needs Python 3.11+ and a JDK 17+)

java:
	@tools/check_java.sh

# the jars of jvm/, where its sources changed
jars: java .venv/.complete
	@$(BIN)/python tools/build_jars.py

.venv/.complete: pyproject.toml requirements.lock tools/setup.sh
	@tools/setup.sh .venv requirements.lock

.venv-3.5/.complete: pyproject.toml requirements-3.5.lock tools/setup.sh
	@tools/setup.sh .venv-3.5 requirements-3.5.lock

.venv-4.0/.complete .venv-4.2/.complete .venv-4.3/.complete .venv-oldest/.complete: .venv-%/.complete: pyproject.toml requirements-%.lock tools/setup.sh
	@tools/setup.sh .venv-$* requirements-$*.lock

demo: java .venv/.complete ## TPC-H on Iceberg, skipping off and on (ARGS="--scale 1 --dir demo-data")
	@$(BIN)/python tools/build_jars.py --only-jar 4.1
	@$(BIN)/lakesieve demo $(ARGS)

# the linters first: they take seconds
test: lint ## lint, then every test (ARGS="-m 'not spark'" for the fast ones)
	@$(if $(ARGS),$(BIN)/pytest $(ARGS) && echo "ARGS leave out other versions of Spark: make test-4.0 test-3.5 test-hudi.",tools/test.sh)

# a thousand examples take longer than the five minutes that a test has otherwise
soak: lint ## the same tests in depth: thousands of drawn cases, kills at random, for hours (SESSIONS="hudi 3.5")
	@LAKESIEVE_DEPTH=soak PYTEST_TIMEOUT=3600 tools/test.sh $(SESSIONS)

test-4.3 test-4.2 test-4.0: test-%: setup .venv-%/.complete ## the contract of the formats on another version of Spark
	.venv-$*/bin/pytest $(patsubst %,tests/spark/%.py,$(TESTS_OTHER) $(TESTS_$*)) -k "not TestColumnIds"

test-oldest: .venv-oldest/.complete ## engines and the core with the oldest libraries that are allowed
	.venv-oldest/bin/pytest -m "not spark" -W ignore::DeprecationWarning tests/engines tests/predicate tests/sieve tests/format --ignore tests/engines/test_others.py

test-3.5: setup ## what differs between the versions of Spark, on Spark 3.5
	@# what only a soak runs can be imported here, too
	$(BIN_3_5)/pytest --collect-only -qq $(SOAK_3_5:%=tests/spark/%.py) >/dev/null
	$(BIN_3_5)/pytest $(TESTS_3_5:%=tests/spark/%.py) -k "not TestColumnIds"

test-hudi: setup ## Hudi, whose session is one of Spark 3.5
	$(BIN_3_5)/pytest tests/spark/hudi

# javac's own warnings fail the build of the jars, which is part of setup
lint: setup ## ruff, spelling, mypy, import layers, formatting of the Java sources
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/typos
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd jvm && ./mvnw -B -q spotless:check

bench: setup ## the measurements of docs/benchmarks.md
	$(BIN)/python -m bench $(ARGS)

bench-core: setup ## the index core beside its peers (ARGS="--rows 2e6 --plot curve.svg")
	$(BIN)/python -m bench.core $(ARGS)

bench-formats: setup ## the table formats beside each other (ARGS="--formats hudi --rows 1e6 --files 100")
	$(BIN)/python -m bench.formats $(ARGS)

bench-engines: setup ## PyIceberg, Polars, DuckDB, Arrow without Spark (ARGS="--rows 20e6")
	$(BIN)/python -m bench.engines $(ARGS)

bench-serve: setup ## clients that plan by themselves beside clients of the server (ARGS="--rows 20e6")
	$(BIN)/python -m bench.serve $(ARGS)

bench-advise: setup ## the advisor's predictions beside indexes that are then built
	$(BIN)/python -m bench.advise $(ARGS)

bench-commands: setup ## commands, joins, bulk look-ups (ARGS="--rows 1e6 --files 100"), Hudi on 3.5
	@status=0; $(BIN)/python -m bench.commands $(ARGS) || status=1; \
	$(BIN_3_5)/python -m bench.commands hudi $(ARGS) || status=1; exit $$status

docs: .venv-docs/.complete ## the site of the documentation, into build/site
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet

.venv-docs/.complete: pyproject.toml requirements-docs.lock tools/setup.sh
	@tools/setup.sh .venv-docs requirements-docs.lock

clean: ## remove everything that was generated, .venv too
	rm -rf .venv .venv-4.3 .venv-4.2 .venv-4.0 .venv-3.5 .venv-docs build dist demo-data bench-data warehouse spark-warehouse metastore_db derby.log
	rm -rf jvm/target src/lakesieve/spark/jars
	rm -rf .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
