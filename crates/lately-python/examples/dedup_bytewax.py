"""Passes each line of a file whose id (the text before the first comma) was not seen lately. Bytewax keeps the filters as
state: it saves them with its position in the input, and continues there after a crash.

python -m bytewax.recovery STATE_DIRECTORY 1
INPUT=in.csv OUTPUT=out.csv python -m bytewax.run dedup_bytewax:flow -r STATE_DIRECTORY -s 30 -b 0
"""

import os
from pathlib import Path

import bytewax.operators as op
from bytewax.connectors.files import FileSink, FileSource
from bytewax.dataflow import Dataflow

from lately import Filter, shard_of, shard_window

SHARDS = 8
WINDOW = 1_000_000


def keyed(line: str) -> tuple[str, str]:
    """All lines with one id go to one shard, and so to one worker."""
    return (str(shard_of(line.partition(",")[0], SHARDS)), line)


def unseen(state: Filter | None, line: str) -> tuple[Filter, list[str]]:
    """Returns the new state of a shard, and the line if it is new."""
    seen = state or Filter(window=shard_window(WINDOW, SHARDS), false_positive_rate=1e-6)
    return seen, [] if seen.check_and_add(line.partition(",")[0]) else [line]


flow = Dataflow("dedup")
lines = op.input("lines", flow, FileSource(Path(os.environ["INPUT"]), batch_size=1000))
new = op.stateful_flat_map("unseen", op.map("by shard", lines, keyed), unseen)
op.output("new lines", new, FileSink(Path(os.environ["OUTPUT"])))
