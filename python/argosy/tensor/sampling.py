"""Draws of tokens from predicted probabilities."""

from argosy._beside import beside
from argosy._core import ops as _ops
from argosy._support import sizes_of, unsupported
from argosy.tensor import search
from argosy.tensor.registry import method


@method
@beside
def top_p_sampling(
    x,
    ps,
    threshold=None,
    topp_seed=None,
    seed=-1,
    k=0,
    mode="truncated",
    return_top=False,
    name=None,
):
    """Draws an index of each row among the likeliest ones that make up a share of the probability
    (nucleus sampling, arXiv:1904.09751). This tensor, x, has the probabilities, [B, n].

    Args:
        ps (Tensor): [B] or [B, 1], the share: indices are taken in falling order until they reach it.
        threshold (Tensor, optional): [B] or [B, 1]; indices with a lower probability are left out.
        topp_seed: Only None.
        seed (int): Of the draw; -1 draws from the global generator.
        k (int): At most so many indices are taken; 0 sets no limit.
        mode (str): Only 'truncated'.
        return_top (bool): Whether to return the likeliest ones, too.

    Returns:
        tuple[Tensor, ..]: [B, 1] probabilities of what was drawn and [B, 1] int64 indices; with
        return_top the max(k, 1) largest probabilities and their indices, [B, max(k, 1)]. The likeliest
        index can always be drawn.

    Raises:
        NotImplementedError: a seed for each row (topp_seed), or another mode.

    Example:
        >>> x = argosy.to_tensor([[0.1, 0.7, 0.2]])
        >>> probability, index = argosy.tensor.top_p_sampling(x, argosy.to_tensor([0.5]))
        >>> index.tolist()
        [[1]]
    """
    unsupported(
        "top_p_sampling", "leave it out",
        topp_seed=(topp_seed, None), mode=(mode, "truncated"),
    )  # fmt: skip
    ordered, index = search.topk(x, sizes_of(x)[1], -1)
    place = _ops.arange(0, sizes_of(x)[1], 1, "int64")
    likely = _ops.subtract(_ops.cumsum(ordered, -1), ordered) < _ops.reshape(ps, [-1, 1])
    if threshold is not None:
        likely = _ops.logical_and(likely, ordered >= _ops.reshape(threshold, [-1, 1]))
    if k > 0:
        likely = _ops.logical_and(likely, place < k)
    likely = _ops.logical_or(likely, place < 1)
    sums = _ops.cumsum(search.where(likely, ordered, _ops.zeros_like(ordered)), -1)
    drawn = _ops.uniform([sizes_of(x)[0], 1], 0.0, 1.0, max(seed, 0), x.dtype)
    past = _ops.cast(sums <= _ops.multiply(drawn, sums[:, -1:]), "int64")
    last = _ops.sum(_ops.cast(likely, "int64"), [-1], None, True) - 1
    at = _ops.minimum(_ops.sum(past, [-1], None, True), last)
    found = _ops.take_along(ordered, at, -1), _ops.take_along(index, at, -1)
    return (*found, ordered[:, : max(k, 1)], index[:, : max(k, 1)]) if return_top else found
