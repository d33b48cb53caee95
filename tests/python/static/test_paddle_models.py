"""Models that real Paddle saved, with the outputs that it gave (tools/paddle_models.py --save wrote them):
those whose names end in 2 are of Paddle 2.6 (.pdmodel), in 3 of 3.3 (.json). loops_wide2 is loops2 whose
variables without a value are of float64, as earlier versions wrote them."""

import json
import pathlib
import re
import struct

import numpy as np
import pytest

import argosy

FOLDER = pathlib.Path(__file__).parent / "paddle_models"
SAVED = sorted(p.stem for p in FOLDER.glob("*.npz"))
ASKED = [name for name in SAVED if name.startswith("asked")]  # for predictors alone
MODELS = [name for name in SAVED if name not in ASKED]
SUFFIX = {"2": ".pdmodel", "3": ".json"}


@pytest.fixture(autouse=True)
def static():
    argosy.enable_static()
    with argosy.static.scope_guard(argosy.static.Scope()):
        yield
    argosy.disable_static()


def files(name):
    return (
        (FOLDER / f"{name}{SUFFIX[name[-1]]}").read_bytes(),
        (FOLDER / f"{name}.pdiparams").read_bytes(),
    )


def values(name):
    """(inputs, outputs); the first input may be a batch of sequences."""
    with np.load(FOLDER / f"{name}.npz") as f:
        inputs = [f[k] for k in sorted(f.files) if k.startswith("arr_")]
        if "lengths" in f.files:
            lengths = [f["lengths"].tolist()]
            inputs[0] = argosy.base.create_lod_tensor(inputs[0], lengths, argosy.CPUPlace())
        return inputs, [f[k] for k in sorted(f.files) if k.startswith("out")]


def run(loaded, inputs):
    program, feeds, fetches = loaded
    exe = argosy.static.Executor()
    return exe.run(program, feed=dict(zip(feeds, inputs)), fetch_list=fetches)


def load(program, weights):
    return argosy.static.load_inference_model(
        None, argosy.static.Executor(), model_filename=program, params_filename=weights
    )


def check(got, wanted):
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted):
        assert g.shape == w.shape and g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_gives_what_paddle_gives(name):
    inputs, wanted = values(name)
    loaded = argosy.static.load_inference_model(str(FOLDER / name), argosy.static.Executor())
    check(run(loaded, inputs), wanted)


def test_both_formats_are_there():
    assert {name[-1] for name in MODELS} == {"2", "3"}


@pytest.mark.parametrize("name", [n for n in MODELS if n.startswith("control")])
def test_jit_load(name):
    argosy.disable_static()
    inputs, wanted = values(name)
    layer = argosy.jit.load(str(FOLDER / name))
    check([t.numpy() for t in layer(*map(argosy.to_tensor, inputs))], wanted)


def predictor_of(name):
    path = FOLDER / f"{name}{SUFFIX[name[-1]]}"
    config = argosy.inference.Config(str(path), str(FOLDER / f"{name}.pdiparams"))
    return argosy.inference.create_predictor(config)


def answers(predictor, inputs):
    for key, value in zip(predictor.get_input_names(), inputs, strict=True):
        predictor.get_input_handle(key).copy_from_cpu(value)
    predictor.run()
    names = predictor.get_output_names()
    return [predictor.get_output_handle(n).copy_to_cpu() for n in names]


@pytest.mark.parametrize("name", ["control2", "control3", *ASKED])
def test_predictor(name):
    inputs, wanted = values(name)
    predictor = predictor_of(name)
    check(answers(predictor, inputs), wanted)
    check(answers(predictor.clone(), inputs), wanted)


@pytest.mark.parametrize("name", ["asked_sizes2", "asked_sizes3"])
def test_other_sizes_than_the_file_declares(name):
    (x,), wanted = values(name)
    predictor = predictor_of(name)
    saved_for = np.random.default_rng(1).standard_normal([2, 3, 8, 8]).astype("float32")
    first = answers(predictor, [saved_for])
    check(answers(predictor, [x]), wanted)
    for got, one in zip(answers(predictor, [saved_for[:1]]), first):  # fewer of the same
        np.testing.assert_allclose(got, one[:1], rtol=1e-5, atol=1e-5)
    check(answers(predictor, [saved_for]), first)
    with pytest.raises(
        ValueError, match=r"\[infer\] input 'x0': expected float32\[2, 3, 8, 8\], got"
    ):
        predictor.get_input_handle("x0").copy_from_cpu(x[0])


def test_what_is_fed_decides_the_program():
    (x, size, pads), wanted = values("asked_decided3")
    predictor = predictor_of("asked_decided3")
    for n in (1, 3):
        y, larger, padded = answers(predictor, [x, np.int32([n]), pads + n])
        assert y.shape == (2, 3, n, 2) and larger.shape == (2, 3, 4 * n, 5 * n)
        left, right, top, bottom = pads + n
        assert padded.shape == (2, 3, 4 + top + bottom, 5 + left + right)
    check(answers(predictor, [x, size, pads]), wanted)
    why = r"\[paddle\] the Program of the model depends on the value of 'x1'"
    with pytest.raises(NotImplementedError, match=why):
        load(*files("asked_decided3"))


def test_what_is_fed_decides_numbers_of_dimensions():
    (x,), _ = values("asked_ranks2")
    predictor = predictor_of("asked_ranks2")
    x = np.abs(x)
    for given, wanted in ((x, x.sum(0)), (-x, -x), (x[:1] * 3, x[0] * 3)):
        got, _ = answers(predictor, [given])
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted * 2, rtol=1e-5)


