"""jit.save and jit.load: a new process without the class gets the same results, and can train on."""

import subprocess
import sys

import numpy as np
import pytest

import argosy
from argosy import jit, nn
from argosy.static import InputSpec


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1D(4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        h = self.norm(self.fc(x)).tanh()
        if h.sum() > 0:
            h = h * 2
        return {"y": self.out(h), "parts": (h, None, 3)}

    @jit.to_static(input_spec=[InputSpec([None, 4])], full_graph=True)
    def head(self, h):
        return self.out(h)


@pytest.fixture
def net():
    argosy.seed(1)
    net = Net()
    net(argosy.randn([8, 3]))  # running statistics
    return net


X = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")


def test_loaded_gives_the_same(net, tmp_path):
    net.eval()
    path = str(tmp_path / "sub" / "model")
    jit.save(net, path, [InputSpec([None, 3], name="image")])
    want = net(argosy.to_tensor(X))
    loaded = jit.load(path)
    got = loaded(argosy.to_tensor(X))
    assert type(got) is list and len(got) == 2  # the tensors, by the sorted keys
    np.testing.assert_array_equal(got[1].numpy(), want["y"].numpy())
    np.testing.assert_array_equal(got[0].numpy(), want["parts"][0].numpy())
    np.testing.assert_array_equal(loaded.head(got[0]).numpy(), net.head(want["parts"][0]).numpy())
    assert [v.name for v in loaded._input_spec()] == ["image"]
    names = {p.name for p in loaded.parameters()}
    assert names == {p.name for p in net.parameters() if not p.stop_gradient}
    # Again, from the loaded one.
    again = str(tmp_path / "again")
    jit.save(loaded, again, loaded._input_spec())
    np.testing.assert_array_equal(jit.load(again)(X)[1].numpy(), want["y"].numpy())


def test_in_a_new_process(net, tmp_path):
    net.eval()
    path = str(tmp_path / "model")
    jit.save(net, path, [InputSpec([None, 3])])
    np.save(tmp_path / "x.npy", X)
    code = (
        "import argosy, numpy as np, sys\n"
        "argosy.device.set_device(sys.argv[4])\n"
        "y = argosy.jit.load(sys.argv[1])(np.load(sys.argv[2]))[1]\n"
        "np.save(sys.argv[3], y.numpy())\n"
    )
    files = [path, tmp_path / "x.npy", tmp_path / "y.npy"]
    given = [*map(str, files), argosy.device.get_device()]
    subprocess.run([sys.executable, "-c", code, *given], check=True, timeout=250)
    want = net(argosy.to_tensor(X))["y"].numpy()
    np.testing.assert_array_equal(np.load(files[2]), want)


def test_fine_tuning_equals_training_the_original(net, tmp_path):
    path = str(tmp_path / "model")
    jit.save(net, path, [InputSpec([None, 3])])
    loaded = jit.load(path)
    loaded.train()
    results = []
    for model in (net, loaded):
        optimizer = argosy.optimizer.Momentum(0.1, parameters=model.parameters())
        losses = []
        for _ in range(4):
            result = model(argosy.to_tensor(X))
            loss = (result["y"] if model is net else result[1]).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        results.append(losses)
    assert results[0] == results[1]
    by_name = {t.name: t for t in loaded.state_dict().values()}
    for t in net.state_dict().values():
        np.testing.assert_array_equal(by_name[t.name].numpy(), t.numpy())


class Noisy(nn.Layer):
    """All of it differs between training and evaluation."""

    def __init__(self):
        super().__init__()
        self.norm, self.drop, self.slope = nn.BatchNorm1D(3), nn.Dropout(0.5), nn.RReLU(0.1, 0.9)
        self.rnn = nn.GRU(3, 3, 2, dropout=0.5)

    def forward(self, x):
        return self.slope(self.drop(self.norm(x))) + self.rnn(x.unsqueeze(1))[0].squeeze(1)

    @jit.to_static(input_spec=[InputSpec([None, 3])], full_graph=True)
    def twice(self, x):
        return self.drop(x) * 2


def test_loaded_is_in_evaluation_whatever_was_saved(tmp_path):
    layer, x = Noisy(), argosy.to_tensor(X)
    layer(x)  # running statistics that are not the first ones
    path = str(tmp_path / "model")
    jit.save(layer, path, [InputSpec([None, 3])])
    assert layer.training
    loaded = jit.load(path)
    assert not loaded.training
    before = {k: v.numpy().copy() for k, v in loaded.state_dict().items()}
    for _ in range(2):
        again = loaded(x)
        layer.eval()
        np.testing.assert_array_equal(again.numpy(), layer(x).numpy())
        np.testing.assert_array_equal(loaded.twice(x).numpy(), X * 2)
    for key, value in loaded.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    captured = jit.to_static(loaded, full_graph=True)
    np.testing.assert_array_equal(captured(x).numpy(), layer(x).numpy())


def test_after_train_loaded_computes_as_the_saved_layer_did(tmp_path):
    layer, x = Noisy(), argosy.to_tensor(X)
    path = str(tmp_path / "model")
    jit.save(layer, path, [InputSpec([None, 3])])
    loaded = jit.load(path)
    loaded.train()
    assert "dropout" in str(loaded.program()) and not np.array_equal(loaded.twice(x), X * 2)
    a, b = loaded(x), loaded(x)
    assert not np.array_equal(a.numpy(), b.numpy())
    mean = next(v for k, v in loaded.state_dict().items() if k.endswith("w_1") or "mean" in k)
    assert np.abs(mean.numpy()).max() > 0
    loaded.eval()
    assert np.array_equal(loaded.twice(x).numpy(), X * 2)
    assert np.array_equal(loaded(x).numpy(), loaded(x).numpy())


class Named(nn.Layer):
    def forward(self, image, parts, table, scale=None, *more):
        total = image + parts[0] + parts[1][0] + table["a"] + table["image"] + sum(more)
        return total if scale is None else total * scale


@pytest.mark.parametrize(
    "spec, names",
    [
        ([None], ["image", "parts_0", "parts_1_0", "a", "image_1"]),
        ([None, None], ["image", "parts_0", "parts_1_0", "a", "image_1", "scale"]),
        (
            ["a", "b", None, None],
            ["a", "parts_0", "parts_1_0", "a_1", "image", "b", "more_0", "more_1"],
        ),
    ],
)
def test_inputs_are_called_as_parameters_and_keys(tmp_path, spec, names):
    first, *others = [InputSpec([None], "float32", name) for name in spec]
    plain = InputSpec([None])
    nested = [[plain, (plain,)], {"a": plain, "image": plain}]
    jit.save(Named(), str(tmp_path / "m"), [first, *nested, *others])
    assert [s.name for s in jit.load(str(tmp_path / "m"))._input_spec()] == names


def test_inputs_of_a_call_are_called_as_parameters(tmp_path):
    static = jit.to_static(lambda q, *rest, w: q * rest[0] + w)
    static(argosy.ones([2]), argosy.ones([2]), w=argosy.ones([2]))
    jit.save(static, str(tmp_path / "f"))
    names = [s.name for s in jit.load(str(tmp_path / "f"))._input_spec()]
    assert names == ["q", "rest_0", "w"]


def test_functions(tmp_path):
    path = str(tmp_path / "f")

    def f(x, y):
        return [x + y, x * y]

    jit.save(f, path, [InputSpec([None]), InputSpec([None])])
    a, b = jit.load(path)(argosy.ones([3]), argosy.full([3], 2.0))
    assert a.tolist() == [3.0] * 3 and b.tolist() == [2.0] * 3


def test_errors(net, tmp_path):
    with pytest.raises(ValueError, match=r"the inputs of 'forward' are not known.*InputSpec"):
        jit.save(net, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="there is no .*nothing.argosy"):
        jit.load(str(tmp_path / "nothing"))
    with pytest.raises(TypeError, match="expected a Layer or a function, got int"):
        jit.save(3, str(tmp_path / "m"))
    jit.save(nn.Linear(2, 2), str(tmp_path / "l"), [InputSpec([None, 2])])
    with pytest.raises(ValueError, match=r"expected 1 inputs \(input\), got 2"):
        jit.load(str(tmp_path / "l"))(argosy.ones([1, 2]), argosy.ones([1, 2]))
    whole = (tmp_path / "l.argosy").read_bytes()
    (tmp_path / "l.argosy").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Exception, match="(?i)truncated|bytes"):
        jit.load(str(tmp_path / "l"))


