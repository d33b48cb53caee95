"""Rotary position embedding."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import sizes_of


def _angles(length, size, base, dtype):
    """Sines and cosines [S, D], each angle for two neighbours."""
    inverse = 1.0 / base ** (tensor.arange(0, size, 2, dtype="float32") / size)
    angle = tensor.outer(tensor.arange(length, dtype="float32"), inverse)
    angle = tensor.stack([angle, angle], -1).flatten(1)
    return tensor.sin(angle).astype(dtype), tensor.cos(angle).astype(dtype)


def _rotated(x, sine, cosine, neighbours):
    if neighbours:
        pairs = x.reshape([*sizes_of(x)[:-1], -1, 2])
        turned = tensor.stack([-pairs[..., 1], pairs[..., 0]], -1).flatten(-2)
    else:
        half = sizes_of(x)[-1] // 2
        turned = tensor.concat([-x[..., half:], x[..., :half]], -1)
    return x * cosine + turned * sine


@beside
def fused_rotary_position_embedding(
    q,
    k=None,
    v=None,
    sin=None,
    cos=None,
    position_ids=None,
    use_neox_rotary_style=True,
    time_major=False,
    rotary_emb_base=10000.0,
):
    """Rotary position embedding of each of q, k and v that is given.

    Args:
        q, k, v (Tensor, optional): [B, S, heads, D], or [S, B, heads, D] with time_major; q is needed.
        sin, cos (Tensor, optional): [S, D] or [1, S, 1, D]; made from rotary_emb_base without them.
        position_ids (Tensor, optional): [B, S] rows of sin and cos to take.
        use_neox_rotary_style (bool): True turns neighbouring entries of D as pairs, False the entries of
            the first half with those of the second (needs sin and cos that repeat by halves).
        time_major (bool): see ``q``.
        rotary_emb_base (float): the slowest angle is about 1 / base for each position.

    Returns:
        The three results, None for what was not given.

    Raises:
        ValueError: only one of ``sin`` and ``cos`` is given.
        AssertionError: ``use_neox_rotary_style`` is False without them.

    Paper: Su et al., arXiv:2104.09864.

    Examples:
        >>> q = argosy.to_tensor([[[[1.0, 0.0]], [[1.0, 0.0]]]])
        >>> out, _, _ = argosy.incubate.nn.functional.fused_rotary_position_embedding(q)
        >>> out.tolist()
        [[[[1.0, 0.0]], [[0.5403, 0.8415]]]]
    """
    if (sin is None) != (cos is None):
        raise ValueError(
            "[fused_rotary_position_embedding] sin and cos go together, got one of them. Do this:"
            " pass both or none."
        )
    if sin is None and not use_neox_rotary_style:
        raise AssertionError(
            "[fused_rotary_position_embedding] use_neox_rotary_style=False needs sin and cos. Do"
            " this: pass them, repeated by halves."
        )
    sizes = sizes_of(q)
    length, size = sizes[0 if time_major else 1], sizes[-1]
    if sin is None:
        last = length
        if position_ids is not None:
            last = position_ids.max() + 1
            last = last if position_ids._symbolic else int(last)
        sin, cos = _angles(last, size, rotary_emb_base, q.dtype)
    sin, cos = sin.reshape([-1, size]), cos.reshape([-1, size])
    if position_ids is not None:
        sin, cos = sin[position_ids], cos[position_ids]  # [B, S, D]
    else:
        sin, cos = sin[:length].unsqueeze(0), cos[:length].unsqueeze(0)
    sin, cos = sin.unsqueeze(2), cos.unsqueeze(2)
    if time_major:
        sin, cos = sin.transpose([1, 0, 2, 3]), cos.transpose([1, 0, 2, 3])
    return tuple(
        None if x is None else _rotated(x, sin, cos, use_neox_rotary_style) for x in (q, k, v)
    )
