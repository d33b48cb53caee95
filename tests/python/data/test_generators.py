"""Data generators: what they write."""

import io
import sys

import pytest

from argosy.distributed import QueueDataset
from argosy.distributed.fleet.data_generator import (
    DataGenerator,
    MultiSlotDataGenerator,
    MultiSlotStringDataGenerator,
)


def run(generator, text, monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    monkeypatch.setattr(sys, "stdout", out)
    generator.run_from_stdin() if text is not None else generator.run_from_memory()
    return out.getvalue()


class Pairs(MultiSlotDataGenerator):
    def generate_sample(self, line):
        def samples():
            a, b = line.split()
            yield [("a", [int(a)]), ("b", [float(b), 1])]
            yield None

        return samples


def test_numbers(monkeypatch):
    pairs = Pairs()
    assert run(pairs, "1 0.5\n2 3\n", monkeypatch) == "1 1 2 0.5 1\n1 2 2 3.0 1\n"
    assert pairs._proto_info == [("a", "uint64"), ("b", "float")]


def test_batches(monkeypatch):
    class Padded(Pairs):
        def generate_batch(self, samples):
            def padded():
                for sample in samples:
                    yield [*sample, ("size", [len(samples)])]

            return padded

    padded = Padded()
    padded.set_batch(2)
    assert run(padded, "1 1\n2 2\n3 3\n", monkeypatch) == (
        "1 1 2 1.0 1 1 2\n1 2 2 2.0 1 1 2\n1 3 2 3.0 1 1 1\n"
    )


def test_texts_and_memory(monkeypatch):
    class Texts(MultiSlotStringDataGenerator):
        def generate_sample(self, line):
            assert line is None
            return lambda: iter([zip(["a", "b"], [["1", "x"], []])])

    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    Texts().run_from_memory()
    assert out.getvalue() == "2 1 x 0\n"


@pytest.mark.parametrize(
    "sample, text",
    [
        ("word", "must be a list or tuple"),
        ([("a", (1,))], "must be a list, got tuple"),
        ([("a", [])], "are empty"),
        ([("a", ["1"])], "must be ints or floats"),
        ([(1, [1])], "name of a slot"),
    ],
)
def test_what_is_wrong(sample, text):
    with pytest.raises(ValueError, match=text):
        MultiSlotDataGenerator()._gen_str(sample)


def test_slots_do_not_change():
    generator = MultiSlotDataGenerator()
    generator._gen_str([("a", [1]), ("b", [2])])
    with pytest.raises(ValueError, match="expected 2, got 1"):
        generator._gen_str([("a", [1])])
    with pytest.raises(ValueError, match="expected 'b', got 'c'"):
        generator._gen_str([("a", [1]), ("c", [2])])


def test_what_must_be_defined():
    with pytest.raises(NotImplementedError, match="generate_sample"):
        MultiSlotDataGenerator().run_from_memory()
    with pytest.raises(NotImplementedError, match="MultiSlotDataGenerator"):
        DataGenerator()._gen_str([])


def test_a_generator_is_checked_against_variables(tmp_path):
    class Variable:
        def __init__(self, name, dtype):
            self.name, self.dtype = name, dtype

    (tmp_path / "text").write_text("1 0.5\n2 3\n")
    check = QueueDataset()._check_use_var_with_data_generator
    a, b = Variable("a", "int64"), Variable("b", "float32")

    class Floats(Pairs):
        def generate_sample(self, line):
            x, y = line.split()
            return lambda: iter([[("a", [int(x)]), ("b", [float(y)])]])

    check([a, b], Floats(), tmp_path / "text")
    with pytest.raises(ValueError, match="var_list = 1 vs data_generator = 2"):
        check([a], Floats(), tmp_path / "text")
    with pytest.raises(TypeError, match="non-float"):
        check([b, a], Floats(), tmp_path / "text")
