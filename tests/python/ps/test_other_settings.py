"""Servers that go on with what servers with other settings left."""

import threading
import time

import numpy as np
import pytest
from tests.faults import proxy
from tests.python.ps.jobs import DENSE, SPARSE, SUM, connect, pull, push, serve, stats

COUNTED = {"kind": "count", "count": 3}
CLICK_ROWS = {"kind": "click", "dim": 4, "weight": SUM, "embedding": SUM, "show_scale": False}


def tables(**config):
    return [{**SPARSE, **config}, DENSE]


def push_rows(client, keys, click):
    values = np.ones((len(keys), 8 if click else 4), np.float32)
    client.push_sparse(0, np.asarray(keys, np.uint64), values)


@pytest.mark.parametrize("click", [False, True], ids=["plain", "click"])
@pytest.mark.parametrize("others", [{"kind": "always"}, {"kind": "probability", "probability": 1}])
def test_keys_that_a_table_counted_load_where_nobody_counts(tmp_path, click, others):
    accessor = {"accessor": CLICK_ROWS} if click else {}
    counting = tables(**accessor, admission=COUNTED)
    server = serve(tables=counting, save_roots=[str(tmp_path)])
    client = connect([server], tables=counting)
    rows, candidates = np.arange(5000, 5100), np.arange(1000)
    for _ in range(3):
        push_rows(client, rows, click)
    push_rows(client, candidates, click)
    client.save(str(tmp_path / "model"), 0)
    server.stop()

    admitting = tables(**accessor, admission=others)
    server = serve(tables=admitting, save_roots=[str(tmp_path)])
    client = connect([server], tables=admitting)
    push_rows(client, candidates[:10], click)
    client.load(str(tmp_path / "model"), 0)
    width = 7 if click else 4
    assert not pull(client, candidates, False, width).any()
    kept = pull(client, rows, False, width)
    assert (kept != 0).any() and (kept == kept[0]).all()
    assert stats(client)[0]["tables"][0]["rows"] == len(rows)
    push_rows(client, candidates, click)
    made = pull(client, candidates, False, width)
    assert (made != 0).any() and (made == made[0]).all()
    np.testing.assert_array_equal(pull(client, rows, False, width), kept)
    server.stop()


def test_candidates_in_a_tier_on_disk_are_no_rows_where_nobody_counts(tmp_path):
    disk = {"tier": "ssd", "directory": str(tmp_path / "rows"), "memory_rows": 1024}
    keys = np.arange(20_000)
    server = serve(tables=tables(**disk, admission=COUNTED))
    push(connect([server], tables=tables(**disk, admission=COUNTED)), keys)
    server.stop()
    del server  # closes the database
    server = serve(tables=tables(**disk))
    client = connect([server], tables=tables(**disk))
    assert not pull(client, keys, False).any()
    push(client, keys, 2.0)
    assert (pull(client, keys, False) == 2).all()
    server.stop()


def kept(directory, port=0, **options):
    """A server with a log there, and with these settings."""
    return serve(
        endpoint=f"127.0.0.1:{port}",
        save_roots=[str(directory)],
        **{"durability": "log", "directory": str(directory / "state"), "token": "a", **options},
    )


@pytest.mark.parametrize("below", ["", "save-1", "log", "log/models"])
def test_no_save_into_what_an_earlier_server_keeps(tmp_path, below):
    server = kept(tmp_path)
    push(connect([server], token="a"), [1], 3.0)
    server.stop()
    server = kept(tmp_path, durability="none")
    client = connect([server], token="a")
    push(client, [1], 100.0)
    with pytest.raises(ValueError, match="cannot save into .* is the state of a server. Do this"):
        client.save(str(tmp_path / "state/server-0-of-1" / below), 0)
    client.save(str(tmp_path / "model"), 0)
    server.stop()
    server = kept(tmp_path)
    assert pull(connect([server], token="a"), [1])[0, 0] == 3
    server.stop()


class LostAnswer:
    """A client whose push was applied and not answered, before its server ended."""

    def __init__(self, directory):
        self.directory = directory
        server = kept(directory)
        self.port, self.outcome = server.port, []
        self.link = proxy.Link(server.port)
        client = connect([self.link.port], token="a", attempt_deadline=0.5, call_deadline=30)
        for _ in range(4):  # over each of its connections
            threads = [threading.Thread(target=push, args=(client, [1, 2, 3])) for _ in range(2)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.link.set("mute")
        self.thread = threading.Thread(target=self.push, args=(client,))
        self.thread.start()
        own = connect([server], token="a")
        end = time.monotonic() + 20
        while pull(own, [1])[0, 0] != 13:
            assert time.monotonic() < end
            time.sleep(0.01)
        server.stop()

    def push(self, client):
        try:
            push(client, [1, 2, 3], 5.0)
            self.outcome.append("ok")
        except Exception as error:
            self.outcome.append(error)

    def serve(self, **options):
        """What came of the push with a server of other settings, and the row's value."""
        server = kept(self.directory, self.port, **options)
        try:
            self.link.set("")
            self.thread.join(40)
            own = connect([server], token=options.get("token", "a"))
            return self.outcome[0], pull(own, [1])[0, 0]
        finally:
            server.stop()
            self.link.close()


def test_a_push_that_was_applied_is_answered_whatever_the_limit_is_now(tmp_path):
    outcome, value = LostAnswer(tmp_path).serve(max_keys=2)
    assert (outcome, value) == ("ok", 13)


def test_who_has_another_token_now_hears_that_the_push_may_have_been_applied(tmp_path):
    outcome, value = LostAnswer(tmp_path).serve(token="b")
    assert isinstance(outcome, OSError) and value == 13
    assert "an attempt before that got no answer may have been applied" in str(outcome)


def test_a_server_that_starts_anew_counts_the_rows_of_a_client_anew(tmp_path):
    server = kept(tmp_path, max_client_rows=4)
    client = connect([server], token="a")
    for first in (0, 10):
        push(client, range(first, first + 4))
        with pytest.raises(ValueError, match="may make 4 .max_client_rows"):
            push(client, [first + 4])
        port = server.port
        server.stop()
        server = kept(tmp_path, port, max_client_rows=4)
    assert (pull(client, [0, 1, 2, 3, 10, 11, 12, 13], False) == 1).all()
    server.stop()
