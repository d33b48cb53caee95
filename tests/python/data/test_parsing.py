"""Files as batches, against reference.py."""

import gzip
import random

import numpy as np
import pytest
from tests.python.data import reference

import argosy as paddle
from argosy import _core

static = paddle.static


def batches(dataset, threads=1):
    source = dataset._start(threads)
    while (got := _core.data_next(source, 0)) is not None:
        values, lengths, samples = got
        yield (
            [np.array(v) for v in values],
            [None if n is None else np.array(n) for n in lengths],
            samples,
        )


def queue(files, use_var, **settings):
    dataset = paddle.distributed.QueueDataset()
    dataset.init(use_var=use_var, **settings)
    dataset.set_filelist([str(f) for f in files])
    return dataset


def variables():
    return [
        static.data("label", [None, 1], "int64"),
        static.data("ids", [None, 1], "int64", lod_level=1),
        static.data("dense", [None, 3], "float32"),
        static.data("weights", [None], "float32", lod_level=1),
    ]


KINDS = ("int", "int", "float", "float")


def samples(count, seed=0):
    draw = random.Random(seed)
    return [
        [
            [draw.randint(0, 1)],
            [draw.getrandbits(64) >> draw.randint(0, 63) for _ in range(draw.randint(0, 5))],
            [draw.uniform(-1, 1) * 10 ** draw.randint(-6, 6) for _ in range(3)],
            [float(draw.randint(-5, 5)) for _ in range(draw.randint(0, 2))],
        ]
        for _ in range(count)
    ]


def check(got, expected):
    values, lengths, count = got
    assert count == len(expected)
    np.testing.assert_array_equal(values[0].ravel(), reference.flat(expected, 0, "int64"))
    np.testing.assert_array_equal(values[1], reference.flat(expected, 1, "int64")[:, None])
    np.testing.assert_array_equal(values[2].ravel(), reference.flat(expected, 2, "float32"))
    np.testing.assert_array_equal(values[3], reference.flat(expected, 3, "float32"))
    assert values[0].shape == (count, 1) and values[2].shape == (count, 3)
    assert lengths[0] is None and lengths[2] is None
    np.testing.assert_array_equal(lengths[1], reference.lengths(expected, 1))
    np.testing.assert_array_equal(lengths[3], reference.lengths(expected, 3))


