"""Objects at the addresses that Paddle has for them: python/argosy/_addresses.txt."""

import functools
import importlib
import importlib.util
import inspect
import json
import operator
import pathlib
import pickle
import subprocess
import sys
import textwrap
import types

import pytest

import argosy
from argosy import _addresses

SCRIPT = str(pathlib.Path(__file__).with_name("listed_modules.py"))
RUN = {"argosy": [], "paddle": ["-m", "argosy.cli", "run"]}


def run(package, *arguments):
    command = [sys.executable, *RUN[package], *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_address_gives_the_object_of_its_home():
    wrong = []
    for path in _addresses.modules():
        module = importlib.import_module(path)
        for name, (home, name_there) in _addresses.names(path).items():
            there = operator.attrgetter(name_there)(importlib.import_module(home))
            imported = {}
            exec(f"from {path} import {name} as found", imported)
            if getattr(module, name) is not there or imported["found"] is not there:
                wrong.append(f"{path}.{name}")
    assert not wrong
    assert sum(len(_addresses.names(path)) for path in _addresses.modules()) > 4900


def test_where_programs_look():
    F = argosy.nn.functional
    assert argosy.tensor.manipulation.concat is argosy.concat
    assert argosy.tensor.math.multiply is argosy.multiply
    assert argosy.tensor.ops.sigmoid is argosy.sigmoid
    assert F.common.linear is F.linear and F.activation.relu is F.relu
    assert argosy.tensor.math.lerp_ is argosy.Tensor.lerp_
    assert argosy.base.core.DataType is argosy.dtype
    assert argosy.core is argosy.framework.core is argosy.base.core
    from argosy.distributed.communication.all_reduce import all_reduce
    from argosy.sparse.nn.functional.conv import conv3d  # a package there, a file here

    assert all_reduce is argosy.distributed.all_reduce
    assert conv3d is argosy.sparse.nn.functional.conv3d


def test_addresses_do_not_depend_on_what_was_asked_before():
    code = """
        import importlib, paddle
        from argosy import _addresses
        for path in reversed(_addresses.modules()):
            module = importlib.import_module("paddle" + path[len("argosy"):])
            for name, home in reversed(_addresses.names(path).items()):
                if getattr(module, name) is not _addresses.find(*home):
                    print(path, name)
    """
    assert run("paddle", "-c", textwrap.dedent(code)) == ""


# Modules whose packages have an object of the same name.
SHARED = """
amp.auto_cast autograd.saved_tensors_hooks batch distributed.communication.all_gather
distributed.communication.all_reduce distributed.communication.batch_isend_irecv
distributed.communication.broadcast distributed.communication.gather
distributed.communication.recv distributed.communication.reduce
distributed.communication.reduce_scatter distributed.communication.scatter
distributed.communication.send distributed.communication.stream.all_gather
distributed.communication.stream.all_reduce distributed.communication.stream.broadcast
distributed.communication.stream.gather distributed.communication.stream.recv
distributed.communication.stream.reduce distributed.communication.stream.reduce_scatter
distributed.communication.stream.scatter distributed.communication.stream.send
distributed.fleet.fleet distributed.fleet.recompute.recompute_hybrid distributed.spawn
incubate.nn.functional.blha_get_max_len
incubate.nn.functional.block_multihead_attention incubate.nn.functional.fast_ln
incubate.nn.functional.fast_rms_norm incubate.nn.functional.fused_bias_act
incubate.nn.functional.fused_dropout_add incubate.nn.functional.fused_layer_norm
incubate.nn.functional.fused_matmul_bias incubate.nn.functional.fused_rms_norm
incubate.nn.functional.fused_rms_norm_ext incubate.nn.functional.fused_rotary_position_embedding
incubate.nn.functional.int_bincount incubate.nn.functional.masked_multihead_attention
incubate.nn.functional.moe_combine incubate.nn.functional.swiglu
incubate.nn.functional.variable_length_memory_efficient_attention
incubate.operators.graph_reindex incubate.operators.graph_sample_neighbors
incubate.operators.graph_send_recv incubate.operators.softmax_mask_fuse
incubate.operators.softmax_mask_fuse_upper_triangle nn.functional.sparse_attention onnx.export
nn.utils.clip_grad_norm_ nn.utils.clip_grad_value_ static.nn.static_pylayer tensor.einsum
text.viterbi_decode utils.deprecated vision.models.alexnet vision.models.googlenet
""".split()


@functools.lru_cache(maxsize=None)
def verdicts(package):
    return json.loads(run(package, SCRIPT, package, *SHARED))


@pytest.mark.parametrize("package", RUN)
@pytest.mark.parametrize("path", SHARED)
def test_a_module_does_not_take_the_place_of_an_object(package, path):
    assert verdicts(package)[path] == "kept"


def test_all_such_modules_are_tested():
    modules = _addresses.modules()
    addresses = {(path, name) for path in modules for name in _addresses.names(path)}
    addresses |= {home for path in modules for home in _addresses.names(path).values()}
    shared = {path for path in modules if tuple(path.rpartition(".")[::2]) in addresses}
    shared = {path for path in shared if not isinstance(of_package(path), types.ModuleType)}
    assert len(shared) > 30 and shared <= {f"argosy.{path}" for path in SHARED}


def of_package(path):
    package, _, name = path.rpartition(".")
    return getattr(importlib.import_module(package), name)


def test_a_module_without_a_file_is_one():
    from argosy.tensor import ops

    assert sys.modules["argosy.tensor.ops"] is ops is argosy.tensor.ops
    assert importlib.import_module("argosy.tensor.ops") is importlib.reload(ops) is ops
    assert importlib.util.find_spec("argosy.tensor.ops") is ops.__spec__
    assert ops.__package__ == "argosy.tensor" and not hasattr(ops, "__path__")
    assert "sigmoid" in dir(ops) and "argosy.tensor.ops" in repr(ops)
    package = importlib.import_module("argosy.distributed.models")
    assert package.__path__ == [] and "moe" in dir(package)


def test_what_star_brings():
    names = {}
    exec("from argosy.functional import *", names)
    assert names["atleast_2d"] is argosy.atleast_2d
    names = {}
    exec("from argosy.batch import *", names)  # its __all__ is empty there
    assert "batch" not in names


def test_what_is_nowhere_stays_so():
    with pytest.raises(AttributeError, match="'argosy.tensor.ops' has no attribute 'no_such'"):
        argosy.tensor.ops.no_such  # noqa: B018
    with pytest.raises(AttributeError, match="'argosy.nn.functional' has no attribute 'no_such'"):
        argosy.nn.functional.no_such  # noqa: B018
    with pytest.raises(AttributeError, match="Do this"):
        argosy.no_such  # noqa: B018
    with pytest.raises(ImportError, match="no_such"):
        exec("from argosy.tensor.ops import no_such")
    with pytest.raises(ModuleNotFoundError, match="argosy.tensor.ops.no_such"):
        importlib.import_module("argosy.tensor.ops.no_such")


def objects():
    found = {}
    for path in _addresses.modules():
        for home, name in _addresses.names(path).values():
            found[home, name] = _addresses.find(home, name)
    return list(found.values())


def test_classes_are_pickled_and_their_modules_found():
    classes = [value for value in objects() if isinstance(value, type)]
    assert len(classes) > 300
    for each in classes:
        assert inspect.getmodule(each) is sys.modules[each.__module__]
        if getattr(sys.modules[each.__module__], each.__name__, None) is each:
            assert pickle.loads(pickle.dumps(each)) is each
