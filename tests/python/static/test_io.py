"""Saving and loading of static Programs."""

import os

import numpy as np
import pytest

import argosy
from argosy import nn, static

X = np.random.default_rng(1).standard_normal((4, 3)).astype("float32")


def model():
    x = static.data("x", [None, 3], "float32")
    label = static.data("label", [None, 2], "float32")
    y = nn.functional.dropout(static.nn.fc(static.nn.fc(x, 4, activation="relu"), 2), 0.5)
    loss = ((y - label) ** 2).mean()
    argosy.optimizer.Adam(0.1).minimize(loss)
    return x, y, loss


def values():
    scope = static.global_scope()
    return {n: np.array(scope.find_var(n).get_tensor()) for n in scope.local_var_names()}


def train(exe, loss, rounds=2):
    for _ in range(rounds):
        exe.run(feed={"x": X, "label": X[:, :2].copy()}, fetch_list=[loss])


def test_checkpoint(start, tmp_path):
    _, _, loss = model()
    exe = start()
    train(exe, loss)
    main, prefix = static.default_main_program(), str(tmp_path / "folder" / "model")
    static.save(main, prefix)
    assert sorted(os.listdir(tmp_path / "folder")) == [
        "model.pdmodel",
        "model.pdopt",
        "model.pdparams",
    ]
    want = values()
    train(exe, loss)
    assert not np.array_equal(values()["fc_0.w_0"], want["fc_0.w_0"])
    with static.scope_guard(static.Scope()):
        static.load(main, prefix, exe)
        for name, value in values().items():
            np.testing.assert_array_equal(value, want[name])
        assert set(values()) == set(want)
    state = static.load_program_state(prefix)
    assert set(state) == set(want) and isinstance(state["fc_0.w_0"], np.ndarray)
    some = static.load_program_state(prefix + ".pdparams", main.all_parameters()[:1])
    assert list(some) == ["fc_0.w_0"]
    state["fc_0.b_0"] = np.full(4, 7, "float32")
    static.set_program_state(main, state)
    np.testing.assert_array_equal(values()["fc_0.b_0"], state["fc_0.b_0"])
    # Files of eager mode fit too, by parameter names.
    argosy.save({"fc_0.b_0": np.full(4, 9, "float32"), **some}, prefix + "2.pdparams")
    with pytest.raises(RuntimeError, match="no value for 'fc_1.w_0'"):
        static.load(main, prefix + "2")
    with pytest.raises(AssertionError, match="another shape"):
        static.set_program_state(main, {"fc_0.b_0": np.ones(3, "float32")})
    with pytest.raises(ValueError, match="no file"):
        static.load(main, str(tmp_path / "nobody"))
    with pytest.raises(ValueError, match="file name"):
        static.save(main, str(tmp_path) + "/")
    with static.scope_guard(static.Scope()):
        with pytest.raises(RuntimeError, match="has no value"):
            static.save(main, prefix)


def test_inference_model(start, tmp_path):
    x, y, loss = model()
    exe = start()
    train(exe, loss)
    prefix = str(tmp_path / "model")
    static.save_inference_model(prefix, [x], [y], exe)
    test = static.default_main_program().clone(for_test=True)
    (want,) = exe.run(test, feed={"x": X}, fetch_list=[y])
    with static.scope_guard(static.Scope()):
        program, inputs, outputs = static.load_inference_model(prefix, exe)
        assert inputs == ["x"] and [p.name for p in program.all_parameters()] == [
            "fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0",
        ]  # fmt: skip
        for some in (X, X[:1]):
            (got,) = exe.run(program, feed={inputs[0]: some}, fetch_list=outputs)
            np.testing.assert_allclose(got, want[: len(some)], rtol=1e-6)
        again = str(tmp_path / "again")
        static.save_inference_model(
            again, program.global_block().var("x"), outputs, exe, program=program
        )
        assert static.load_inference_model(again, exe)[1] == ["x"]
    with pytest.raises(ValueError, match="no file"):
        static.load_inference_model(str(tmp_path / "nobody"), exe)
    with pytest.raises(ValueError, match="input 'label'.*not in feed_vars"):
        static.save_inference_model(prefix, [x], [loss], exe)
    with pytest.raises(TypeError, match="executor"):
        static.save_inference_model(prefix, [x], [y], None)


