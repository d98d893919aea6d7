#!/usr/bin/env bash
# Compares the Python package with Bloom filters from PyPI, an exact window and the Rust batch call; see python.py.
#   benchmarks/python.sh [NUMBERS] > record.json     10 million by default; about ten minutes, 4 GB of memory
# The wheel and the peers are installed into target/python-bench-venv. Progress goes to standard error.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=target/python-bench-venv
{
  [ -d $venv ] || python3 -m venv $venv
  pip() { $venv/bin/python -m pip install -q --disable-pip-version-check "$@"; }
  pip maturin==1.16.0 numpy==2.4.6 pyarrow==26.0.1 xxhash==4.1.0
  for peer in rbloom==1.5.4 abloom==1.1.0 fastbloom-rs==0.5.10 pybloomfiltermmap3==0.6.3 preshed==3.0.15 pybloom-live==4.0.0 bloomlib==0.0.3; do
    pip "$peer" || echo "$peer cannot be installed here"
  done
  rm -rf target/wheels
  (cd crates/lately-python && ../../$venv/bin/maturin build -q --release --locked --out ../../target/wheels)
  pip --force-reinstall --no-deps target/wheels/lately-*.whl
  cargo build -q --release --locked -p lately-lab
} >&2
exec $venv/bin/python benchmarks/python.py target/release/lately-lab "$@"
