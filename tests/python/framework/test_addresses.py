"""Names that programs reach by the addresses of modules inside the package."""

import hashlib
import importlib

import numpy
import pytest

import argosy


def test_names_of_framework():
    from argosy import framework

    assert (
        framework.Parameter
        is framework.io.EagerParamBase
        is argosy.nn.Linear(1, 1).weight.__class__
    )
    assert framework._current_expected_place() == framework._current_expected_place_()
    assert framework._current_expected_place_().is_cpu_place()
    assert framework.in_dynamic_or_pir_mode() and not framework.in_pir_mode()
    with framework._no_check_dy2st_diff():
        assert framework.dygraph_only(len) is len
    assert framework.LayerHelper("fc", name="mine").name == "mine"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        framework.nothing  # noqa: B018


def test_a_parameter_takes_methods_from_programs(monkeypatch):
    monkeypatch.setattr(argosy.framework.io.EagerParamBase, "twice", lambda p: p * 2, raising=False)
    assert argosy.nn.Linear(2, 3).weight.twice().shape == [2, 3]


def test_common_ops_import():
    from argosy import common_ops_import as names

    for name in names.__all__:
        assert getattr(names, name) is not None
    for spelling in ("int64", numpy.int64, numpy.dtype("int64"), argosy.int64):
        assert names.convert_np_dtype_to_dtype_(spelling) == argosy.int64
        assert names.convert_dtype(spelling) == "int64"


def test_in_declarative_mode():
    from argosy.nn.layer.layers import in_declarative_mode

    seen = []

    @argosy.jit.to_static(full_graph=True)
    def f(x):
        seen.append(in_declarative_mode())
        return x + 1

    assert not in_declarative_mode()
    f(argosy.ones([2]))
    assert seen == [True]


def test_tensor_to_and_md5sum():
    x = argosy.to_tensor([1.0, 2.0])
    assert x._to(None, "float16", None).dtype == argosy.float16
    assert argosy.Tensor._to(x, "cpu").dtype == argosy.float32
    assert x._md5sum() == hashlib.md5(x.numpy().tobytes()).hexdigest()
    assert argosy.ones([2, 3]).t()._md5sum() == argosy.ones([3, 2])._md5sum()


def test_files_of_data_sets(tmp_path):
    from argosy.dataset.common import download, md5file
    from argosy.utils import download as fetch

    file = tmp_path / "words.txt"
    file.write_bytes(b"one two\n" * 1000)
    digest = hashlib.md5(file.read_bytes()).hexdigest()
    assert md5file(file) == digest
    assert (
        fetch._md5check(file, digest) and fetch._md5check(file) and not fetch._md5check(file, "0")
    )
    # Found in the cache: nothing is fetched.
    assert download("http://nowhere.invalid/words.txt", str(tmp_path), digest) == str(file)
    assert fetch.is_url("https://a/b") and not fetch.is_url("/a/b")
    assert fetch._get_unique_endpoints(["b:2", "a:7", "a:5"]) == {"a:5", "b:2"}


def test_amp_state():
    from argosy.amp.auto_cast import amp_state

    assert amp_state() is None
    with argosy.amp.auto_cast(level="O2", dtype="bfloat16"):
        with argosy.amp.auto_cast(enable=False):
            assert amp_state()["enable"] is False
        assert (amp_state()["level"], amp_state()["dtype"]) == ("O2", "bfloat16")
    assert amp_state() is None


def test_parts_of_the_loader():
    from argosy.io import reader
    from argosy.io.dataloader import batch_sampler, collate, dataset, sampler, worker
    from argosy.io.dataloader.dataloader_iter import _DataLoaderIterBase

    assert reader.DataLoader is argosy.io.DataLoader
    assert batch_sampler.BatchSampler is argosy.io.BatchSampler
    assert dataset.Dataset is argosy.io.Dataset and sampler.Sampler is argosy.io.Sampler
    assert worker.get_worker_info is argosy.io.get_worker_info
    assert collate.default_collate_fn is argosy.io.default_collate_fn
    data = argosy.io.TensorDataset([argosy.arange(6)])
    for workers in (0, 1):
        assert isinstance(
            iter(argosy.io.DataLoader(data, batch_size=2, num_workers=workers)), _DataLoaderIterBase
        )


