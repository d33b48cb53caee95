"""set_flags and get_flags."""

import pytest

import argosy as paddle


@pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="is about builds without GPUs")
@pytest.mark.parametrize(
    "name",
    ["FLAGS_cudnn_deterministic", "FLAGS_conv_workspace_size_limit", "FLAGS_selected_gpus"],
)
def test_flags_of_gpus_are_refused_where_there_are_none(name):
    for call in (lambda: paddle.set_flags({name: 1}), lambda: paddle.get_flags(name)):
        with pytest.raises(ValueError, match=rf"{name} is a flag of builds for GPUs.*Do this: ask"):
            call()


def test_flags_that_change_nothing_are_kept():
    before = paddle.get_flags(["FLAGS_sort_sum_gradient"])
    try:
        paddle.set_flags({"FLAGS_sort_sum_gradient": True})
        assert paddle.get_flags("FLAGS_sort_sum_gradient") == {"FLAGS_sort_sum_gradient": True}
    finally:
        paddle.set_flags(before)
