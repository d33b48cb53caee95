"""Functions of images."""

from __future__ import annotations

from argosy import _core
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import check_choice

from ._args import alias

ops = _core.ops


@beside
def affine_grid(theta, out_shape, align_corners=True, name=None):
    """Sampling grid of affine maps, for :func:`grid_sample`.

    Args:
        theta: [N, 2, 3] or [N, 3, 4] float tensor: one map per sample.
        out_shape: shape of the image to sample, [N, C, H, W] or [N, C, D, H, W]; list or tensor.
        align_corners (bool): -1 and 1 are the centres of the corner pixels, else their outer edges.

    Returns:
        Tensor [N, H, W, 2] or [N, D, H, W, 3] of coordinates (x, y[, z]) in [-1, 1].

    Raises:
        TypeError: ``theta`` is no tensor or ``out_shape`` no list or tensor.

    Examples:
        >>> same = argosy.to_tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> argosy.nn.functional.affine_grid(same, [1, 1, 2, 2]).tolist()
        [[[[-1.0, -1.0], [1.0, -1.0]], [[-1.0, 1.0], [1.0, 1.0]]]]
    """
    if not isinstance(theta, Tensor):
        raise TypeError(
            f"(InvalidType) [affine_grid] theta: expected a Tensor, got {type(theta).__name__}. Do this: "
            "use argosy.to_tensor."
        )
    if not isinstance(out_shape, (list, tuple, Tensor)):
        raise TypeError(
            "(InvalidType) [affine_grid] out_shape: expected a list, a tuple or a Tensor, got "
            f"{type(out_shape).__name__}. Do this: pass one of them."
        )
    if not isinstance(out_shape, Tensor):
        out_shape = list(out_shape)
    return ops.affine_grid(theta, out_shape, bool(align_corners))


@alias(input="x")
def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True, name=None):
    """Values of ``x`` at the positions that ``grid`` names.

    Args:
        x: [N, C, H, W] or [N, C, D, H, W].
        grid: [N, H', W', 2] or [N, D', H', W', 3], coordinates (x, y[, z]) in [-1, 1].
        mode (str): 'bilinear' or 'nearest'.
        padding_mode (str): outside of the image 'zeros', the nearest 'border', or 'reflection'.
        align_corners (bool): -1 and 1 are the centres of the corner pixels, else their outer edges.

    Returns:
        Tensor [N, C, H', W'] or [N, C, D', H', W'] of x's dtype.

    Raises:
        ValueError: an unknown mode or padding_mode.
        TypeError: ``align_corners`` is no bool.

    Paper: Jaderberg et al., "Spatial Transformer Networks", arXiv:1506.02025.

    Examples:
        >>> x = argosy.to_tensor([[[[1.0, 3.0]]]])
        >>> grid = argosy.to_tensor([[[[-1.0, 0.0], [0.0, 0.0]]]])
        >>> argosy.nn.functional.grid_sample(x, grid).tolist()
        [[[[1.0, 2.0]]]]
    """
    check_choice("grid_sample", "mode", mode, ("bilinear", "nearest"))
    check_choice("grid_sample", "padding_mode", padding_mode, ("zeros", "reflection", "border"))
    if not isinstance(align_corners, bool):
        raise TypeError(
            "(InvalidType) [grid_sample] align_corners: expected a bool, got "
            f"{type(align_corners).__name__}. Do this: pass True or False."
        )
    return ops.grid_sample(x, grid, mode, padding_mode, align_corners)
