"""The examples for streaming engines, with crashes and restarts. `./test --full` runs them."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))
pytestmark = [
    pytest.mark.skipif(not os.environ.get("LATELY_FULL"), reason="streaming engines are run by ./test --full"),
    pytest.mark.filterwarnings("default"),
]

CONSUMER = """
import os, sys
from pathlib import Path
import dedup_kafka

servers, topic, state, out, crash = sys.argv[1:]
dedup_kafka.EVENTS_PER_CHECKPOINT = 1000
file = open(out, "ab", buffering=0)

class Crashing(dedup_kafka.Deduplicator):
    checkpoints = 0

    def checkpoint(self):
        self.checkpoints += 1
        if crash == "before the checkpoint" and self.checkpoints == 3:
            os._exit(9)
        super().checkpoint()

    def commit(self):
        # The state is saved, and Kafka does not know.
        if crash == "between state and commit" and self.checkpoints == 3:
            os._exit(9)
        super().commit()

config = {"bootstrap.servers": servers, "group.id": topic, "session.timeout.ms": 6000, "auto.offset.reset": "earliest"}
stream = Crashing(config, topic, Path(state), lambda message: file.write(message.value() + b"\\n"))
quiet = 0
while quiet < 10:
    quiet = 0 if stream.step() else quiet + bool(stream.partitions)
stream.close()
"""


@pytest.fixture(scope="module")
def kafka() -> Iterator[Any]:
    """A producer with a broker of its own inside; another client connects to it."""
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none"})
    yield producer


@pytest.mark.parametrize("crash", ["never", "before the checkpoint", "between state and commit"])
def test_kafka(kafka: Any, tmp_path: Path, crash: str) -> None:
    """No event is lost, whenever the consumer crashes, and none is handled twice but those since the last checkpoint."""
    ids, topic = [f"order-{i * i % 7919}" for i in range(8_000)], crash.replace(" ", "-")
    for event in ids:
        kafka.produce(topic, key=event.encode(), value=event.encode())
        kafka.poll(0)
    kafka.flush()
    broker = next(iter(kafka.list_topics().brokers.values()))
    arguments = [f"{broker.host}:{broker.port}", topic, str(tmp_path / "state"), str(tmp_path / "out"), crash]

    def consume() -> int:
        run = subprocess.run([sys.executable, "-c", CONSUMER, *arguments], cwd=EXAMPLES, timeout=120)
        return run.returncode

    assert consume() == (0 if crash == "never" else 9)
    if crash != "never":
        arguments[-1] = "never"
        assert consume() == 0
    handled = Counter((tmp_path / "out").read_text().splitlines())
    assert set(handled) == set(ids), "no event is lost"
    again = sum(count - 1 for count in handled.values())
    assert again == 0 if crash != "before the checkpoint" else 0 < again <= 1500
    # All is told to Kafka's tools in the end; a second consumer has nothing to do.
    assert consume() == 0 and Counter((tmp_path / "out").read_text().splitlines()) == handled


def test_bytewax(tmp_path: Path) -> None:
    """The second run continues where the first one ended, and knows what it has seen."""
    lines = [f"{i * i % 5003},{i}" for i in range(20_000)]
    environment = os.environ | {"INPUT": str(tmp_path / "in"), "OUTPUT": str(tmp_path / "out"), "PYTHONPATH": os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])}
    state = tmp_path / "state"
    state.mkdir()

    def run(*command: str) -> None:
        subprocess.run([sys.executable, "-m", *command], check=True, env=environment, timeout=120)

    run("bytewax.recovery", str(state), "1")
    for end in (12_000, 20_000):
        (tmp_path / "in").write_text("".join(line + "\n" for line in lines[:end]))
        run("bytewax.run", "dedup_bytewax:flow", "-r", str(state), "-s", "0", "-b", "0")
        found = (tmp_path / "out").read_text().splitlines()
        expected = list({line.partition(",")[0]: line for line in reversed(lines[:end])}.values())
        assert sorted(found) == sorted(expected), end


def test_spark_streaming(tmp_path: Path) -> None:
    """State goes from one micro-batch to the next, and from one run to the next."""
    from pyspark.sql import SparkSession

    import dedup_spark_streaming

    dedup_spark_streaming.SHARDS = 3
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    rows = pandas.DataFrame({"id": [f"order-{i * i % 2_003}" for i in range(9_000)], "n": range(9_000)})
    source, target, checkpoint = (tmp_path / name for name in ("in", "out", "checkpoint"))
    source.mkdir()
    try:
        for end in (3_000, 6_000, 9_000):
            rows[end - 3_000 : end].to_json(source / f"{end}.json", orient="records", lines=True)
            if end == 3_000:
                continue
            # Two files for the first run, in two micro-batches or one; the last file for the second run.
            dedup_spark_streaming.main(str(source), str(target), str(checkpoint))
            spark = SparkSession.builder.getOrCreate()
            found = spark.read.parquet(str(target)).toPandas()
            assert sorted(found["id"]) == sorted(rows["id"][:end].unique()), end
    finally:
        spark.stop()


def test_dask_keeps_filters_across_partitions_and_runs(tmp_path: Path) -> None:
    ids = [f"order-{number % 700}" for number in range(1000)]
    parts = {"first": ids[:400], "second": ids[300:800], "third": ids[600:] + ["order-new"]}
    for name, part in parts.items():
        pandas.DataFrame({"id": part, "n": range(len(part))}).to_parquet(tmp_path / f"{name}.parquet")

    def run(output: str, *inputs: str) -> list[str]:
        files = [tmp_path / f"{name}.parquet" for name in inputs]
        command = [sys.executable, str(EXAMPLES / "dedup_dask.py"), tmp_path / "state", tmp_path / output, *files]
        subprocess.run(command, check=True, timeout=300)
        return pandas.read_parquet(tmp_path / output)["id"].tolist()

    assert sorted(run("one", "first", "second")) == sorted(set(ids[:800]))
    assert run("two", "third", "first") == ["order-new"]
