"""float16 on the CPU: programs run in the dtypes of their tensors, and are told once."""

import warnings

import numpy as np
import pytest

import argosy
from argosy import amp, optimizer
from argosy.amp import _state

pytestmark = pytest.mark.cpu_only("is about float16 on the CPU, which has no effect there")


@pytest.fixture(autouse=True)
def without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def leaf():
    x = argosy.to_tensor(np.ones(3, "float32"))
    x.stop_gradient = False
    return x


def test_nothing_is_cast():
    x, w = leaf(), argosy.ones([3, 3])
    for level in ("O0", "OD", "O1", "O2"):
        with amp.auto_cast(level=level):
            assert (x @ w).dtype == argosy.float32
            assert not amp.is_autocast_enabled()
            assert amp.auto_cast is argosy.amp.amp_guard

    @amp.auto_cast(True)
    def decorated():
        return x @ w

    assert decorated().dtype == argosy.float32
    assert amp.get_autocast_dtype() == "float16"
    assert amp.is_bfloat16_supported() and not amp.is_float16_supported()


def test_the_scaler_passes_through():
    scaler = amp.GradScaler(init_loss_scaling=8.0)
    assert not scaler.is_enable() and scaler.state_dict() == {}
    x = leaf()
    opt = optimizer.SGD(0.5, parameters=[x])
    loss = x * x
    assert scaler.scale(loss) is loss
    scaler.scale(loss).backward(argosy.full_like(loss, 1.0))
    scaler.unscale_(opt)
    scaler.step(opt)
    scaler.update()
    assert x.numpy().tolist() == [0, 0, 0]
    scaler.load_state_dict(scaler.state_dict())
    scaler.set_incr_ratio(3.0)
    assert (scaler.get_incr_ratio(), scaler.get_init_loss_scaling()) == (3.0, 8.0)
    with pytest.raises(AssertionError, match="> 1"):
        scaler.set_incr_ratio(1.0)


def test_decorate_returns_what_it_got():
    model, opt = object(), object()
    assert amp.decorate(model, level="O2") is model
    assert amp.decorate(model, opt) == (model, opt)


def test_warnings_say_so(monkeypatch):
    monkeypatch.setattr(_state, "_warned", set())
    with pytest.warns(UserWarning, match=r"\[GradScaler\] has no effect on the CPU but with"):
        amp.GradScaler()
    with pytest.warns(UserWarning, match=r"\[auto_cast\] has no effect on the CPU for float16"):
        with amp.auto_cast():
            pass
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with amp.auto_cast():  # once is enough
            pass


@pytest.mark.parametrize(
    "kw,text",
    [
        ({"level": "O5"}, "level: expected one of O0, OD, O1, O2, got 'O5'"),
        ({"dtype": "float32"}, "dtype: expected 'float16' or 'bfloat16'"),
        ({"custom_white_list": {"a"}, "custom_black_list": {"a", "b"}}, r"overlap: \['a'\]"),
    ],
)
def test_errors(kw, text):
    with pytest.raises(ValueError, match=text):
        with amp.auto_cast(**kw):
            pass
    with pytest.raises(ValueError, match="level"):
        amp.decorate(None, level="O3")


def test_fp16_guard_changes_nothing_on_the_cpu():
    x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
    with argosy.static.amp.fp16_guard():
        y = (x * x).sum()
    assert y.dtype == argosy.float32
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])
