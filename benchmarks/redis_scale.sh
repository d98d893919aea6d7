#!/usr/bin/env bash
# Builds the module and the command, installs the servers, and runs redis_scale.py, whose docstring says what it measures.
#   benchmarks/redis_scale.sh [N ...]
set -euo pipefail
cd "$(dirname "$0")/.."
crates/lately-redis/tests/servers >&2
cargo build -q --release --locked -p lately-redis -p lately-cli >&2
exec target/redis-venv/bin/python benchmarks/redis_scale.py "$@"