def test_fused_dropout_add_by_its_module():
    from argosy.incubate.nn.layer.fused_dropout_add import FusedDropoutAdd

    x = argosy.rand([4, 5])
    layer = FusedDropoutAdd(0.5)
    argosy.seed(3)
    got = layer(x, x)
    argosy.seed(3)
    numpy.testing.assert_array_equal(got, argosy.nn.functional.dropout(x, 0.5) + x)


def test_state_of_lazy_initialization():
    from argosy.nn.initializer.lazy_init import lazy_init_helper

    assert lazy_init_helper()._state is False
    with argosy.LazyGuard():
        assert lazy_init_helper()._state is True
    assert lazy_init_helper()._state is False


def test_inner_methods_of_tensors():
    x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], stop_gradient=False)
    copy = x._copy_to(argosy.CPUPlace(), True)
    assert copy.stop_gradient and copy.tolist() == x.tolist()
    with argosy.no_grad():
        copy.zero_()
    assert x.tolist()[0] == [1, 2] and copy._inplace_version() > 0
    assert x._is_initialized() and not argosy.zeros([0, 2])._is_initialized()
    assert x._numel() == 6 and x._grad_ivar() is None
    rows = x._slice(1, 3)
    assert rows.stop_gradient and rows.tolist() == [[3, 4], [5, 6]]
    rows[0, 0] = 7
    assert x.tolist()[1] == [7, 4]  # a view
    (x * 2).sum().backward()
    assert x._grad_ivar().tolist() == [[2, 2]] * 3


@pytest.mark.parametrize(
    "old, new",
    [
        ("audio.functional.window.get_window", "tensor.spectral_windows.get_window"),
        ("base.core.DenseTensor", "_programs.scope.DenseTensor"),
        ("base.core.EOFException", "_support.EOFException"),
        ("base.core.Generator", "random.Generator"),
        ("base.core.VarDesc", "tensor.var_desc.VarDesc"),
        ("base.dataset.DatasetFactory", "distributed._dataset.factory.DatasetFactory"),
        ("base.dygraph.Layer", "nn.Layer"),
        ("base.dygraph.no_grad", "autograd.no_grad"),
        ("base.enable_dygraph", "_framework.disable_static"),
        ("base.framework.EagerParamBase", "base.parameter.EagerParamBase"),
        ("base.framework.Program", "static.Program"),
        ("base.framework.Variable", "base.parameter.Variable"),
        ("base.framework._rebuild_parameter", "base.parameter._rebuild_parameter"),
        ("base.framework.create_parameter", "nn.layer._helper.create_parameter"),
        ("base.framework.in_dygraph_mode", "base.in_dygraph_mode"),
        ("base.framework.unique_name", "base.unique_name"),
        ("base.in_dygraph_mode", "base.framework.in_dygraph_mode"),
        ("base.initializer", "nn.initializer"),
        ("base.program_guard", "static.mode.program_guard"),
        ("dataset.common.md5file", "utils.download.md5file"),
        ("device.FloatTensor", "tensor.FloatTensor"),
        ("distribution.kl.kl_divergence", "distribution.registry.kl_divergence"),
        ("framework.random.seed", "tensor.random.seed"),
        ("framework.seed", "tensor.random.seed"),
        ("nn.parameter.Parameter", "base.parameter.EagerParamBase"),
        ("static.mode.default_main_program", "_programs.mode.default_main_program"),
        ("static.program.program_of", "_programs.registry.program_of"),
        ("static.scope.global_scope", "_programs.scope.global_scope"),
        ("static.state.make_parameter", "base.static_parameter.make_parameter"),
    ],
)
def test_old_addresses_of_what_moved(old, new):
    def found(address):
        room, *names = address.split(".")
        value = importlib.import_module(f"argosy.{room}")
        for name in names:
            if not hasattr(value, name):  # a module that nobody has imported
                importlib.import_module(f"{value.__name__}.{name}")
            value = getattr(value, name)
        return value

    assert found(old) is found(new)
