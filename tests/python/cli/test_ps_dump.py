import array
import json

import pytest

from argosy.cli import main

SUM = {"rule": "sum", "initial_range": 0}
TABLES = [
    {"id": 0, "name": "rows", "kind": "sparse", "accessor": {"dim": 2, "embedding": SUM}},
    {"id": 1, "name": "numbers", "kind": "dense", "size": 5, "accessor": {"embedding": SUM}},
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    from argosy import _ps

    directory = tmp_path_factory.mktemp("saved")
    options = dict(endpoint="127.0.0.1:0", servers=2, tables=TABLES, save_roots=[str(directory)])
    servers = [_ps.Server(json.dumps(dict(options, index=i))) for i in range(2)]
    client = _ps.Client(json.dumps(dict(endpoints=[f"127.0.0.1:{s.port}" for s in servers])))
    keys = array.array("Q", [7, 1, 1 << 63])
    client.push_sparse(0, keys, array.array("f", [0.5, 1, 2, 3, 4, 5]))
    client.push_dense(1, array.array("f", [0, 1, 2, 3, 4]))
    assert client.save(str(directory / "model"), 0) == 3
    for s in servers:
        s.stop()
    return directory


def test_summary(saved, capsys):
    assert main(["ps-dump", str(saved / "model")]) == 0
    out = capsys.readouterr().out
    assert "written by 2 servers (2 parts here), mode 0" in out
    assert "table 0 'rows': sparse, 3 rows, " in out and "embedding=sum" in out
    assert "table 1 'numbers': dense, size 5, " in out


def test_rows(saved, capsys):
    assert main(["ps-dump", str(saved / "model"), "--table", "rows"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == ["1\t2\t3", "7\t0.5\t1", "9223372036854775808\t4\t5"]
    assert main(["ps-dump", str(saved / "model"), "--table", "0", "--limit", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_dense_to_a_file(saved, capsys):
    out = saved / "out.txt"
    assert main(["ps-dump", str(saved / "model"), "--table", "numbers", "--output", str(out)]) == 0
    assert out.read_text() == "0\t0\n1\t1\n2\t2\n3\t3\n4\t4\n"


def test_errors_say_what_to_do(saved, capsys):
    assert main(["ps-dump", str(saved / "model"), "--table", "x"]) == 1
    assert "name one of 0 'rows', 1 'numbers'" in capsys.readouterr().err
    assert main(["ps-dump", str(saved)]) == 1
    assert "no snapshot.json" in capsys.readouterr().err
    manifest = next((saved / "model").glob("*/part-0-of-2/manifest.json"))
    text = manifest.read_text()
    manifest.write_text(text.replace('"mode": 0', '"mode": 1'))
    assert main(["ps-dump", str(saved / "model")]) == 1
    assert f"'{manifest}' is damaged" in capsys.readouterr().err
    manifest.write_text(text)