@pytest.mark.parametrize("batch_size", [1, 7, 100, 1000])
def test_batches_are_what_the_lines_say(tmp_path, batch_size):
    path = reference.write(tmp_path / "a", samples(300))
    expected = reference.read(path, KINDS)
    found = list(batches(queue([path], variables(), batch_size=batch_size)))
    assert len(found) == -(-300 // batch_size)
    for i, got in enumerate(found):
        check(got, expected[i * batch_size : (i + 1) * batch_size])


def test_in_memory_keeps_the_order_of_the_files(tmp_path):
    files = [reference.write(tmp_path / str(i), samples(50 + i, i)) for i in range(5)]
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(use_var=variables(), batch_size=64, thread_num=3)
    dataset.set_filelist(files)
    dataset.load_into_memory()
    ids = [i for got in batches(dataset) for i in got[0][1].ravel() if i]
    expected = [
        reference.signed(i) for f in files for s in reference.read(f, KINDS) for i in s[1] if i
    ]
    assert ids == expected


def test_three_hundred_slots(tmp_path):
    draw = random.Random(1)
    data = [
        [
            [draw.randrange(10**9) for _ in range(draw.choice([0, 0, 1, 1, 2, 9]))]
            for _ in range(300)
        ]
        for _ in range(120)
    ]
    path = reference.write(tmp_path / "a", data)
    slots = [static.data(f"s{i}", [None, 1], "int64", lod_level=1) for i in range(300)]
    (got,) = batches(queue([path], slots, batch_size=120))
    for i in range(300):
        np.testing.assert_array_equal(got[0][i].ravel(), reference.flat(data, i, "int64"))
        np.testing.assert_array_equal(got[1][i], reference.lengths(data, i))


def test_packed_files_and_other_ends_of_lines(tmp_path):
    data = samples(20)
    path = reference.write(tmp_path / "a", data)
    text = open(path, "rb").read()
    with gzip.open(tmp_path / "b.gz", "wb") as f:
        f.write(text.replace(b"\n", b"\r\n"))
    (tmp_path / "c").write_bytes(b"\n \n" + text.rstrip(b"\n"))
    for name in ("b.gz", "c"):
        (got,) = batches(queue([tmp_path / name], variables(), batch_size=50))
        check(got, data)


def test_a_bad_line_is_told(tmp_path):
    path = tmp_path / "part-0"
    path.write_text("1 1 1 5\n1 0 2 6\n")
    slots = [
        static.data("y", [None, 1], "int64"),
        static.data("x", [None, 1], "int64", lod_level=1),
    ]
    with pytest.raises(ValueError) as error:
        list(batches(queue([path], slots, batch_size=5)))
    assert str(error.value) == (
        f"(InvalidArgument) [dataset] {path}:2: slot 'x' (2 of 2): expected 2 values, got the end of the line. Do this:"
        " mend the line, or init the data set with bad_lines='skip', which counts such lines and goes"
        " on."
    )
    dataset = queue([path], slots, batch_size=5, bad_lines="skip")
    (got,) = batches(dataset)
    assert got[2] == 1 and dataset.get_bad_line_count() == 1


def test_a_bad_line_ends_training_by_a_plain_error(tmp_path):
    """Though a Program is under construction on the thread that hears of it."""
    path = tmp_path / "part-0"
    path.write_text("1 5\n1 six\n")
    clicks = static.data("clicks", [None, 1], "int64", lod_level=1)
    loss = static.nn.embedding(clicks, [10, 2]).mean()
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    with pytest.raises(ValueError, match="part-0:2: slot 'clicks'") as error:
        exe.train_from_dataset(dataset=queue([path], [clicks], batch_size=1))
    assert type(error.value) is ValueError


def test_random_damage_is_told_or_read(tmp_path):
    """Whatever stands in a file: samples or a ValueError, and the same by both readers."""
    draw = random.Random(7)
    clean = open(reference.write(tmp_path / "clean", samples(30))).read()
    slots = variables()
    for i in range(60):
        text = list(clean)
        for _ in range(draw.randint(1, 5)):
            text[draw.randrange(len(text))] = draw.choice("0123456789 .-eE\nxnaif\t\r\x00")
        path = tmp_path / f"damaged{i}"
        path.write_text("".join(text))
        good = sum(got[2] for got in batches(queue([path], slots, batch_size=9, bad_lines="skip")))
        dataset = queue([path], slots, batch_size=9, bad_lines="skip")
        assert good <= sum(1 for line in "".join(text).split("\n") if line.strip())
        assert sum(got[2] for got in batches(dataset)) == good
        if dataset.get_bad_line_count():
            with pytest.raises(ValueError, match=r"damaged\d+:\d+: "):
                list(batches(queue([path], slots, batch_size=9)))


def test_pipe_command(tmp_path):
    data = samples(200)
    path = reference.write(tmp_path / "a", data)
    dataset = queue([path], variables(), batch_size=500, pipe_command="sed -n 'p;p'")
    (got,) = batches(dataset)
    check(got, [s for s in data for _ in range(2)])


def test_pipe_command_that_fails(tmp_path, capfd):
    path = reference.write(tmp_path / "a", samples(3))
    dataset = queue([path], variables(), pipe_command="cat; echo no such key >&2; exit 4")
    with pytest.raises(RuntimeError) as error:
        list(batches(dataset))
    assert str(error.value).endswith(
        f"failed on '{path}': exit code 4. Its last lines on stderr:\nno such key"
    )
    assert "no such key" in capfd.readouterr().err


def test_a_data_generator_as_pipe_command(tmp_path):
    script = tmp_path / "generator.py"
    script.write_text(
        "import sys\n"
        "from argosy.distributed.fleet import data_generator as dg\n"
        "class Words(dg.MultiSlotDataGenerator):\n"
        "    def generate_sample(self, line):\n"
        "        def samples():\n"
        "            words = line.split()\n"
        "            yield [('y', [len(words) % 2]), ('x', [len(w) for w in words])]\n"
        "        return samples\n"
        "Words().run_from_stdin()\n"
    )
    (tmp_path / "text").write_text("a bb ccc\ndddd\n")
    import sys

    slots = [
        static.data("y", [None, 1], "int64"),
        static.data("x", [None, 1], "int64", lod_level=1),
    ]
    command = f"{sys.executable} {script}"
    (got,) = batches(queue([tmp_path / "text"], slots, batch_size=9, pipe_command=command))
    assert got[0][0].ravel().tolist() == [1, 1] and got[0][1].ravel().tolist() == [1, 2, 3, 4]
    assert got[1][1].tolist() == [3, 1]


def test_a_command_that_downloads(tmp_path):
    path = reference.write(tmp_path / "a", samples(5))
    fetch = tmp_path / "fetch.sh"
    fetch.write_text(f'#!/bin/sh\ncat "{tmp_path}/$(basename "$1")"\n')
    fetch.chmod(0o755)
    dataset = queue(["hdfs://host/some/a"], variables(), batch_size=9, download_cmd=str(fetch))
    (got,) = batches(dataset)
    check(got, reference.read(path, KINDS))


def test_settings_are_checked(tmp_path):
    new = paddle.distributed.QueueDataset
    x = static.data("x", [None, 1], "int64")
    for settings, error, text in (
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"thread_num": 0}, ValueError, "thread_num"),
        ({"bad_lines": "ignore"}, ValueError, "bad_lines: expected one of error, skip"),
        ({"pipe_command": 3}, TypeError, "pipe_command"),
        ({"timeout": 0}, ValueError, r"\[dataset\] timeout: expected seconds > 0.*math.inf"),
        ({"timeout": "long"}, ValueError, "timeout"),
        ({"timeout": float("nan")}, ValueError, "timeout"),
        ({"batchsize": 3}, ValueError, "there is no setting 'batchsize'"),
        ({"use_var": [x, x]}, ValueError, "twice"),
        ({"use_var": [static.data("d", [None, 1], "float64")]}, ValueError, "float64"),
        ({"use_var": [static.data("w", [None, None], "int64")]}, ValueError, "lod_level=1"),
    ):
        with pytest.raises(error, match=text):
            new().init(**settings)
    with pytest.raises(TypeError):
        new().set_filelist("a.txt")
    dataset = new()
    with pytest.raises(RuntimeError, match="there are no files"):
        dataset._start(1)
    dataset.set_filelist([str(tmp_path / "none")])
    with pytest.raises(RuntimeError, match="use_var"):
        dataset._start(1)
    dataset.init(use_var=[x])
    with pytest.raises(OSError, match="cannot open"):
        list(batches(dataset))
