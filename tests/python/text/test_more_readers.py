"""Readers at the old address argosy.dataset over data sets of `text` and `vision.datasets`."""

import gzip
import io
import tarfile
import zipfile

import numpy as np
import pytest

from argosy import dataset
from argosy.dataset import common


def write_tar(path, files, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return str(path)


def test_wmt14(tmp_path):
    path = write_tar(
        tmp_path / "wmt14.tgz",
        {
            "src.dict": b"<s>\n<e>\n<unk>\nhello\nworld",
            "trg.dict": b"<s>\n<e>\n<unk>\nsalut",
            "train/train": b"hello world\tsalut monde",
            "test/test": b"world\tsalut",
            "gen/gen": b"hello\tsalut",
        },
    )
    read = dataset.wmt14.train(5, path)
    for _ in range(2):
        assert list(read()) == [([0, 3, 4, 1], [0, 3, 2], [3, 2, 1])]
    assert list(dataset.wmt14.test(5, path)()) == [([0, 4, 1], [0, 3], [3, 1])]
    assert list(dataset.wmt14.gen(4, path)()) == [([0, 3, 1], [0, 3], [3, 1])]
    source, target = dataset.wmt14.get_dict(5, data_file=path)
    assert source[3] == "hello" and target[3] == "salut"
    assert dataset.wmt14.get_dict(5, False, path)[0]["world"] == 4


def test_wmt16(tmp_path):
    path = write_tar(
        tmp_path / "wmt16.tar.gz",
        {
            "wmt16/train": b"a b\tx y",
            "wmt16/test": b"a\tz",
            "wmt16/val": b"b\ty",
        },
    )
    english = dataset.wmt16.get_dict("en", 5, data_file=path)
    german = dataset.wmt16.get_dict("de", 5, data_file=path)
    (source, target, following) = next(dataset.wmt16.train(5, 5, data_file=path)())
    assert source == [0, english["a"], english["b"], 1]
    assert target == [0, german["x"], german["y"]] and following == [german["x"], german["y"], 1]
    assert list(dataset.wmt16.test(5, 5, "de", path)()) == [
        ([0, 2, 1], [0, english["a"]], [english["a"], 1])
    ]
    assert next(dataset.wmt16.validation(5, 5, data_file=path)())[0] == [0, english["b"], 1]
    assert dataset.wmt16.get_dict("en", 5, True, path)[0] == "<s>"


def test_imikolov(tmp_path):
    text = {
        f"./simple-examples/data/ptb.{part}.txt": content
        for part, content in (
            ("train", b"the cat\nthe dog\n"),
            ("valid", b"the cow\n"),
            ("test", b""),
        )
    }
    path = write_tar(tmp_path / "simple-examples.tgz", text)
    words = dataset.imikolov.build_dict(0, path)
    start, end, the, unknown = (
        words.get(w, words.get(w.encode())) for w in ("<s>", "<e>", "the", "<unk>")
    )
    cat, dog, cow = (words[w] for w in (b"cat", b"dog", b"cow"))
    kinds = dataset.imikolov.DataType
    pairs = list(dataset.imikolov.train(words, 2, data_file=path)())
    assert pairs == [(start, the), (the, cat), (cat, end), (start, the), (the, dog), (dog, end)]
    assert list(dataset.imikolov.test(words, 0, kinds.SEQ, path)()) == [
        ([start, the, cow], [the, cow, end])
    ]
    few = dict(words)
    del few[b"cow"]
    assert next(dataset.imikolov.test(few, 0, kinds.SEQ, path)())[0] == [start, the, unknown]
    with pytest.raises(
        AssertionError, match="data_type: expected DataType.NGRAM or DataType.SEQ, got 3"
    ):
        dataset.imikolov.train(words, 2, 3, path)


def test_movielens(tmp_path):
    path = tmp_path / "ml-1m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "ml-1m/movies.dat", "1::Toy Story (1995)::Animation|Comedy\n7::Heat (1995)::Action\n"
        )
        archive.writestr("ml-1m/users.dat", "1::F::1::10::48067\n2::M::25::3::1234\n")
        archive.writestr("ml-1m/ratings.dat", "1::1::5::0\n2::7::3::0\n")
    path = str(path)
    lens = dataset.movielens
    assert [lens.max_movie_id(path), lens.max_user_id(path), lens.max_job_id(path)] == [7, 2, 10]
    assert sorted(lens.movie_categories(path)) == ["Action", "Animation", "Comedy"]
    assert sorted(lens.get_movie_title_dict(path)) == ["heat", "story", "toy"]
    assert (
        isinstance(lens.movie_info(path)[1], lens.MovieInfo)
        and lens.movie_info(path)[7].title == "Heat "
    )
    assert lens.age_table[lens.user_info(path)[2].age] == 25
    samples = list(lens.train(test_ratio=0.0, data_file=path)())
    assert (
        [s[0] for s in samples] == [[1], [2]]
        and samples[0][-1] == [5.0]
        and samples[1][-1] == [1.0]
    )
    parts = [len(list(make(3, 0.5, path)())) for make in (lens.train, lens.test)]
    assert sum(parts) == 2


