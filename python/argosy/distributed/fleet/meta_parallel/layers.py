"""Linear layers, embeddings and cross entropy that model parallelism would divide."""

from __future__ import annotations

from argosy import nn
from argosy._support import unsupported

__all__ = []


def _check_group(what, mp_group):
    if mp_group is not None and mp_group.nranks > 1:
        raise NotImplementedError(
            f"[{what}] layers are not divided between processes: expected a group of one, got one of"
            f" {mp_group.nranks}. Do this: leave mp_group out."
        )


class ColumnParallelLinear(nn.Layer):
    """x @ weight + bias, where columns of the weight could be divided; here each process has all.

    Args:
        in_features (int): Size of x's last axis.
        out_features (int): Of the result's.
        weight_attr (ParamAttr, optional): Of the weight [in_features, out_features].
        has_bias (bool, optional): Whether there is a bias [out_features]; None for none.
        gather_output (bool): Whether results of all processes are joined: no difference in one.
        fuse_matmul_bias (bool): Only False.
        mp_group (Group, optional): Of one process.
        name (str, optional): For people.

    Shape: [.., in_features]; the result has [.., out_features].

    Raises:
        NotImplementedError: The group has several processes.

    Example:
        >>> from argosy.distributed.fleet import meta_parallel
        >>> layer = meta_parallel.ColumnParallelLinear(4, 6, has_bias=True)
        >>> layer(argosy.ones([2, 4])).shape
        paddle.Size([2, 6])
    """

    def __init__(
        self,
        in_features,
        out_features,
        weight_attr=None,
        has_bias=None,
        gather_output=True,
        fuse_matmul_bias=False,
        mp_group=None,
        name=None,
    ):
        super().__init__()
        _make_linear(
            self, in_features, out_features, weight_attr, bool(has_bias), fuse_matmul_bias, mp_group
        )
        self.gather_output = gather_output
        self._name = name

    def forward(self, x):
        """The result [.., out_features]."""
        return nn.functional.linear(x, self.weight, self.bias)


class RowParallelLinear(nn.Layer):
    """x @ weight + bias, where rows of the weight could be divided; here each process has all.

    Args:
        in_features (int): Size of x's last axis.
        out_features (int): Of the result's.
        weight_attr (ParamAttr, optional): Of the weight [in_features, out_features].
        has_bias (bool): Whether there is a bias [out_features].
        input_is_parallel (bool): Whether x is a process's part: no difference in one.
        fuse_matmul_bias (bool): Only False.
        mp_group (Group, optional): Of one process.
        name (str, optional): For people.

    Shape: [.., in_features]; the result has [.., out_features].

    Raises:
        NotImplementedError: The group has several processes.

    Example:
        >>> from argosy.distributed.fleet import meta_parallel
        >>> meta_parallel.RowParallelLinear(4, 6)(argosy.ones([2, 4])).shape
        paddle.Size([2, 6])
    """

    def __init__(
        self,
        in_features,
        out_features,
        weight_attr=None,
        has_bias=True,
        input_is_parallel=False,
        fuse_matmul_bias=False,
        mp_group=None,
        name=None,
    ):
        super().__init__()
        _make_linear(
            self, in_features, out_features, weight_attr, bool(has_bias), fuse_matmul_bias, mp_group
        )
        self.input_is_parallel = input_is_parallel
        self._name = name

    def forward(self, x):
        """The result [.., out_features]."""
        return nn.functional.linear(x, self.weight, self.bias)


def _make_linear(layer, given, wanted, weight_attr, has_bias, fuse_matmul_bias, mp_group):
    what = type(layer).__name__
    _check_group(what, mp_group)
    unsupported(what, "leave it out", fuse_matmul_bias=(fuse_matmul_bias, False))
    layer.in_features, layer.out_features = given, wanted
    layer.weight = layer.create_parameter([given, wanted], attr=weight_attr)
    layer.bias = layer.create_parameter([wanted], is_bias=True) if has_bias else None
    layer.is_mp = False
    layer.weight.is_distributed = False


class VocabParallelEmbedding(nn.Layer):
    """Rows of a table, which could be divided; here each process has all.

    Args:
        num_embeddings (int): Rows.
        embedding_dim (int): Size of a row.
        weight_attr (ParamAttr, optional): Of the table [num_embeddings, embedding_dim].
        mp_group (Group, optional): Of one process.
        name (str, optional): For people.

    Shape: indices [..]; the result has [.., embedding_dim].

    Raises:
        NotImplementedError: The group has several processes.

    Example:
        >>> from argosy.distributed.fleet import meta_parallel
        >>> meta_parallel.VocabParallelEmbedding(8, 3)(argosy.to_tensor([1, 2])).shape
        paddle.Size([2, 3])
    """

    def __init__(self, num_embeddings, embedding_dim, weight_attr=None, mp_group=None, name=None):
        super().__init__()
        _check_group("VocabParallelEmbedding", mp_group)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = self.create_parameter([num_embeddings, embedding_dim], attr=weight_attr)
        self.weight.is_distributed = False
        self.is_mp = False
        self._name = name

    def forward(self, x):
        """The rows [.., embedding_dim] of indices x [..]."""
        return nn.functional.embedding(x, self.weight)


class ParallelCrossEntropy(nn.Layer):
    """Cross entropy of each label, whose classes could be divided; here each process has all.

    Args:
        mp_group (Group, optional): Of one process.
        name (str, optional): For people.
        ignore_index (int): The label whose loss is 0.

    Shape: logits [.., classes] and labels [..] or [.., 1]; the result has [.., 1].

    Raises:
        NotImplementedError: The group has several processes.

    Example:
        >>> from argosy.distributed.fleet import meta_parallel
        >>> logits, labels = argosy.ones([2, 4]), argosy.to_tensor([[1], [2]])
        >>> meta_parallel.ParallelCrossEntropy()(logits, labels).shape
        paddle.Size([2, 1])
    """

    def __init__(self, mp_group=None, name=None, ignore_index=-100):
        super().__init__()
        _check_group("ParallelCrossEntropy", mp_group)
        self.ignore_index = ignore_index
        self._name = name

    def forward(self, input, label):  # noqa: A002
        """Losses [.., 1] of logits [.., classes] and labels [..] or [.., 1]."""
        if label.ndim == input.ndim - 1:
            label = label.unsqueeze(-1)
        return nn.functional.cross_entropy(
            input, label, reduction="none", ignore_index=self.ignore_index
        )
