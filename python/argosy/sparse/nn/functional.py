"""Activations, convolutions and pooling of sparse tensors."""

from __future__ import annotations

import itertools

from argosy import tensor
from argosy._beside import beside
from argosy._support import need_type, no_effect
from argosy.nn import functional as F
from argosy.sparse.binary import masked_matmul, matmul
from argosy.sparse.tensor import SparseCooTensor, SparseCsrTensor, linear, unravel
from argosy.sparse.unary import _back, _coordinates, check


def relu(x, name=None):
    """max(x, 0) of the stored values."""
    check("relu", x)
    return x._like(F.relu(x.values()))


def relu6(x, name=None):
    """min(max(x, 0), 6) of the stored values."""
    check("relu6", x)
    return x._like(F.relu6(x.values()))


def leaky_relu(x, negative_slope=0.01, name=None):
    """x, or negative_slope * x below 0, of the stored values."""
    check("leaky_relu", x)
    return x._like(F.leaky_relu(x.values(), negative_slope))


@beside
def softmax(x, axis=-1, name=None):
    """Softmax of the stored values along an axis, the others being taken for -inf.

    Args:
        x (Tensor): Sparse, of floats.
        axis (int): One that has coordinates; -1 for the CSR layout.
        name (str, optional): Has no effect.

    Returns:
        Tensor: Of x's layout and shape.

    Raises:
        ValueError: The axis has no coordinates, or x is of CSR layout and it is not the last.
    """
    check("softmax", x)
    c = _coordinates(x).coalesce()
    axis, axes = axis % x.ndim if -x.ndim <= axis < x.ndim else axis, range(len(c.indices()))
    if axis not in axes or (c is not x and x.is_sparse_csr() and axis != x.ndim - 1):
        raise ValueError(
            f"[sparse.softmax] expected an axis of coordinates, the last one for the CSR layout, got {axis}."
            " Do this: transpose x, or use to_sparse_coo."
        )
    if not c.nnz():
        return x
    others = [i for i in axes if i != axis]
    rows = (
        tensor.index_select(c.indices(), tensor.to_tensor(others, "int64"), 0) if others else None
    )
    places = (
        tensor.zeros_like(c.indices()[0])
        if rows is None
        else linear(rows, [x._shape[i] for i in others])
    )
    _, group = tensor.unique(places, return_inverse=True)
    groups, values = int(group.max()) + 1, c.values()
    lowest = tensor.full([groups], float("-inf"), values.dtype)
    top = tensor.put_along_axis(lowest, group, values.detach(), 0, "amax")
    powers = tensor.exp(values - tensor.index_select(top, group))
    sums = tensor.index_add(tensor.zeros([groups], values.dtype), group, 0, powers)
    return _back(x, c._like(powers / tensor.index_select(sums, group)))


def _numbers(name, value, n):
    found = [value] * n if isinstance(value, int) else list(value)
    if len(found) != n:
        raise ValueError(
            f"[{name}] expected an int or {n} of them, got {value!r}. Do this: correct it."
        )
    return found


