"""Data sets of texts, from small archives in the published form."""

import gzip
import io
import tarfile
import zipfile

import numpy as np
import pytest

from argosy.text import WMT14, WMT16, Conll05st, Imdb, Imikolov, Movielens, UCIHousing


def tar(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            data = data if isinstance(data, bytes) else data.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return str(path)


def same(sample, *expected):
    assert len(sample) == len(expected)
    for got, want in zip(sample, expected):
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, want)


def test_uci_housing(tmp_path):
    table = np.random.RandomState(0).rand(10, 14) * 50
    path = tmp_path / "housing.data"
    np.savetxt(path, table, fmt="%.6f")
    table = np.loadtxt(path)
    train, test = UCIHousing(str(path), "train"), UCIHousing(str(path), mode="test")
    assert (len(train), len(test)) == (8, 2)
    x = table[:, :13]
    x = (x - x.mean(0)) / (x.max(0) - x.min(0))
    for data, first in ((train, 0), (test, 8)):
        features, price = data[1]
        assert features.dtype == price.dtype == np.float32
        assert features.shape == (13,) and price.shape == (1,)
        np.testing.assert_allclose(features, x[first + 1], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(price, table[first + 1, 13:], rtol=1e-6)
    (tmp_path / "short").write_text("1 2 3")
    with pytest.raises(ValueError, match="14 numbers"):
        UCIHousing(str(tmp_path / "short"))


def test_imdb(tmp_path):
    path = tar(
        tmp_path / "a.tgz",
        {
            "aclImdb/train/pos/0.txt": "Good, good film!\n",
            "aclImdb/train/neg/1.txt": "bad film",
            "aclImdb/test/pos/2.txt": "good",
            "aclImdb/test/neg/3.txt": "a bad, bad film",
            "aclImdb/train/unsup/4.txt": "film film film",
            "aclImdb/README": "film",
        },
    )
    train, test = Imdb(path, cutoff=1), Imdb(path, mode="test", cutoff=1)
    assert train.word_idx == {b"bad": 0, b"film": 1, b"good": 2, "<unk>": 3}
    same(train[0], [2, 2, 1], [0])
    same(train[1], [0, 1], [1])
    same(test[0], [2], [0])
    same(test[1], [3, 0, 0, 1], [1])
    assert len(train) == len(test) == 2
    with pytest.raises(ValueError, match="smaller number"):
        Imdb(path, cutoff=100)


def test_imikolov(tmp_path):
    folder = "./simple-examples/data/ptb."
    path = tar(
        tmp_path / "a.tgz",
        {f"{folder}train.txt": "a b a\nb c\n", f"{folder}valid.txt": "a\n",
         f"{folder}test.txt": "c a b a\n"},
    )  # fmt: skip
    grams = Imikolov(path, "NGRAM", 3, min_word_freq=1)
    assert grams.word_idx == {"<e>": 0, "<s>": 1, b"a": 2, b"b": 3, "<unk>": 4}
    assert grams.data == [(1, 2, 3), (2, 3, 2), (3, 2, 0), (1, 3, 4), (3, 4, 0)]
    same(grams[0], 1, 2, 3)
    pairs = Imikolov(path, "SEQ", mode="test", min_word_freq=1)
    same(pairs[0], [1, 4, 2, 3, 2], [4, 2, 3, 2, 0])
    assert len(Imikolov(path, "SEQ", 3, min_word_freq=1)) == 1
    with pytest.raises(AssertionError, match="window_size"):
        Imikolov(path, min_word_freq=1)
    with pytest.raises(AssertionError, match="data_type"):
        Imikolov(path, "WORDS")


def test_movielens(tmp_path):
    path = str(tmp_path / "ml-1m.zip")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ml-1m/movies.dat", "3::Blue Sky (1994)::Drama|War\n7::Sky (2000)::War\n")
        archive.writestr("ml-1m/users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n")
        ratings = [(1 + i % 2, (3, 7)[i % 2], 1 + i % 5) for i in range(40)]
        lines = [f"{u}::{m}::{r}::978300760\n" for u, m, r in ratings]
        archive.writestr("ml-1m/ratings.dat", "".join(lines))
    state = np.random.get_state()[1]
    train, test = Movielens(path, test_ratio=0.3), Movielens(path, "test", test_ratio=0.3)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    is_test = np.random.RandomState(0).random_sample(40) < 0.3
    assert len(test) == is_test.sum() and len(train) == 40 - len(test)
    first = int(np.flatnonzero(is_test)[0])
    user, movie, stars = ratings[first]
    person = ([1], [1], [0], [10]) if user == 1 else ([2], [0], [6], [16])
    film = ([3], [0, 1], [0, 1]) if movie == 3 else ([7], [1], [1])
    same(test[0], *person, *film, [2.0 * stars - 5])
    assert train.movie_info[3].title == "Blue Sky "
    assert "gender(F), age(1), job(10)" in str(train.user_info[1])


def conll_files(tmp_path):
    folder = "conll05st-release/test.wsj"
    words = "The\ncat\nsat\nhere\n\nGo\n\n"
    roles = "- (A0* \n- *) \nsit (V*)\n- (AM-LOC*)\n\ngo (V*)\n\n"
    path = tar(
        tmp_path / "tests.tgz",
        {f"{folder}/words/test.wsj.words.gz": gzip.compress(words.encode()),
         f"{folder}/props/test.wsj.props.gz": gzip.compress(roles.encode())},
    )  # fmt: skip
    (tmp_path / "words").write_text("<unk>\ncat\nsat\nbos\neos\nThe\n")
    (tmp_path / "verbs").write_text("go\nsit\n")
    (tmp_path / "labels").write_text("B-A0\nI-A0\nB-V\nB-AM-LOC\nO\n")
    (tmp_path / "emb").write_text("")
    return [path, *(str(tmp_path / name) for name in ("words", "verbs", "labels", "emb"))]


def test_conll05(tmp_path):
    data = Conll05st(*conll_files(tmp_path))
    assert len(data) == 2
    words, verbs, labels = data.get_dict()
    assert labels == {
        "B-A0": 0,
        "I-A0": 1,
        "B-V": 2,
        "I-V": 3,
        "B-AM-LOC": 4,
        "I-AM-LOC": 5,
        "O": 6,
    }
    assert data.labels[0] == ["B-A0", "I-A0", "B-V", "B-AM-LOC"]
    four = np.ones(4, int)
    same(data[0], [5, 1, 2, 0], 5 * four, four, 2 * four, 0 * four, 4 * four, four, four,
         [0, 1, 2, 4])  # fmt: skip
    same(data[1], [0], [3], [3], [0], [4], [4], [0], [1], [2])
    assert data.get_embedding().endswith("emb")


def test_a_file_in_the_archive_that_unpacks_to_too_much(tmp_path, monkeypatch):
    from argosy.text.datasets import _read

    files = conll_files(tmp_path)
    monkeypatch.setattr(_read, "_LARGEST", 5)
    with pytest.raises(ValueError, match=r"\[Conll05st\].*unpacks to more than 5 bytes"):
        Conll05st(*files)


def test_roles_over_several_words():
    from argosy.text.datasets.conll05 import _roles

    marks = ["*", "(A1*", "*", "*)", "*", "(V*)", "*"]
    assert _roles(marks) == ["O", "B-A1", "I-A1", "I-A1", "O", "B-V", "O"]
    with pytest.raises(RuntimeError, match="unexpected label"):
        _roles(["?"])


def test_wmt14(tmp_path):
    words = "<s>\n<e>\n<unk>\na\nb\nc\n"
    path = tar(
        tmp_path / "a.tgz",
        {"wmt14/src.dict": words, "wmt14/trg.dict": words,
         "wmt14/train/train": f"a b c\tb c\nno columns\n{'a ' * 79}\ta\n", "wmt14/test/test": "c\tc"},
    )  # fmt: skip
    data = WMT14(path, "train", 5)
    assert len(data) == 1 and len(WMT14(path, "gen", 5)) == 0
    same(data[0], [0, 3, 4, 2, 1], [0, 4, 2], [4, 2, 1])
    same(WMT14(path, "test", 6)[0], [0, 5, 1], [0, 5], [5, 1])
    source, target = data.get_dict(reverse=True)
    assert source == target == dict(enumerate(words.split()[:5]))
    with pytest.raises(AssertionError, match="dict_size"):
        WMT14(path)


def test_wmt16(tmp_path):
    files = {"wmt16/train": "a b\tx y\nb\ty z\n", "wmt16/val": "b q\tz\n", "wmt16/test": "a\tx\n"}
    path = tar(tmp_path / "a.tgz", files)
    data = WMT16(path, "val", 5, 5)
    assert data.get_dict("en") == {"<s>": 0, "<e>": 1, "<unk>": 2, "b": 3, "a": 4}
    assert data.get_dict("de", reverse=True) == {0: "<s>", 1: "<e>", 2: "<unk>", 3: "y", 4: "x"}
    same(data[0], [0, 3, 2, 1], [0, 2], [2, 1])
    german = WMT16(path, "train", 5, 4, lang="de")
    assert len(german) == 2
    same(german[1], [0, 3, 2, 1], [0, 3], [3, 1])
    with pytest.raises(AssertionError, match="positive"):
        WMT16(path)


@pytest.mark.parametrize(
    "data_set", [UCIHousing, Imdb, Imikolov, Movielens, Conll05st, WMT14, WMT16]
)
def test_missing_files(data_set, tmp_path, monkeypatch):
    for home in ("HOME", "ARGOSY_DATA_HOME"):
        monkeypatch.setenv(home, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="Do this: put the file"):
        data_set()
    with pytest.raises(AssertionError, match="Do this"):
        data_set(download=False)
    with pytest.raises(FileNotFoundError, match="no such file"):
        data_set(str(tmp_path / "absent"))
    if data_set is not Conll05st:
        with pytest.raises(AssertionError, match="unknown mode"):
            data_set(mode="other")


@pytest.mark.parametrize("data_set", [Imdb, Imikolov, Movielens])
def test_damaged_archives(data_set, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="Do this"):
        data_set(str(path))
    with pytest.raises(ValueError, match="Do this"):
        data_set(tar(tmp_path / "empty.tgz", {"x": ""}))
