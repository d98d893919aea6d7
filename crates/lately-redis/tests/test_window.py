"""The promise, compared with an exact window: no item of the window is forgotten, at any phase of a generation."""

import random

import pytest

from conftest import info, items, most_successes

LAYOUTS = ("SLICES", "BLOCKS", "ROWS", "BINS")


class ExactWindow:
    """Keeps the number of the last insert of every item."""

    def __init__(self):
        self.inserts = 0
        self.last = {}

    def insert(self, item):
        self.inserts += 1
        self.last[item] = self.inserts

    def holds(self, item, window):
        return item in self.last and self.inserts - self.last[item] < window


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("nx", (False, True), ids=("every", "first"))
def test_no_item_of_the_window_is_forgotten(client, layout, nx):
    window, rate = 701, 0.01
    client.execute_command("APBF.RESERVE", "f", rate, window, "LAYOUT", layout)
    chosen, exact, strangers, mistaken = random.Random(f"{layout}{nx}"), ExactWindow(), 0, 0
    for step in range(60):
        # Batches of different sizes, so that items are checked at every phase of a generation.
        batch = [f"{chosen.randrange(2000)}" if chosen.random() < 0.5 else f"new{step}.{i}"
                 for i in range(chosen.choice((1, 2, 17, 60, 143)))]
        command = ("APBF.ADDNX" if nx else "APBF.ADD") if len(batch) == 1 else ("APBF.MADDNX" if nx else "APBF.MADD")
        replies = client.execute_command(command, "f", *batch)
        for item, is_new in zip(batch, replies if len(batch) > 1 else [replies]):
            assert not (is_new and exact.holds(item, window)), f"{item} is in the window, but was new"
            if item not in exact.last:
                strangers += 1
                mistaken += not is_new
            if is_new or not nx:
                exact.insert(item)
        held = [item for item in exact.last if exact.holds(item, window)]
        assert client.execute_command("APBF.MEXISTS", "f", *held) == [1] * len(held)
    assert info(client, "f")["inserts"] == exact.inserts
    assert exact.inserts > 2 * window and strangers > window
    assert mistaken <= most_successes(strangers, rate)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_items_that_have_left_the_window_are_forgotten(client, layout):
    client.execute_command("APBF.RESERVE", "f", 0.001, 1000, "LAYOUT", layout, "SLACK", 0.2)
    for first in range(0, 5000, 500):
        client.execute_command("APBF.MADD", "f", *items(first, 500))
    reported = client.execute_command("APBF.MEXISTS", "f", *items(0, 5000))
    assert all(reported[4000:])
    # Items older than 2000 inserts, twice the window, are reported no more often than items never added.
    assert sum(reported[:3000]) <= most_successes(3000, 0.001)


def test_add_madd_and_insert_have_the_same_effect(client):
    numbers = random.Random(5)
    batch = [f"{numbers.randrange(400)}" for _ in range(1500)]
    for key in "abc":
        client.execute_command("APBF.RESERVE", key, 0.01, 300)
    one_by_one = client.pipeline(transaction=False)
    for item in batch:
        one_by_one.execute_command("APBF.ADD", "a", item)
    replies = one_by_one.execute()
    assert client.execute_command("APBF.MADD", "b", *batch) == replies
    assert client.execute_command("APBF.INSERT", "c", "ITEMS", *batch) == replies
    digests = {client.execute_command("DEBUG", "DIGEST-VALUE", key)[0] for key in "abc"}
    assert len(digests) == 1