def _windows(size, padding, dilation, kernel, stride, ceil_mode):
    """How many windows an axis has, as for dense images."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    return (-(-room // stride) if ceil_mode else room // stride) + 1


@beside
def _pairs(x, kernel, stride, padding, dilation, submanifold, ceil_mode=False):
    """Where the windows of a sparse image [N, spatial.., C] meet its entries.

    Returns the places of the result [dims, n], its spatial sizes, and for each offset in the kernel
    the entries of x and of the result that it ties.
    """
    sizes = x._shape[1:-1]
    sites = x.indices().astype("int64")
    out = [_windows(*along, ceil_mode) for along in zip(sizes, padding, dilation, kernel, stride)]
    if submanifold:
        out = sizes
    lead = [x._shape[0], *out]
    met = []
    for offset in itertools.product(*(range(k) for k in kernel)):
        rows, inside = [sites[0]], tensor.ones([x.nnz()], "bool")
        for axis, k in enumerate(offset):
            moved = sites[axis + 1] + (padding[axis] - k * dilation[axis])
            place = moved // stride[axis]
            fits = tensor.logical_and(moved >= 0, place < out[axis])
            fits = tensor.logical_and(fits, place * stride[axis] == moved)
            inside = tensor.logical_and(inside, fits)
            rows.append(place)
        entries = tensor.nonzero(inside).flatten()
        targets = linear(tensor.index_select(tensor.stack(rows), entries, 1), lead)
        met.append((entries, targets))
    if submanifold:
        own = linear(sites, lead)
        order = tensor.argsort(own)
        numbers = tensor.index_select(own, order)
        tied = []
        for entries, targets in met:
            place = tensor.clip(tensor.searchsorted(numbers, targets), max=max(x.nnz() - 1, 0))
            there = tensor.nonzero(tensor.index_select(numbers, place) == targets).flatten()
            to = tensor.index_select(order, tensor.index_select(place, there))
            tied.append((tensor.index_select(entries, there), to))
        return x.indices(), out, tied
    numbers = tensor.unique(tensor.concat([targets for _, targets in met]))
    tied = [(entries, tensor.searchsorted(numbers, targets)) for entries, targets in met]
    return unravel(numbers, lead), out, tied


@beside
def _conv(name, x, weight, bias, stride, padding, dilation, groups, data_format, submanifold):
    check(name, x)
    dims = weight.ndim - 2
    wanted = "NDHWC" if dims == 3 else "NHWC"
    if data_format != wanted or groups != 1:
        raise ValueError(
            f"[sparse.{name}] expected data_format='{wanted}' and groups=1, got {data_format!r} and"
            f" {groups}. Do this: transpose x, or use a dense convolution."
        )
    if not x.is_sparse_coo() or x.ndim != dims + 2 or x.sparse_dim() != dims + 1:
        raise ValueError(
            f"[sparse.{name}] x: expected coordinates of all dimensions but the channels,"
            f" to_sparse_coo({dims + 1}) of [{', '.join(wanted)}], got shape {x._shape} with"
            f" {x._format} places. Do this: convert it."
        )
    *kernel, channels, filters = [int(n) for n in weight.shape]
    if channels != x._shape[-1]:
        raise ValueError(
            f"[sparse.{name}] weight takes {channels} channels, x has {x._shape[-1]}. Do this: make"
            " them equal."
        )
    stride, padding, dilation = (
        _numbers(f"sparse.{name}", value, dims) for value in (stride, padding, dilation)
    )
    if submanifold:  # each site is the centre of its own window
        padding = [d * (k // 2) for d, k in zip(dilation, kernel)]
        stride = [1] * dims
    indices, out, tied = _pairs(x, kernel, stride, padding, dilation, submanifold)
    values = tensor.zeros([indices.shape[1], filters], x.dtype)
    flat = weight.reshape([-1, channels, filters])
    for k, (entries, to) in enumerate(tied):
        if entries.shape[0]:
            part = tensor.matmul(tensor.index_select(x.values(), entries), flat[k])
            values = tensor.index_add(values, to, 0, part)
    if bias is not None:
        values = values + bias
    shape = [x._shape[0], *out, filters]
    return SparseCooTensor(indices, values, shape, not submanifold or x.is_coalesced())


def conv2d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", name=None
):
    """Convolution of a sparse image [N, H, W, C] with weight [kh, kw, C, filters]; the result is
    stored wherever a window meets an entry."""
    return _conv("conv2d", x, weight, bias, stride, padding, dilation, groups, data_format, False)


def conv3d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", name=None
):
    """Convolution of a sparse volume [N, D, H, W, C] with weight [kd, kh, kw, C, filters]; the
    result is stored wherever a window meets an entry."""
    return _conv("conv3d", x, weight, bias, stride, padding, dilation, groups, data_format, False)


def subm_conv2d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NHWC",
    key=None,
    name=None,
):
    """Submanifold convolution (arXiv:1706.01307): stored where x is, so that it stays as sparse.
    Windows are centred on the entries: stride and padding have no effect. key: has none either."""
    if key is not None:
        no_effect("subm_conv2d", "places are found anew in each call", key=(key, None))
    return _conv(
        "subm_conv2d", x, weight, bias, stride, padding, dilation, groups, data_format, True
    )


def subm_conv3d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NDHWC",
    key=None,
    name=None,
):
    """subm_conv2d of volumes [N, D, H, W, C]."""
    if key is not None:
        no_effect("subm_conv3d", "places are found anew in each call", key=(key, None))
    return _conv(
        "subm_conv3d", x, weight, bias, stride, padding, dilation, groups, data_format, True
    )


@beside
def max_pool3d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NDHWC", name=None
):
    """The largest stored value of each channel in each window that meets an entry. ceil_mode: a
    window that reaches over the end counts, too."""
    check("max_pool3d", x)
    if data_format != "NDHWC" or x.ndim != 5 or not x.is_sparse_coo():
        raise ValueError(
            "[sparse.max_pool3d] expected a sparse volume [N, D, H, W, C] with coordinates and"
            f" data_format='NDHWC', got shape {x._shape} and {data_format!r}. Do this: convert x with"
            " to_sparse_coo(4)."
        )
    kernel = _numbers("sparse.max_pool3d", kernel_size, 3)
    stride = kernel if stride is None else _numbers("sparse.max_pool3d", stride, 3)
    padding = _numbers("sparse.max_pool3d", padding, 3)
    indices, out, tied = _pairs(x, kernel, stride, padding, [1] * 3, False, ceil_mode)
    shape = [indices.shape[1], x._shape[-1]]
    best = tensor.full(shape, float("-inf"), x.dtype)
    for entries, to in tied:
        if entries.shape[0]:
            # An offset ties each place of the result to one entry at most.
            rows = tensor.index_select(x.values(), entries)
            placed = tensor.scatter(tensor.full(shape, float("-inf"), x.dtype), to, rows)
            best = tensor.maximum(best, placed)
    return SparseCooTensor(indices, best, [x._shape[0], *out, x._shape[-1]], True)


# There is one algorithm for each device and dtype.
subm_conv2d_igemm = subm_conv2d
subm_conv3d_igemm = subm_conv3d


@beside
def attention(query, key, value, sparse_mask, key_padding_mask=None, attn_mask=None, name=None):
    """softmax(query key^T / sqrt(D)) value at the places of sparse_mask only: the other scores are
    never computed.

    Args:
        query, key, value (Tensor): [B, heads, length, D].
        sparse_mask (SparseCsrTensor): [B * heads, length, length]; where it has entries counts, not
            what they are.
        key_padding_mask (Tensor, optional): [B, length]; keys where it is 0 are not seen.
        attn_mask (Tensor, optional): [length, length]; 0 where a query does not see a key.

    Returns:
        Tensor: [B, heads, length, D]; 0 for queries that see nothing.

    Raises:
        TypeError: sparse_mask is no CSR tensor. ValueError: shapes do not fit.

    Examples:
        >>> import argosy
        >>> x = argosy.ones([1, 1, 2, 4])
        >>> mask = argosy.to_tensor([[[1.0, 0.0], [1.0, 1.0]]]).to_sparse_csr()
        >>> argosy.sparse.nn.functional.attention(x, x, x, mask).shape
        paddle.Size([1, 1, 2, 4])
    """
    need_type("attention", "sparse_mask", sparse_mask, SparseCsrTensor, "call to_sparse_csr()")
    batch, heads, length, width = query.shape
    if list(sparse_mask.shape) != [batch * heads, length, key.shape[2]]:
        raise ValueError(
            f"[sparse.nn.functional.attention] sparse_mask: expected {[batch * heads, length, length]}"
            f" for a query {list(query.shape)}, got {list(sparse_mask.shape)}. Do this: give one mask"
            " for each head of each entry of the batch."
        )
    q, k, v = (t.reshape([batch * heads, t.shape[2], width]) for t in (query, key, value))
    scores = masked_matmul(q * width**-0.5, k.transpose([0, 2, 1]), sparse_mask)
    seen = _seen(_coordinates(scores).indices(), heads, key_padding_mask, attn_mask)
    if seen is not None:
        lowest = tensor.full([], float("-inf"), query.dtype)
        scores = scores._like(tensor.where(seen, scores.values(), lowest))
    weights = softmax(scores)
    if seen is not None:  # a row of -inf has no softmax
        nothing = tensor.zeros([], query.dtype)
        weights = weights._like(tensor.where(seen, weights.values(), nothing))
    return matmul(weights, v).reshape(query.shape)


def _seen(places, heads, key_padding_mask, attn_mask):
    """Which entries at places [3, entries] of [B * heads, length, length] the masks leave; None
    without a mask."""
    matrix, row, column = places
    seen = None
    if key_padding_mask is not None:
        seen = tensor.gather_nd(key_padding_mask, tensor.stack([matrix // heads, column], 1)) != 0
    if attn_mask is not None:
        also = tensor.gather_nd(attn_mask, tensor.stack([row, column], 1)) != 0
        seen = also if seen is None else tensor.logical_and(seen, also)
    return seen
