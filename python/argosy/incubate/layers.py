"""Layers of recommenders: shuffled batches, slices of many tensors at once, trees of items."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._generated.incubate_layers import correlation
from argosy._support import (
    ArgumentError,
    check_choice,
    dtype_name,
    listed,
    need_tensor,
    sizes_of,
)
from argosy.nn import initializer
from argosy.nn.layer._helper import make_parameter

__all__ = [
    "correlation",
    "partial_concat",
    "partial_sum",
    "shuffle_batch",
    "tdm_child",
    "tdm_sampler",
]


@beside
def shuffle_batch(x, seed=None):
    """The rows of a tensor in random order.

    Args:
        x (Tensor): [.., width]; what stands along the last axis stays together.
        seed (int, optional): Gives the same order each time; None or 0: the generator's next one.

    Returns:
        Tensor like x.

    Raises:
        TypeError: x is no Tensor.
        ValueError: x is 0-d.

    Examples:
        >>> shuffled = argosy.incubate.layers.shuffle_batch(argosy.to_tensor([[1, 2], [3, 4]]))
        >>> sorted(shuffled.tolist())
        [[1, 2], [3, 4]]
    """
    need_tensor("shuffle_batch", "x", x)
    if x.ndim == 0:
        raise ValueError(
            "(InvalidArgument) [shuffle_batch] x must be [.., width], got a 0-d tensor. Do this: reshape"
            " it."
        )
    rows = tensor.reshape(x, [-1, x.shape[-1]])
    seed = 0 if seed is None else int(seed)
    order = tensor.argsort(tensor.uniform([sizes_of(rows)[0]], min=0.0, seed=seed))
    return tensor.reshape(tensor.gather(rows, order), sizes_of(x))


def _columns(op, input, start_index, length):
    """Columns [start, start + length) of each of some [rows, width] tensors; a negative length means
    all that follow."""
    found = []
    for x in listed(input):
        need_tensor(op, "input", x)
        if x.ndim != 2:
            raise ValueError(
                f"(InvalidArgument) [{op}] input must be a list of [rows, width] tensors, got"
                f" {list(x.shape)}. Do this: reshape them to two dimensions."
            )
        width = x.shape[1]
        start = start_index + width if start_index < 0 else start_index
        end = width if length < 0 else start + length
        if not 0 <= start < width or end > width:
            raise IndexError(
                f"(OutOfRange) [{op}] expected columns within 0 and {width}, got start_index"
                f" {start_index} and length {length}. Do this: correct them."
            )
        found.append(x[:, start:end])
    if not found:
        raise ValueError(
            f"(InvalidArgument) [{op}] input: expected one tensor or more, got none. Do this: name some."
        )
    return found


def partial_concat(input, start_index=0, length=-1):
    """The same columns of several tensors, side by side.

    Args:
        input (list[Tensor]): Each [rows, width].
        start_index (int): The first column, from the end if negative.
        length (int): How many of each; negative: all that follow.

    Returns:
        Tensor [rows, columns of all].

    Raises:
        TypeError: One of them is no Tensor.
        ValueError: There is none, or one has not two dimensions.
        IndexError: A tensor has not those columns.

    Examples:
        >>> x, y = argosy.to_tensor([[0, 1, 2]]), argosy.to_tensor([[6, 7, 8]])
        >>> argosy.incubate.layers.partial_concat([x, y], start_index=0, length=2).tolist()
        [[0, 1, 6, 7]]
    """
    return tensor.concat(_columns("partial_concat", input, start_index, length), 1)


def partial_sum(input, start_index=0, length=-1):
    """The sum of the same columns of several tensors.

    Args:
        input (list[Tensor]): Each [rows, width].
        start_index (int): The first column, from the end if negative.
        length (int): How many; negative: all that follow.

    Returns:
        Tensor [rows, columns].

    Raises:
        TypeError: One of them is no Tensor.
        ValueError: There is none, or one has not two dimensions.
        IndexError: A tensor has not those columns.

    Examples:
        >>> x, y = argosy.to_tensor([[0, 1, 2]]), argosy.to_tensor([[6, 7, 8]])
        >>> argosy.incubate.layers.partial_sum([x, y], start_index=0, length=2).tolist()
        [[6, 8]]
    """
    return tensor.add_n(_columns("partial_sum", input, start_index, length))


def _check_integer(op, name, dtype):
    if not isinstance(dtype, str):
        dtype = getattr(dtype, "__name__", None) or dtype_name(dtype)
    check_choice(op, name, dtype, ("int32", "int64"), TypeError)
    return dtype


def _table(op, attr, shape, dtype):
    """A parameter of whole numbers that no optimizer changes."""
    made = make_parameter(op, shape, attr, dtype, False, initializer.Constant(0))
    made.stop_gradient = True
    return made


@beside
def tdm_child(x, node_nums, child_nums, param_attr=None, dtype="int32"):
    """Children of nodes of a tree of items, and which of them are leaves.

    The tree is a parameter [node_nums, 3 + child_nums]: for each node its item (0 unless it is a leaf),
    its layer, its parent and its children, 0 where there is none.

    Args:
        x (Tensor): Numbers of nodes, int32 or int64, any shape.
        node_nums (int): How many nodes there are.
        child_nums (int): How many children a node has at most.
        param_attr (ParamAttr, optional): Of the tree; its initializer gives the numbers.
        dtype (str): Of both results, int32 or int64.

    Returns:
        tuple[Tensor, Tensor]: [*x.shape, child_nums] children, 0 where there is none, and as many 1 for
        leaves, 0 for others.

    Raises:
        TypeError: x is no Tensor, or dtype another one.

    Examples:
        >>> tree = np.array([[0, 0, 0, 1, 2], [5, 1, 0, 0, 0], [6, 1, 0, 0, 0]])
        >>> attr = argosy.ParamAttr(initializer=argosy.nn.initializer.Assign(tree))
        >>> child, leaf = argosy.incubate.layers.tdm_child(argosy.to_tensor([[0], [1]]), 3, 2, attr)
    """
    need_tensor("tdm_child", "x", x)
    dtype = _check_integer("tdm_child", "dtype", dtype)
    tree = _table("tdm_child", param_attr, [node_nums, 3 + child_nums], dtype)
    ids = tensor.reshape(x, [-1])
    # Node 0 is no node: it stands where there is none.
    child = tensor.gather(tree, ids)[:, 3:] * tensor.unsqueeze(ids != 0, 1).astype(dtype)
    item = tensor.reshape(tensor.gather(tree, tensor.reshape(child, [-1]))[:, 0], [-1, child_nums])
    leaf = tensor.logical_and(child != 0, item != 0).astype(dtype)
    shape = [*sizes_of(x), child_nums]
    return tensor.reshape(child, shape), tensor.reshape(leaf, shape)


def _check_layers(negatives, sizes, leaves):
    if len(negatives) != len(sizes):
        raise ValueError(
            "[tdm_sampler] neg_samples_num_list: expected one number for each of"
            f" {len(sizes)} layers, got {len(negatives)}. Do this: name them all."
        )
    for number, (drawn, size) in enumerate(zip(negatives, sizes)):
        if drawn >= size:
            raise ValueError(
                f"[tdm_sampler] neg_samples_num_list: expected less than the {size} nodes of layer"
                f" {number}, got {drawn}. Do this: draw fewer."
            )
    if leaves is None or leaves >= sum(sizes):
        raise ArgumentError(
            f"[tdm_sampler] leaf_node_num: expected less than the {sum(sizes)} nodes of all layers, got"
            f" {leaves}. Do this: correct it."
        )


@beside
def _drawn(nodes, positive, count, seed):
    """[rows, count] of `nodes`, each once in a row, none the row's positive one."""
    rows, size = sizes_of(positive)[0], nodes.shape[0]
    keys = tensor.uniform([rows, size], min=0.0, seed=seed)
    keys = keys + (tensor.unsqueeze(nodes, 0) == positive).astype(keys.dtype)
    places = tensor.topk(keys, count, axis=1, largest=False)[1]
    return tensor.reshape(tensor.gather(nodes, tensor.reshape(places, [-1])), [-1, count])


