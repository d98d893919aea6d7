"""Planning takes long: a client that asks for a new promise waits for the plan, and no other client does."""

import os
import pathlib
import resource
import select
import signal
from contextlib import contextmanager

import pytest
import redis
from redis.exceptions import MovedError, TryAgainError

from conftest import eventually, info, named

# A small rate and very little slack take about two seconds to plan, long enough for the other steps of a test.
HARD = (1e-9, 1_000_000, "SLACK", 0.02)


class Conversation:
    """A connection that sends a command without waiting for the answer."""

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


def hard(number):
    """Returns one of many promises that take less time to plan than HARD, all the same time."""
    return 1e-6, 1_000_000 + number, "SLACK", 0.05


def threads_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def processor_seconds(server):
    """Returns the CPU time of all threads of the server, which does not include other work on the machine."""
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_of_one_plan(server):
    before = processor_seconds(server)
    server.connect(socket_timeout=300).execute_command("APBF.PLAN", *hard(-1))
    return processor_seconds(server) - before


def ask(server, promises):
    """Asks for each promise on a connection of its own, and returns when all wait or are answered."""
    asking = [Conversation(server) for _ in promises]
    for conversation, promise in zip(asking, promises):
        conversation.send("APBF.PLAN", *promise)
    waiting = lambda: server.client.info("clients")["blocked_clients"]
    eventually(lambda: waiting() + sum(conversation.has_answer() for conversation in asking) >= len(asking))
    return asking


def test_other_clients_are_answered_while_a_promise_is_planned(servers):
    server = servers()
    asking = Conversation(server)
    asking.send("APBF.RESERVE", "hard", *HARD)
    for _ in range(10):
        assert server.client.execute_command("APBF.ADD", "other", "a") in (0, 1)
        assert server.client.exists("hard") == 0
    assert not asking.has_answer(), "the plan was finished before ten other answers"
    assert asking.answer() == b"OK"
    assert info(server.client, "hard")["window"] == 1_000_000
    # The plan is remembered.
    assert server.client.execute_command("APBF.RESERVE", "again", *HARD) == b"OK"


def test_plan_and_insert_wait_as_well(client):
    plan = client.execute_command("APBF.PLAN", 0.003, 12_345)
    assert len(plan) > 10
    added = client.execute_command("APBF.INSERT", "f", "ERROR", 0.003, "WINDOW", 12_346, "ITEMS", "a", "b", "a")
    assert added == [1, 1, 0]


def test_when_two_clients_reserve_the_same_key_the_second_gets_an_error(server):
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


def test_an_impossible_promise_is_refused_after_the_wait_and_again_from_memory(client):
    for _ in range(2):
        with pytest.raises(redis.ResponseError, match="slack"):
            client.execute_command("APBF.RESERVE", "f", 0.003, 10, "SLACK", 0.001)
    assert client.exists("f") == 0


def test_transactions_and_scripts_get_their_answers_without_waiting(client):
    pipeline = client.pipeline(transaction=True)
    pipeline.execute_command("APBF.RESERVE", "f", 0.003, 12_348)
    pipeline.execute_command("APBF.ADD", "f", "a")
    assert pipeline.execute() == [b"OK", 1]
    script = "redis.call('APBF.RESERVE', KEYS[1], '0.003', '12349') return redis.call('APBF.ADD', KEYS[1], 'a')"
    assert client.eval(script, 1, "g") == 1


def test_a_client_may_disconnect_while_it_waits(servers):
    server = servers()
    asking = Conversation(server)
    asking.send("APBF.RESERVE", "hard", *HARD)
    eventually(lambda: server.client.info("clients")["blocked_clients"] == 1)
    asking.close()
    eventually(lambda: server.client.info("clients")["blocked_clients"] == 0)
    # A plan that was begun is finished and remembered.
    assert server.connect(socket_timeout=300).execute_command("APBF.RESERVE", "hard", *HARD) == b"OK"


def test_one_thread_plans_for_all_clients(servers):
    server = servers()
    seconds_of_one_plan(server)
    before = threads_of(server)
    asking = ask(server, [hard(number) for number in range(30)])
    assert threads_of(server) == before
    assert len(asking[0].answer()) > 10


def test_a_promise_that_many_clients_ask_for_at_the_same_time_is_planned_once(servers):
    server = servers()
    one = seconds_of_one_plan(server)
    before = processor_seconds(server)
    asking = ask(server, [hard(0)] * 20)
    assert len({tuple(map(str, conversation.answer())) for conversation in asking}) == 1
    assert processor_seconds(server) - before < 5 * one


def test_a_promise_that_no_client_waits_for_any_more_is_not_planned(servers):
    server = servers()
    one = seconds_of_one_plan(server)
    before = processor_seconds(server)
    for conversation in ask(server, [hard(number) for number in range(20)]):
        conversation.close()
    eventually(lambda: server.client.info("clients")["blocked_clients"] == 0)
    assert len(server.connect(socket_timeout=300).execute_command("APBF.PLAN", *hard(20))) > 10
    assert processor_seconds(server) - before < 5 * one


