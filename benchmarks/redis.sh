#!/usr/bin/env bash
# Builds the module, installs both servers, and runs redis_module.py. Its docstrings say what it measures.
set -euo pipefail
cd "$(dirname "$0")/.."
crates/lately-redis/tests/servers >&2
cargo build -q --release --locked -p lately-redis >&2
exec target/redis-venv/bin/python benchmarks/redis_module.py
