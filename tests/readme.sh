#!/usr/bin/env bash
# Runs the README's main command and compares with the output printed beneath it.
set -euo pipefail
cd "$(dirname "$0")/.."

# The first console block: a command after "$ ", then its output.
block=$(awk '/^```console/ { inside = 1; next } /^```/ { if (inside) exit } inside' README.md)
command=$(sed -n '1s/^\$ //p' <<<"$block")
expected=$(tail -n +2 <<<"$block")
actual=$(bash -c "${command/cargo run/cargo run -q}" 2>&1)
if [ "$actual" = "$expected" ]; then
  echo "test result: ok. 1 passed; 0 failed; 0 ignored; README's command prints what README shows"
else
  diff <(echo "$expected") <(echo "$actual") || true
  echo "test result: FAILED. 0 passed; 1 failed; 0 ignored; README's command prints something else"
  exit 1
fi