def test_static_programs_and_captured_layers_load_each_other(tmp_path):
    layer = nn.Linear(3, 2)
    want = layer(argosy.to_tensor(X)).numpy()
    jit.save(layer, str(tmp_path / "captured"), [InputSpec([None, 3], "float32", "x")])
    argosy.enable_static()
    try:
        exe = argosy.static.Executor()
        program, inputs, outputs = argosy.static.load_inference_model(
            str(tmp_path / "captured"), exe
        )
        assert inputs == ["x"]
        (got,) = exe.run(program, feed={"x": X}, fetch_list=outputs)
        argosy.static.save_inference_model(
            str(tmp_path / "static"), [program._find("x")], outputs, exe, program=program
        )
    finally:
        argosy.disable_static()
    np.testing.assert_array_equal(got, want)
    again = jit.load(str(tmp_path / "static"))
    np.testing.assert_array_equal(again(argosy.to_tensor(X)).numpy(), want)
    assert [tuple(p.shape) for p in again.parameters()] == [(3, 2), (2,)]


def test_programs_of_captured_functions_can_be_inspected(net, tmp_path):
    captured = jit.to_static(net.head).concrete_program
    kinds = [op.type for op in captured.main_program.global_block().ops]
    assert kinds and "linear" in kinds[-1]
    assert {id(p) for p in captured.parameters} == {id(p) for p in net.out.parameters()}
    jit.save(net, str(tmp_path / "n"), [InputSpec([None, 3])])
    program = jit.load(str(tmp_path / "n")).program("head")
    assert [op.type for op in program.global_block().ops] == kinds
