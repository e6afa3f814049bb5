# What can be done with this project. `make` or `make help` prints the list.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
ARGS ?=
STEPS ?= 1000
SEED ?=

BIN := $(abspath $(VENV))/bin

.PHONY: help venv test unit differential lint demo bench clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s  %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

venv: $(VENV)/.made ## create the environment in .venv (again only if pyproject.toml or constraints.txt changed)

$(VENV)/.made: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,postgres,duckdb,mysql]'
	@touch $@

test: venv ## run all tests: first those without Spark, then the rest (ARGS='-k merge' passes arguments to pytest)
	$(BIN)/pytest tests/unit -n $(WORKERS) -q $(ARGS)
	$(BIN)/pytest tests --ignore=tests/unit -n $(WORKERS) --dist loadfile $(ARGS)

unit: venv ## run the tests that need no Java
	$(BIN)/pytest tests/unit -n $(WORKERS) -q $(ARGS)

differential: venv ## let DuckDB and us take turns at random on one lake (STEPS=1000 SEED=7 ARGS="-k sqlite"; also postgres, duckdb)
	DIFFERENTIAL_STEPS=$(STEPS) DIFFERENTIAL_SEED=$(SEED) $(BIN)/pytest tests/interop/differential -s --tb=short $(ARGS)

lint: venv ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

demo: venv ## build the example shop twice, with changed data, and read it with DuckDB
	PATH="$(BIN):$$PATH" examples/shop/demo.sh

bench: venv ## time CTAS, merge and a small model against raw Spark and dbt-spark (about five minutes)
	$(BIN)/python benchmarks/bench_ctas.py $(ARGS)
	$(BIN)/python benchmarks/bench_merge.py $(ARGS)
	$(BIN)/python benchmarks/bench_small_model.py $(ARGS)

clean: ## remove what tests, builds and the demo leave behind (the environment stays)
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache logs
	cd examples/shop && rm -rf lake/* landing/* logs target spark-warehouse
	find dbt tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
