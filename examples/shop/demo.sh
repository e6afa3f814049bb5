#!/usr/bin/env bash
# Builds the shop twice, with the data of two days, and shows the content of the lake. `make demo` runs it. Needs dbt and python on the PATH.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

rm -rf lake/* landing/* target

step "Day 1: the files arrive and are loaded into the lake"
python make_data.py 1
dbt --quiet run-operation load_landing --args '{day: 1}'

step "Day 1: dbt build"
dbt build

step "Day 2: new files arrive; the buyers change prices with DuckDB"
python make_data.py 2
dbt --quiet run-operation load_landing --args '{day: 2}'
python change_prices.py

step "Day 2: dbt build"
dbt build

step "What the second day changed in the orders, since snapshot 2 (dbt build of day 1)"
dbt --quiet run-operation ducklake_diff --args '{table: orders, from: 2, key: order_id}'

step "A report on the lake: examples/shop/target/ducklake_report.html"
dbt --quiet run-operation ducklake_report

step "The lake, read with DuckDB"
python show.py
