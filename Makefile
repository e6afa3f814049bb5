# `make` or `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
ARGS ?=
TIMEOUT ?= 900
COVERAGE := --cov --cov-report=term:skip-covered
STEPS ?= 1000
HISTORIES ?= 500
SEED ?=
PACKAGES ?= $(HOME)/.cache/dbt-ducklake/packages

BIN := $(abspath $(VENV))/bin
STUCK := -o faulthandler_timeout=$(TIMEOUT) -o faulthandler_exit_on_timeout=true  # a test that takes longer fails, with the stacks of its threads

.PHONY: help venv test test-all nightly packages unit differential concurrency torture matrix lint demo bench clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s  %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

venv: $(VENV)/.made ## create the environment in .venv (again if pyproject.toml or constraints.txt changed)

$(VENV)/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,postgres,duckdb,mysql]'
	@touch $@

test: COVERAGE := # it would take a minute
test: unit ## run all tests, each on the catalog databases that matter for it (ARGS='-k merge' passes arguments to pytest)
	$(BIN)/pytest tests --ignore=tests/unit -n $(WORKERS) --dist loadfile --durations=20 $(STUCK) $(ARGS)

test-all: ## run all tests on all catalog databases, TPC-H, and STEPS random steps on each: for nightly runs
	DUCKLAKE_TEST_MATRIX=full DIFFERENTIAL_STEPS=$(STEPS) DIFFERENTIAL_SEED=$(SEED) $(MAKE) test TIMEOUT=10800 COVERAGE="$(COVERAGE)"

nightly: export DBT_PACKAGES = $(PACKAGES)
nightly: export JAFFLE_SHOP = $(PACKAGES)/jaffle-shop-classic
nightly: export DUCKLAKE_SUITE = $(PACKAGES)/ducklake
nightly: packages test-all torture matrix docs ## run everything: all tests, with dbt packages, the torture run, the matrix of versions, the documentation site

packages: venv ## check out the dbt packages, jaffle shop and tests of DuckDB's extension that `make nightly` runs (PACKAGES=/tmp/packages)
	$(BIN)/python -m tests.acceptance.checkouts $(PACKAGES)

unit: venv ## run the tests that need no Java, and print what they cover
	$(BIN)/pytest tests/unit -n $(WORKERS) -q $(COVERAGE) $(STUCK) $(ARGS)

differential: venv ## run random statements on one lake, alternately with DuckDB and dbt-ducklake (STEPS=1000 SEED=7 ARGS="-k sqlite"; also postgres, duckdb)
	DUCKLAKE_TEST_MATRIX=full DIFFERENTIAL_STEPS=$(STEPS) DIFFERENTIAL_SEED=$(SEED) $(BIN)/pytest tests/interop/differential -s --tb=short $(ARGS)

concurrency: venv ## run two sessions and DuckDB concurrently, and check that the histories are serializable (HISTORIES=500 SEED=7 ARGS="-k sqlite")
	CONCURRENCY_HISTORIES=$(HISTORIES) CONCURRENCY_SEED=$(SEED) $(BIN)/pytest tests/interop/concurrency/test_concurrency.py -s --tb=short $(ARGS)

torture: venv ## run the programs of tests/torture, such as the search for leaked secrets: for nightly runs (ARGS="-k secrets")
	$(BIN)/pytest tests/torture/*.py --tb=short --durations=0 $(ARGS)

matrix: venv ## try PySpark, Java, Python, DuckDB and dbt-core in their versions: for nightly runs (ARGS="--pyspark 4.1 --java 25" chooses, "--list" prints them)
	$(BIN)/python -m tests.matrix $(ARGS)

lint: venv ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: docs docs-serve

$(VENV)/.docs: $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs ## build the documentation site into site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-serve: $(VENV)/.docs ## show the documentation at http://127.0.0.1:8000, rebuilt after each change
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

demo: venv ## build the example shop twice, show what changed, write a report, and read the lake with DuckDB
	PATH="$(BIN):$$PATH" examples/shop/demo.sh

bench: venv ## time CTAS, merge and a small model against raw Spark and dbt-spark (about five minutes)
	$(BIN)/python benchmarks/bench_ctas.py $(ARGS)
	$(BIN)/python benchmarks/bench_merge.py $(ARGS)
	$(BIN)/python benchmarks/bench_small_model.py $(ARGS)

PEERS := $(HOME)/.cache/dbt-ducklake/bench-peers
PEERS_SPARK ?= 4.1.4
BENCH ?= peers

.PHONY: bench-peers
bench-peers: $(PEERS)/.made ## time statements and dbt projects against Iceberg, Delta Lake and dbt-duckdb (BENCH=projects ARGS='--rows 10000000')
	$(PEERS)/bin/python benchmarks/bench_$(BENCH).py $(ARGS)

$(PEERS)/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	grep -v '^pyspark==' constraints.txt > $(PEERS)/constraints.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c $(PEERS)/constraints.txt \
	  'pyspark==$(PEERS_SPARK)' -e '.[duckdb]' dbt-duckdb matplotlib
	@touch $@

clean: ## remove the output of tests, builds and the demo, but not the environment
	rm -rf dist build site .pytest_cache .mypy_cache .ruff_cache .coverage* logs
	cd examples/shop && rm -rf lake/* landing/* logs target spark-warehouse
	find dbt tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
