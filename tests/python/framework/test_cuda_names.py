"""Names of CUDA in a build without it say so."""

import pytest

import argosy as paddle


@pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="this build has CUDA")
@pytest.mark.parametrize("name", ["Stream", "Event", "current_stream", "synchronize"])
def test_what_needs_cuda_says_so(name):
    with pytest.raises(ValueError, match=rf"\[device.cuda.{name}\] .* no CUDA support. Do this"):
        getattr(paddle.device.cuda, name)()


def test_a_guard_without_a_stream_changes_nothing():
    with paddle.device.cuda.stream_guard(None):
        assert paddle.ones([2]).sum().item() == 2


def test_random_state_of_the_device():
    device = paddle.device

    device.manual_seed(7)
    state = device.get_rng_state()
    drawn = paddle.rand([3]).tolist()
    device.set_rng_state(state)
    assert paddle.rand([3]).tolist() == drawn and not device.is_compiled_with_ipu()