@beside
def tdm_sampler(
    x,
    neg_samples_num_list,
    layer_node_num_list,
    leaf_node_num,
    tree_travel_attr=None,
    tree_layer_attr=None,
    output_positive=True,
    output_list=True,
    seed=0,
    tree_dtype="int32",
    dtype="int32",
):
    """For each item its nodes on the way down a tree, and others of the same layers drawn at random.

    Two parameters hold the tree: the way to each leaf [leaf_node_num, layers], 0 where it ends
    earlier, and the nodes of all layers, one after the other, [nodes, 1].

    Args:
        x (Tensor): [rows, 1] (or [rows]) items, int32 or int64.
        neg_samples_num_list (list[int]): How many nodes are drawn in each layer; less than it has.
        layer_node_num_list (list[int]): How many nodes each layer has, without the root.
        leaf_node_num (int): How many leaves there are.
        tree_travel_attr (ParamAttr, optional): Of the ways; its initializer gives the numbers.
        tree_layer_attr (ParamAttr, optional): Of the nodes, likewise.
        output_positive (bool): Whether the node on the way stands before those drawn.
        output_list (bool): Whether results are lists with one tensor for each layer.
        seed (int): Draws the same each time unless 0.
        tree_dtype (str): Of the parameters, int32 or int64.
        dtype (str): Of the results, int32 or int64.

    Returns:
        tuple: Nodes; 1 for those on the way and 0 for those drawn; 0 where the way has ended, and 1.
        Each is [rows, nodes of all layers], or a list of [rows, nodes of a layer, 1].

    Raises:
        TypeError: x is no Tensor, or a dtype another one.
        ValueError: The lists do not fit each other.
        AssertionError: leaf_node_num is not less than the number of nodes.

    Examples:
        >>> assign = argosy.nn.initializer.Assign
        >>> ways = argosy.ParamAttr(initializer=assign(np.array([[1, 3], [1, 4], [2, 5], [2, 6]])))
        >>> nodes = argosy.ParamAttr(initializer=assign(np.arange(1, 7).reshape(6, 1)))
        >>> out, label, mask = argosy.incubate.layers.tdm_sampler(
        ...     argosy.to_tensor([[0], [3]]), [0, 1], [2, 4], 4, ways, nodes, output_list=False
        ... )
        >>> out.shape, label.tolist()
        (paddle.Size([2, 3]), [[1, 1, 0], [1, 1, 0]])
    """
    need_tensor("tdm_sampler", "x", x)
    tree_dtype = _check_integer("tdm_sampler", "tree_dtype", tree_dtype)
    dtype = _check_integer("tdm_sampler", "dtype", dtype)
    _check_layers(neg_samples_num_list, layer_node_num_list, leaf_node_num)
    ways = _table(
        "tdm_sampler", tree_travel_attr, [leaf_node_num, len(layer_node_num_list)], tree_dtype
    )
    nodes = _table("tdm_sampler", tree_layer_attr, [sum(layer_node_num_list), 1], tree_dtype)
    way = tensor.gather(ways, tensor.reshape(x, [-1]))
    outs, labels, masks = [], [], []
    first = 0
    for number, (count, size) in enumerate(zip(neg_samples_num_list, layer_node_num_list)):
        positive = way[:, number : number + 1]
        parts = [positive[:, : int(output_positive)]]
        if count:
            layer = tensor.reshape(nodes[first : first + size], [-1])
            parts.append(_drawn(layer, positive, count, seed + number if seed else 0))
        first += size
        there = (positive != 0).astype(dtype)
        out = tensor.concat(parts, 1).astype(dtype) * there
        mask = tensor.ones_like(out) * there
        label = mask * tensor.to_tensor([1] * bool(output_positive) + [0] * count, dtype=dtype)
        for found, value in ((outs, out), (labels, label), (masks, mask)):
            value.stop_gradient = True
            found.append(value)
    if not output_list:
        return tuple(tensor.concat(parts, 1) for parts in (outs, labels, masks))
    return tuple([tensor.unsqueeze(p, 2) for p in parts] for parts in (outs, labels, masks))