def test_conll05(tmp_path):
    folder = "conll05st-release/test.wsj"
    data = write_tar(
        tmp_path / "conll.tgz",
        {
            f"{folder}/words/test.wsj.words.gz": gzip.compress(b"cats\nsleep\n\n"),
            f"{folder}/props/test.wsj.props.gz": gzip.compress(b"-\t(A0*)\nsleep\t(V*)\n\n"),
        },
    )
    files = {"data_file": data}
    for name, text in (
        ("word", "cats\nsleep"),
        ("verb", "sleep"),
        ("target", "B-A0\nI-A0\nB-V\nI-V\nO"),
    ):
        (tmp_path / name).write_text(text)
        files[f"{name}_dict_file"] = str(tmp_path / name)
    (tmp_path / "emb").write_bytes(b"")
    files["emb_file"] = str(tmp_path / "emb")
    words, verbs, labels = dataset.conll05.get_dict(**files)
    assert words == {"cats": 0, "sleep": 1} and verbs == {"sleep": 0}
    (sample,) = dataset.conll05.test(**files)()
    assert sample[0] == [0, 1] and sample[6] == [0, 0] and sample[7] == [1, 1]
    assert sample[8] == [labels["B-A0"], labels["B-V"]]
    assert dataset.conll05.get_embedding(**files) == str(tmp_path / "emb")


def test_voc2012(tmp_path):
    image = pytest.importorskip("PIL.Image")

    def png(pixels, kind):
        buffer = io.BytesIO()
        image.fromarray(pixels).save(buffer, kind)
        return buffer.getvalue()

    labels = np.arange(12, dtype="uint8").reshape(3, 4)
    root = "VOCdevkit/VOC2012"
    files = {
        f"{root}/ImageSets/Segmentation/{part}.txt": b"one\n"
        for part in ("train", "trainval", "val")
    }
    files[f"{root}/JPEGImages/one.jpg"] = png(np.full((3, 4, 3), 90, "uint8"), "JPEG")
    files[f"{root}/SegmentationClass/one.png"] = png(labels, "PNG")
    path = write_tar(tmp_path / "voc.tar", files, "w")
    for make in (dataset.voc2012.train, dataset.voc2012.test, dataset.voc2012.val):
        ((pixels, found),) = make(path)()
        assert (
            pixels.shape == (3, 4, 3)
            and pixels.dtype == np.uint8
            and abs(int(pixels[0, 0, 0]) - 90) < 3
        )
        np.testing.assert_array_equal(found, labels)


class TestFiles:
    def test_split_and_clusters(self, tmp_path):
        pattern = str(tmp_path / "%d.pickle")
        common.split(lambda: iter(range(7)), 2, pattern)
        read = [
            list(common.cluster_files_reader(pattern.replace("%d", "*"), 2, rank)())
            for rank in range(2)
        ]
        assert read == [[0, 1, 4, 5], [2, 3, 6]]

    def test_other_forms(self, tmp_path):
        common.split(
            lambda: iter("ab"),
            5,
            str(tmp_path / "%d"),
            lambda part, file: file.write("".join(part).encode()),
        )
        loaded = common.cluster_files_reader(
            str(tmp_path / "*"), 1, 0, lambda file: file.read().decode()
        )
        assert list(loaded()) == ["a", "b"]

    def test_wrong_arguments(self):
        with pytest.raises(TypeError, match="reader and dumper: expected functions"):
            common.split(3, 2)
        with pytest.raises(TypeError, match="line_count: expected an int of 1 or more, got 0"):
            common.split(lambda: iter([]), 0)
        with pytest.raises(TypeError, match="loader: expected a function"):
            common.cluster_files_reader("*", 1, 0, 3)