def test_a_model_in_memory_takes_the_sizes_that_it_declares():
    (x,), _ = values("asked_sizes3")
    program, weights = files("asked_sizes3")
    config = argosy.inference.Config()
    config.set_model_buffer(program, len(program), weights, len(weights))
    predictor = argosy.inference.create_predictor(config)
    with pytest.raises(
        ValueError, match=r"expected float32\[2, 3, 8, 8\], got float32\[3, 3, 7, 9\]"
    ):
        predictor.get_input_handle("x0").copy_from_cpu(x)


@pytest.mark.parametrize("name", MODELS)
def test_from_memory(name):
    inputs, wanted = values(name)
    check(run(load(*files(name)), inputs), wanted)


def tensors_of(weights):
    """The bytes of each tensor in a file of parameters."""
    found, at = [], 0
    while at < len(weights):
        (length,) = struct.unpack_from("<i", weights, at + 16)
        described = weights[at + 20 : at + 20 + length]
        dims, k = 1, 2  # float32: the type takes two bytes, each size one key and one small number
        while k < length:
            dims *= described[k + 1]
            k += 2
        end = at + 20 + length + 4 * dims
        found.append(weights[at:end])
        at = end
    return found


def parameters_of(program):
    return sorted({n.decode() for n in re.findall(rb"linear_\d+\.[bw]_0", program)})


def test_one_file_for_each_parameter(tmp_path):
    """As before 2.0: a folder with __model__ and a file of each name."""
    program, weights = files("control2")
    inputs, wanted = values("control2")
    names = parameters_of(program)
    (tmp_path / "__model__").write_bytes(program)
    for name, data in zip(names, tensors_of(weights), strict=True):
        (tmp_path / name).write_bytes(data)
    loaded = argosy.static.load_inference_model(str(tmp_path), argosy.static.Executor())
    check(run(loaded, inputs), wanted)
    (tmp_path / names[1]).unlink()
    with pytest.raises(ValueError, match=rf"'{names[1]}' is in no file"):
        argosy.static.load_inference_model(str(tmp_path), argosy.static.Executor())


def test_parameters_stay_in_their_folder(tmp_path):
    program, _ = files("control2")
    name = parameters_of(program)[1].encode()
    (tmp_path / "__model__").write_bytes(program.replace(name, b"../../../etc/pas"[: len(name)]))
    with pytest.raises(ValueError, match="is no file name"):
        argosy.static.load_inference_model(str(tmp_path), argosy.static.Executor())


@pytest.mark.parametrize("name", ["control2", "control3"])
def test_unknown_operations_are_listed(name):
    program, weights = files(name)
    changed = program.replace(b"softmax", b"softmaz").replace(b"sigmoid", b"sigmoyd")
    assert changed != program
    with pytest.raises(NotImplementedError, match=r"not supported: .*sigmoyd, .*softmaz"):
        load(changed, weights)


@pytest.mark.parametrize("name", ["control2", "control3"])
def test_parameters_of_another_model(name):
    program, weights = files(name)
    with pytest.raises(ValueError, match="has 1 tensors, the Program 2 parameters"):
        load(program, tensors_of(weights)[0])
    swapped = b"".join(reversed(tensors_of(weights)))
    with pytest.raises(ValueError, match=r"do not belong to the Program: '.*' is float32\[4\]"):
        load(program, swapped)


def refused(program, weights):
    """It is loaded, or refused by an error that says why."""
    try:
        load(program, weights)
    except (
        ValueError,
        NotImplementedError,
        TypeError,
        IndexError,
        RuntimeError,
        MemoryError,
    ) as error:
        assert not isinstance(error, argosy.InternalError), error
        assert str(error)


@pytest.mark.parametrize("name", ["control2", "control3"])
def test_broken_files(name):
    program, weights = files(name)
    rng = np.random.default_rng(0)
    for _ in range(60):
        end = int(rng.integers(1, len(program)))
        refused(program[:end], weights)
        at = int(rng.integers(0, len(program) - 1))
        refused(program[:at] + bytes([int(rng.integers(0, 256))]) + program[at + 1 :], weights)
        at = int(rng.integers(0, len(weights) - 1))
        refused(program, weights[:at] + bytes([int(rng.integers(0, 256))]) + weights[at + 1 :])
        refused(program, weights[:at])


def test_statistics_of_what_has_no_channels():
    program, weights = files("normalizations3")
    document = json.loads(program)
    data = [o for o in document["program"]["regions"][0]["blocks"][0]["ops"] if o["#"] == "1.data"]
    (shape,) = [a for a in data[0]["A"] if a["N"] == "shape"]
    assert shape["AT"]["D"] == [-1, 3, 4, 5]
    shape["AT"]["D"] = []
    with pytest.raises(ValueError, match="X has no channels"):
        load(json.dumps(document).encode(), weights)


def test_a_huge_tensor_is_refused():
    """Sizes are held against the bytes that are there before memory is asked for."""
    program, weights = files("control2")
    first = tensors_of(weights)[0]
    (length,) = struct.unpack_from("<i", first, 16)
    desc = b"\x08\x05\x10\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\x02"
    huge = first[:16] + struct.pack("<i", len(desc)) + desc + first[20 + length :]
    with pytest.raises(ValueError, match="impossible"):
        load(program, huge)
    desc = b"\x08\x05\x10\xff\xff\xff\xff\x0f"
    large = first[:16] + struct.pack("<i", len(desc)) + desc + first[20 + length :]
    with pytest.raises(ValueError, match="ends in the middle of a tensor"):
        load(program, large)


def test_no_such_model(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        argosy.static.load_inference_model(str(tmp_path / "none"), argosy.static.Executor())
