"""Loaders that a generator feeds: iterated over, or taken from by the runs of a Program."""

import numpy as np
import pytest

import argosy
from argosy import base, static
from argosy.io import DataLoader


def samples(count=5):
    def reader():
        for i in range(count):
            yield [np.full(2, i), i]

    return reader


def inputs():
    return [static.data("x", [None, 2]), static.data("y", [None, 1], "int64")]


def test_feeds(start):
    x, y = feeds = inputs()
    loader = DataLoader.from_generator(feed_list=feeds, capacity=2)
    with pytest.raises(AssertionError, match="no generator yet"):
        list(loader)
    loader.set_sample_generator(samples(), batch_size=2, places=argosy.CPUPlace())
    exe = start()
    got = [exe.run(feed=feed, fetch_list=[x.sum(1), y]) for feed in loader()]
    np.testing.assert_array_equal(np.concatenate([g[0] for g in got]), [0, 2, 4, 6])
    np.testing.assert_array_equal(np.concatenate([g[1] for g in got]), [[0], [1], [2], [3]])
    listed = DataLoader.from_generator(feed_list=feeds, return_list=True, drop_last=False)
    listed.set_sample_generator(samples(), 2)
    assert [np.array(batch[0][1]).shape for batch in listed] == [(2, 1), (2, 1), (1, 1)]
    with pytest.raises(AssertionError, match="iterate over this one"):
        loader.start()


@pytest.mark.parametrize("make", [DataLoader.from_generator, base.io.PyReader])
def test_runs_take_batches(start, make):
    x, y = feeds = inputs()
    out = argosy.sum(x * 2) + y.sum().astype("float32")
    loader = make(feed_list=feeds, capacity=64, iterable=False, use_double_buffer=False)
    loader.decorate_sample_list_generator(argosy.batch(samples(), 2))
    evaluation = static.default_main_program().clone(for_test=True)
    exe = start()
    with pytest.raises(RuntimeError, match=r"DataLoader of \['x', 'y'\] is not under way.*start"):
        exe.run(fetch_list=[out])
    for _ in range(2):
        got = []
        loader.start()
        with pytest.raises(base.core.EOFException, match="at its end.*reset"):
            while True:
                got += exe.run(fetch_list=[out])
        loader.reset()
        np.testing.assert_array_equal(got, [5, 25, 20])
    feed = {"x": np.ones((1, 2), "float32"), "y": np.ones((1, 1), "int64")}
    assert exe.run(feed=feed, fetch_list=[out])[0] == 5
    loader.start()
    assert exe.run(evaluation, fetch_list=[out.name])[0] == 5
    with pytest.raises(AssertionError, match="iterable=False"):
        list(loader)


def test_sequences(start):
    words = static.data("words", [None, 1], "int64", lod_level=1)
    pooled = static.nn.sequence_pool(words.astype("float32"), "sum")
    loader = DataLoader.from_generator(feed_list=[words])
    loader.set_sample_generator(lambda: iter([([1, 2],), ([],), ([3],)]), 3)
    (feed,) = next(iter(loader))
    assert feed["words"].recursive_sequence_lengths() == [[2, 0, 1]]
    got = start().run(feed=feed, fetch_list=[pooled])[0]
    np.testing.assert_array_equal(got, [[3], [0], [3]])


def test_wrong_batches():
    feeds = inputs()
    with pytest.raises(ValueError, match="feed_list: expected the inputs"):
        DataLoader.from_generator()
    loader = DataLoader.from_generator(feed_list=feeds)
    with pytest.raises(AssertionError, match="batch_size must be larger than 0"):
        loader.set_sample_generator(samples(), 0)
    loader.set_batch_generator(lambda: iter([[np.ones((2, 2))]]))
    with pytest.raises(ValueError, match=r"expected 2 values, one for each of \['x', 'y'\], got 1"):
        next(iter(loader))
    loader.set_sample_list_generator(lambda: iter([[[1, 2], [1]]]))
    with pytest.raises(ValueError, match=r"samples of a batch have \[1, 2\] parts"):
        next(iter(loader))


def test_where_operations_run_at_once():
    argosy.disable_static()
    loader = DataLoader.from_generator(capacity=4)
    loader.set_batch_generator(lambda: iter([[np.ones((2, 3)), argosy.zeros([2])]]))
    ((a, b),) = loader()
    assert a.shape == [2, 3] and str(a.dtype).endswith("float64") and b.shape == [2]
    loader.set_sample_generator(samples(), 2)
    assert [batch[1].tolist() for batch in loader] == [[0, 1], [2, 3]]


def test_data_feeder(start):
    x, y = inputs()
    feeder = base.DataFeeder([x, "y"], base.CPUPlace())
    feed = feeder.feed([([1.0, 2.0], [1]), ([3.0, 4.0], [0])])
    assert feed["x"].shape() == [2, 2] and feed["y"].numpy().dtype == np.int64
    got = start().run(feed=feed, fetch_list=[x.sum(1), y])
    np.testing.assert_array_equal(got[0], [3, 7])
    np.testing.assert_array_equal(got[1], [[1], [0]])
    (first,) = feeder.decorate_reader(lambda: iter([[([1, 2], [3])]]), multi_devices=False)()
    assert first["y"].numpy().tolist() == [[3]]
    image = static.data("image", [None, 1, 2, 2])
    flat = base.DataFeeder([image], base.CPUPlace()).feed([(np.arange(4),)] * 3)
    assert flat["image"].shape() == [3, 1, 2, 2]


def test_data_feeder_says_what_is_wrong():
    x, y = inputs()
    feeder = base.DataFeeder([x, y], base.CPUPlace())
    with pytest.raises(ValueError, match=r"expected 2 values, one for each of \['x', 'y'\], got 1"):
        feeder.feed([([1.0, 2.0],)])
    with pytest.raises(ValueError, match="var z not in this block"):
        base.DataFeeder(["z"], base.CPUPlace())
    with pytest.raises(NotImplementedError, match="multi_devices=True"):
        feeder.decorate_reader(lambda: iter(()), multi_devices=True)