def test_bytes(start, tmp_path):
    x, y, _ = model()
    exe = start()
    program = static.normalize_program(static.default_main_program(), [x], [y])
    assert {o.attr("op_role") for o in program.global_block().ops} == {0}
    content = static.serialize_program([x], [y])
    state = static.serialize_persistables([x], [y], exe)
    path = str(tmp_path / "file")
    static.save_to_file(path, content)
    assert static.load_from_file(path) == content
    (want,) = exe.run(program, feed={"x": X}, fetch_list=[y])
    with static.scope_guard(static.Scope()):
        loaded = static.deserialize_program(content)
        static.deserialize_persistables(loaded, state, exe)
        program, names, outputs = static.load_inference_model(
            None, exe, model_filename=content, params_filename=state
        )
        for p in (loaded, program):
            fetch = [v.name for v in outputs]
            np.testing.assert_array_equal(exe.run(p, feed={"x": X}, fetch_list=fetch)[0], want)
    with pytest.raises(ValueError):
        static.deserialize_program(content[: len(content) // 2])
    with pytest.raises(ValueError, match="expected bytes"):
        static.deserialize_program(3)
    with pytest.raises(ValueError, match="bytes"):
        static.save_to_file(path, "text")
    with pytest.raises(TypeError, match="static.Program"):
        static.normalize_program(3, [x], [y])


@pytest.mark.parametrize("together", [None, "all"])
def test_variables(start, tmp_path, together):
    _, _, loss = model()
    exe = start()
    folder = str(tmp_path / "vars")
    static.io.save_params(exe, folder, filename=together)
    want = values()
    train(exe, loss)
    static.io.load_params(exe, folder, filename=together)
    for p in static.default_main_program().all_parameters():
        np.testing.assert_array_equal(values()[p.name], want[p.name])
    static.save_vars(exe, folder, vars=["fc_0.w_0"], filename="one")
    static.load_vars(exe, folder, vars=["fc_0.w_0"], filename="one")
    with pytest.raises(ValueError, match="no value for 'fc_0.b_0'"):
        static.load_vars(exe, folder, vars=["fc_0.b_0"], filename="one")
    with pytest.raises(ValueError, match="no file"):
        static.load_vars(exe, folder, filename="nobody")
    assert static.io.is_persistable(p) and static.io.is_parameter(p)
    assert not static.io.is_persistable(loss)


def test_paddle_save_and_load(start, tmp_path):
    x = static.data("x", [None, 3], "float32")
    layer = nn.Linear(3, 2)
    y = layer(x)
    exe = start()
    main, path = static.default_main_program(), str(tmp_path / "file")
    argosy.save(layer.state_dict(), path)
    argosy.save(main.state_dict(), path + "2")
    argosy.save(main, path + "3")
    want = values()
    exe.run(static.default_startup_program())
    assert not np.array_equal(values()["linear_0.w_0"], want["linear_0.w_0"])
    missing, unexpected = layer.set_state_dict(argosy.load(path))
    assert not missing and not unexpected
    np.testing.assert_array_equal(values()["linear_0.w_0"], want["linear_0.w_0"])
    exe.run(static.default_startup_program())
    main.set_state_dict(argosy.load(path + "2"))
    np.testing.assert_array_equal(values()["linear_0.w_0"], want["linear_0.w_0"])
    loaded = argosy.load(path + "3")
    assert isinstance(loaded, static.Program)
    a, b = (exe.run(p, feed={"x": X}, fetch_list=[y.name]) for p in (main, loaded))
    np.testing.assert_array_equal(a, b)


def test_what_is_refused_changes_nothing(start, tmp_path):
    _, _, loss = model()
    exe = start()
    main, prefix = static.default_main_program(), str(tmp_path / "model")
    static.save(main, prefix)
    train(exe, loss)
    before = values()
    wrong = static.load_program_state(prefix)
    last = list(main._all_states())[-1]
    wrong[last] = np.zeros([9], "float32")
    argosy.save(wrong, prefix + "2.pdparams")
    os.mkdir(tmp_path / "each")
    for name, value in wrong.items():
        argosy.save(value, str(tmp_path / "each" / name))
    data = str(tmp_path / "model2.pdparams")
    for load in (
        lambda: static.load(main, prefix + "2", exe),
        lambda: static.set_program_state(main, wrong),
        lambda: main.set_state_dict(wrong),
        lambda: static.load_vars(exe, str(tmp_path / "each"), main),
        lambda: static.load_vars(exe, str(tmp_path), main, filename=os.path.basename(data)),
        lambda: static.deserialize_persistables(main, open(data, "rb").read(), exe),
    ):
        with pytest.raises((ValueError, AssertionError), match="shape"):
            load()
        for name, value in values().items():
            np.testing.assert_array_equal(value, before[name])
    static.load(main, prefix, exe)
    assert not np.array_equal(values()["fc_0.w_0"], before["fc_0.w_0"])


def test_errors_of_files_and_variables_are_of_the_kinds_that_programs_catch(tmp_path):
    program = static.Program()
    for kind in (ValueError, FileNotFoundError):
        with pytest.raises(kind, match="there is no file .*nope.pdparams"):
            static.load(program, str(tmp_path / "nope"))
    for kind in (AssertionError, ValueError):
        with pytest.raises(kind, match="model_path must end in a file name"):
            static.save(program, str(tmp_path) + "/")
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="_vars: expected a Variable"):
            static.save_inference_model(str(tmp_path / "a"), ["x"], [], static.Executor())