def test_the_queue_has_a_limit(servers):
    server = servers()
    # One is being planned, 256 wait, and the planner may finish a few before all clients have asked.
    asking = ask(server, [hard(number) for number in range(264)])
    full = "256 other promises are waiting to be planned, and the limit is 256: send the command again"
    with pytest.raises(TryAgainError, match=full):
        asking[-1].answer()
    assert server.client.execute_command("APBF.ADD", "f", "a") == 1, "the default promise is already planned"
    waiting = lambda: server.client.info("clients")["blocked_clients"]
    before = waiting()
    again = Conversation(server)
    again.send("APBF.PLAN", *hard(200))
    eventually(lambda: waiting() > before or again.has_answer())
    assert not again.has_answer(), "a client may wait for a promise that is already in the queue"
    for conversation in asking:
        conversation.close()
    assert len(again.answer()) > 10
    assert len(server.client.execute_command("APBF.PLAN", 0.003, 12_352)) > 10


def test_if_the_planner_thread_cannot_be_started_the_command_fails_and_the_server_goes_on(servers):
    server = servers()
    pid = server.process.pid
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0])
    limits = resource.prlimit(pid, resource.RLIMIT_AS)
    # Leave less memory than the stack of a thread needs.
    resource.prlimit(pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + 1_500_000, limits[1]))
    with pytest.raises(redis.ResponseError, match="the planner thread cannot be started .*: allow the server more"):
        server.client.execute_command("APBF.PLAN", 0.003, 12_353)
    resource.prlimit(pid, resource.RLIMIT_AS, limits)
    assert len(server.client.execute_command("APBF.PLAN", 0.003, 12_353)) > 10


def test_clients_get_their_plans_even_if_more_are_made_at_once_than_are_remembered(servers):
    """The server sleeps until all plans are made, and then answers all clients without planning again."""
    server = servers()
    in_a_row = server.client.pipeline(transaction=True).execute_command("APBF.PLAN", 0.003, 20_000)
    in_a_row.execute()
    used = lambda: server.client.info("commandstats")["cmdstat_apbf.plan"]["usec"]
    one = used()
    sleeping = Conversation(server)
    asking = [Conversation(server) for _ in range(40)]
    for number, conversation in enumerate(asking):
        conversation.send("APBF.PLAN", 0.003, 20_001 + number)
    sleeping.send("DEBUG", "SLEEP", min(60 * one / 1e6, 30))
    for number, conversation in enumerate(asking):
        assert named(conversation.answer())["window"] == 20_001 + number
    assert used() - one < 4 * one, "the server planned again"


def test_promises_with_nan_do_not_push_plans_out_of_memory(servers):
    server = servers()
    one = seconds_of_one_plan(server)
    for _ in range(17):
        for promise in [("nan", 1000), (0.01, 1000, "SLACK", "nan")]:
            with pytest.raises(redis.ResponseError, match="(?i)'nan'"):
                server.client.execute_command("APBF.PLAN", *promise)
    assert seconds_of_one_plan(server) < one / 2, "the promise was planned again"


def test_a_client_whose_slot_moves_while_it_waits_is_told_to_try_again(servers):
    first, second = (servers("--cluster-enabled", "yes") for _ in range(2))
    first.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    first.client.execute_command("CLUSTER", "MEET", "127.0.0.1", second.port)
    is_whole = lambda server: all(
        line in server.client.execute_command("CLUSTER", "INFO")
        for line in (b"cluster_state:ok", b"cluster_slots_assigned:16384", b"cluster_known_nodes:2"))
    eventually(lambda: is_whole(first) and is_whole(second))
    slot = first.client.execute_command("CLUSTER", "KEYSLOT", "hard")
    target = second.client.execute_command("CLUSTER", "MYID")
    asking = asks_and_waits(first, "APBF.RESERVE", "hard", *HARD)
    for server in (second, first):
        server.client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", target)
    assert not asking.has_answer(), "the plan was finished before the slot had moved"
    with pytest.raises(TryAgainError, match="the slot moved.*: send the command again"):
        asking.answer()
    asking.send("APBF.RESERVE", "hard", *HARD)
    with pytest.raises(MovedError, match=str(second.port)):
        asking.answer()
    assert second.connect(socket_timeout=300).execute_command("APBF.RESERVE", "hard", *HARD) == b"OK"


def pair(servers):
    primary = servers("--save", "3600 1")
    replica = servers("--replicaof", "127.0.0.1", primary.port)
    eventually(lambda: replica.client.info("replication")["master_link_status"] == "up")
    # FAILOVER and shutdown wait only for a replica that has acknowledged something.
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
    ("APBF.RESERVE", "hard", *HARD), ("APBF.INSERT", "hard", "ERROR", HARD[0], "WINDOW", *HARD[1:], "ITEMS", "a")])
def test_nothing_is_written_while_writes_are_paused(servers, command):
    server = servers("--appendonly", "yes")
    asking = asks_and_waits(server, *command)
    server.client.execute_command("CLIENT", "PAUSE", 600_000, "WRITE")
    assert not asking.has_answer(), "the plan was finished before the pause"
    with pytest.raises(TryAgainError, match="writes were paused"):
        asking.answer()
    assert server.client.exists("hard") == 0
    # Commands that write nothing are answered as usual.
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
        assert not asking.has_answer(), "the plan was finished before the failover"
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
def test_an_answer_after_waiting_uses_the_client_s_protocol_version(server, protocol):
    client = server.connect(protocol=protocol)
    plan = client.execute_command("APBF.PLAN", 0.003, 12_350 + protocol)
    assert isinstance(plan, dict if protocol == 3 else list)
