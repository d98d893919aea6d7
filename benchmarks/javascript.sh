#!/usr/bin/env bash
# Compares the npm package with a Set and a queue and with Bloom filters from npm; see javascript.mjs.
#   benchmarks/javascript.sh > record.json     a minute
# The peers are installed into target/javascript-bench. Progress goes to standard error.
set -euo pipefail
cd "$(dirname "$0")/.."
node=$(crates/lately-wasm/tests/setup)
export PATH=$node:$PATH
mkdir -p target/javascript-bench
[ -e target/javascript-bench/package.json ] || echo '{ "private": true }' >target/javascript-bench/package.json
(cd target/javascript-bench && npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error bloom-filters@3.0.4 bloomfilter@1.1.0) >&2
exec node benchmarks/javascript.mjs
