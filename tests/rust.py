#!/usr/bin/env python3
"""Builds the tests of the workspace and runs the test programs in parallel, one per core. `cargo test` would
run them one after the other.

    tests/rust.py [arguments of the test programs, for example --include-ignored]

Prints the output of each program when it ends, and finally the slowest programs with their times.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

BUILD = ["cargo", "test", "--workspace", "--all-features", "--locked", "--no-run"]
# The slowest programs start first, so that the last ones to start are short.
FIRST = ["promise_rate", "bins_soak", "planner", "shared", "promise_slack"]


def programs():
    """Returns the name, path and package directory of each test program. Cargo runs it in that directory."""
    command = [*BUILD, "--message-format", "json-render-diagnostics"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as build:
        messages = [json.loads(line) for line in build.stdout]
    if build.returncode != 0:
        sys.exit(build.returncode)
    found = [
        (message["target"]["name"], message["executable"], Path(message["manifest_path"]).parent)
        for message in messages
        if message.get("executable") and message.get("profile", {}).get("test")
    ]
    if not found:
        sys.exit("cargo built no test program: tests/rust.py expects at least one")
    return sorted(found, key=lambda program: FIRST.index(program[0]) if program[0] in FIRST else len(FIRST))


def run(name, path, directory):
    start = time.monotonic()
    environment = os.environ | {"CARGO_MANIFEST_DIR": str(directory)}
    done = subprocess.run(
        [path, *sys.argv[1:]], cwd=directory, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return f"{directory.name} {name}", done.returncode, done.stdout, time.monotonic() - start


def main():
    seconds, failed = {}, []
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for ended in as_completed([pool.submit(run, *program) for program in programs()]):
            name, status, output, took = ended.result()
            print(f"\n-- {name} ({took:.0f} s)\n{output}", end="", flush=True)
            seconds[name] = took
            if status != 0:
                failed.append(name)
    slowest = sorted(seconds, key=seconds.get, reverse=True)[:8]
    print("\nslowest: " + ", ".join(f"{name} {seconds[name]:.0f} s" for name in slowest))
    if failed:
        sys.exit("failed: " + ", ".join(sorted(failed)))


main()
