"""Planning takes long: who asks for a new promise waits for it, and nobody else does."""

import select
import signal
from contextlib import contextmanager

import pytest
import redis
from redis.exceptions import TryAgainError

from conftest import eventually, info

# Seconds of planning, on any machine: a small rate and very little slack.
HARD = (1e-6, 1_000_000, "SLACK", 0.05)


class Conversation:
    """A connection that is written to without waiting for the answer."""

    def __init__(self, server):
        self.connection = server.connect(socket_timeout=300).connection_pool.get_connection()

    def send(self, *words):
        self.connection.send_command(*words)

    def has_answer(self):
        return bool(select.select([self.connection._sock], [], [], 0)[0])

    def answer(self):
        return self.connection.read_response()

    def close(self):
        self.connection.disconnect()


def test_others_are_answered_while_a_promise_is_planned(servers):
    server = servers()
    asking = Conversation(server)
    asking.send("APBF.RESERVE", "hard", *HARD)
    for _ in range(10):
        assert server.client.execute_command("APBF.ADD", "other", "a") in (0, 1)
        assert server.client.exists("hard") == 0
    assert not asking.has_answer(), "the plan was there sooner than ten other answers"
    assert asking.answer() == b"OK"
    assert info(server.client, "hard")["window"] == 1_000_000
    # It is remembered.
    assert server.client.execute_command("APBF.RESERVE", "again", *HARD) == b"OK"


def test_a_plan_and_an_insert_wait_as_well(client):
    plan = client.execute_command("APBF.PLAN", 0.003, 12_345)
    assert len(plan) > 10
    added = client.execute_command("APBF.INSERT", "f", "ERROR", 0.003, "WINDOW", 12_346, "ITEMS", "a", "b", "a")
    assert added == [1, 1, 0]


def test_the_second_of_two_that_wait_for_the_same_key_is_told_that_it_exists(server):
    first, second = Conversation(server), Conversation(server)
    for conversation in (first, second):
        conversation.send("APBF.RESERVE", "f", 0.003, 12_347)
    answers = []
    for conversation in (first, second):
        try:
            answers.append(conversation.answer())
        except redis.ResponseError as error:
            answers.append(str(error))
    assert b"OK" in answers
    assert any("already exists" in str(answer) for answer in answers)


def test_what_cannot_be_promised_is_refused_after_the_wait_and_from_memory(client):
    for _ in range(2):
        with pytest.raises(redis.ResponseError, match="slack"):
            client.execute_command("APBF.RESERVE", "f", 0.003, 10, "SLACK", 0.001)
    assert client.exists("f") == 0


def test_transactions_and_scripts_do_not_wait_but_get_their_answers(client):
    pipeline = client.pipeline(transaction=True)
    pipeline.execute_command("APBF.RESERVE", "f", 0.003, 12_348)
    pipeline.execute_command("APBF.ADD", "f", "a")
    assert pipeline.execute() == [b"OK", 1]
    script = "redis.call('APBF.RESERVE', KEYS[1], '0.003', '12349') return redis.call('APBF.ADD', KEYS[1], 'a')"
    assert client.eval(script, 1, "g") == 1


def test_who_leaves_while_waiting_harms_nobody(servers):
    server = servers()
    asking = Conversation(server)
    asking.send("APBF.RESERVE", "hard", *HARD)
    eventually(lambda: server.client.info("clients")["blocked_clients"] == 1)
    asking.close()
    eventually(lambda: server.client.info("clients")["blocked_clients"] == 0)
    # Its plan is made and remembered all the same, sooner or later.
    assert server.connect(socket_timeout=300).execute_command("APBF.RESERVE", "hard", *HARD) == b"OK"


def pair(servers):
    primary = servers("--save", "3600 1")
    replica = servers("--replicaof", "127.0.0.1", primary.port)
    eventually(lambda: replica.client.info("replication")["master_link_status"] == "up")
    # It has to have acknowledged something, or nobody waits for it.
    eventually(lambda: primary.client.info("replication")["slave0"]["state"] == "online")
    primary.client.set("key", "value")
    assert primary.client.wait(1, 60_000) == 1
    return primary, replica


@contextmanager
def lagging(primary, replica):
    """A replica that lacks the last write."""
    replica.process.send_signal(signal.SIGSTOP)
    try:
        primary.client.set("key", "newer")
        yield
    finally:
        replica.process.send_signal(signal.SIGCONT)


def asks_and_waits(server, *command):
    asking = Conversation(server)
    asking.send(*command)
    eventually(lambda: server.client.info("clients")["blocked_clients"] == 1)
    return asking


@pytest.mark.parametrize("command", [
    ("APBF.RESERVE", "hard", *HARD), ("APBF.INSERT", "hard", "ERROR", 1e-6, "WINDOW", 1_000_000, "SLACK", 0.05, "ITEMS", "a")])
def test_nothing_is_written_while_writes_are_paused(servers, command):
    server = servers("--appendonly", "yes")
    asking = asks_and_waits(server, *command)
    server.client.execute_command("CLIENT", "PAUSE", 600_000, "WRITE")
    assert not asking.has_answer(), "the plan was there sooner than the pause"
    with pytest.raises(TryAgainError, match="writes were paused"):
        asking.answer()
    assert server.client.exists("hard") == 0
    # What writes nothing is answered as ever.
    assert server.connect().execute_command("APBF.PLAN", 0.003, 12_351)
    server.client.execute_command("CLIENT", "UNPAUSE")
    assert server.client.execute_command(*command) in (b"OK", [1]), "the plan is remembered"
    server.restart()
    assert info(server.client, "hard")["window"] == 1_000_000


def test_nothing_is_written_during_a_failover(servers):
    primary, replica = pair(servers)
    with lagging(primary, replica):
        asking = asks_and_waits(primary, "APBF.RESERVE", "hard", *HARD)
        primary.client.execute_command("FAILOVER")
        assert not asking.has_answer(), "the plan was there sooner than the failover"
        with pytest.raises(TryAgainError, match="writes were paused"):
            asking.answer()
    eventually(lambda: replica.client.info("replication")["role"] == "master")
    assert replica.connect(socket_timeout=300).execute_command("APBF.RESERVE", "hard", *HARD) == b"OK"
    eventually(lambda: primary.client.exists("hard"))
    assert primary.digest("hard") == replica.digest("hard")


def test_nothing_is_written_while_a_shutdown_waits_for_a_replica(servers):
    primary, replica = pair(servers)
    primary.client.config_set("shutdown-timeout", 600)
    with lagging(primary, replica):
        asking = asks_and_waits(primary, "APBF.RESERVE", "hard", *HARD)
        primary.process.terminate()
        with pytest.raises(TryAgainError, match="writes were paused"):
            asking.answer()
    assert primary.process.wait(timeout=60) == 0
    assert "DB saved on disk" in primary.log()
    eventually(lambda: replica.client.get("key") == b"newer")


@pytest.mark.parametrize("protocol", [2, 3])
def test_an_answer_after_waiting_is_of_the_client_s_version(server, protocol):
    client = server.connect(protocol=protocol)
    plan = client.execute_command("APBF.PLAN", 0.003, 12_350 + protocol)
    assert isinstance(plan, dict if protocol == 3 else list)
