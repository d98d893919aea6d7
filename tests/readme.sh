#!/usr/bin/env bash
# Runs the commands of the README's first console block and compares with the output printed beneath each.
set -euo pipefail
cd "$(dirname "$0")/.."

# Commands stand after "$ ", their output beneath.
block=$(awk '/^```console/ { inside = 1; next } /^```/ { if (inside) exit } inside' README.md)
actual=$(grep '^\$ ' <<<"$block" | while read -r _ command; do
  echo "\$ $command"
  bash -c "${command/cargo run/cargo run -q}" 2>&1 </dev/null
done)
if [ "$actual" = "$block" ]; then
  echo "test result: ok. 1 passed; 0 failed; 0 ignored; README's commands print what README shows"
else
  diff <(echo "$block") <(echo "$actual") || true
  echo "test result: FAILED. 0 passed; 1 failed; 0 ignored; README's commands print something else"
  exit 1
fi
