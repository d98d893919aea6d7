#!/usr/bin/env python3
"""Checks README.md and docs/: commands print what the documents show, links lead somewhere, pictures and measured tables are
what their scripts make.

    tests/documents.py          console blocks ("$ command", its output beneath), links, pictures, tables
    tests/documents.py --all    also what README's table installs and every `sh` block, in order, as a new user would

Blocks with redis-cli and Python need a server or a wheel; the module's and the package's tests run them. With --all,
`redis-server` lines start a server that ends with this script.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EVERYTHING = [path for path in sorted(ROOT.rglob("*.md")) if path.relative_to(ROOT).parts[0] not in ("target", ".git", "dist")]


def blocks(document, *languages):
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)


def run(command, environment, directory=ROOT):
    """Runs a command exactly as written in a document, but without cargo's messages."""
    quiet = command.replace("cargo run ", "cargo run -q ")
    done = subprocess.run(
        ["bash", "-c", quiet], cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, done.stdout


def printed_commands(environment, scratch):
    """Each document's console blocks print what is beneath them. Files that `lately` creates go to `scratch`."""
    (scratch / "samples").symlink_to(ROOT / "samples")
    for document in DOCUMENTS:
        for block in blocks(document, "console"):
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                if command.startswith("redis-cli ") or " | jq" in command:
                    continue
                status, output = run(command, environment, scratch if command.startswith("lately ") else ROOT)
                wrong = None if (status, output) == (0, expected) else f"shows\n{expected}but exits with {status} and prints\n{output}"
                yield f"{document.relative_to(ROOT)}: {command}", wrong


def shell_commands(environment):
    """README's installations and the documents' sh blocks, in order."""
    servers = []
    installed = re.findall(r"^\|.*\| `((?:cargo|pip) [^`]+)` \|$", DOCUMENTS[0].read_text(), re.MULTILINE)
    lines = [(DOCUMENTS[0], line) for line in installed]
    lines += [(document, line) for document in DOCUMENTS for block in blocks(document, "sh") for line in block.splitlines()]
    try:
        for document, line in lines:
            name = f"{document.relative_to(ROOT)}: {line}"
            if line.startswith("redis-server "):
                if not servers:
                    servers.append(subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=ROOT, stdout=subprocess.DEVNULL))
                    time.sleep(2)
                yield name, None if servers[0].poll() is None else "the server has ended"
            else:
                status, output = run(line, environment)
                yield name, None if status == 0 and "ERR" not in output else f"exits with {status} and prints\n{output}"
    finally:
        for server in servers:
            server.kill()


def links():
    for document in EVERYTHING:
        targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text())
        missing = [
            target for target in targets
            if not re.match(r"https?:|#", target) and not (document.parent / target.split("#")[0]).exists()
        ]
        yield f"links of {document.relative_to(ROOT)}", f"lead nowhere: {missing}" if missing else None


def made_by_scripts():
    """The pictures and the measured tables are those that the scripts in docs/ make."""
    for script in ("window.py", "memory.py", "tables.py", "redis_tables.py"):
        status, output = run(f"docs/{script} --check", os.environ)
        yield f"docs/{script}", None if status == 0 else output


def main():
    is_all = sys.argv[1:] == ["--all"]
    if sys.argv[1:] and not is_all:
        sys.exit(f"tests/documents.py: {' '.join(sys.argv[1:])!r} is not possible: give --all or nothing")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        # --all installs into this directory.
        if is_all and subprocess.run(["python3", "-m", "venv", directory], stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("tests/documents.py: --all needs a virtual environment: install python3-venv, then start again")
        path = f"{directory}/bin:{ROOT / 'target/release'}:{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "CARGO_INSTALL_ROOT": directory}
        checks = [shell_commands(environment)] if is_all else []
        for check in [*checks, printed_commands(environment, Path(directory)), links(), made_by_scripts()]:
            for name, wrong in check:
                print(f"test {name} ... {'FAILED: ' + wrong if wrong else 'ok'}", flush=True)
                passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"\ntest result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed; 0 ignored; documents")
    sys.exit(failed > 0)


main()
