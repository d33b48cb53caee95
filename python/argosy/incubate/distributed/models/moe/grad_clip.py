"""Clipping by the norm of all gradients, where experts are divided between processes."""

from __future__ import annotations

from argosy._support import alone_in, no_effect
from argosy.nn import ClipGradByGlobalNorm as _ClipGradByGlobalNorm


class ClipGradForMOEByGlobalNorm(_ClipGradByGlobalNorm):
    """Scales gradients so that the norm of all together is at most ``clip_norm``.

    Args:
        clip_norm (float): the largest norm.
        is_expert_param_func (function, optional): says of a parameter whether it is an expert's; all are of
            this process, so it makes no difference.
        moe_group: only None, or a group of this process alone.
        group_name (str): has no effect: all gradients that it is given are one group.

    Raises:
        NotImplementedError: ``moe_group`` has several members.

    Examples:
        >>> from argosy.incubate.distributed.models.moe import ClipGradForMOEByGlobalNorm
        >>> layer = argosy.nn.Linear(2, 2)
        >>> clip = ClipGradForMOEByGlobalNorm(1.0)
        >>> optimizer = argosy.optimizer.SGD(0.1, parameters=layer.parameters(), grad_clip=clip)
    """

    def __init__(
        self,
        clip_norm,
        is_expert_param_func=None,
        moe_group=None,
        group_name="default_moe_group",
    ):
        alone_in("ClipGradForMOEByGlobalNorm", moe_group)
        no_effect(
            "ClipGradForMOEByGlobalNorm", "all gradients that it is given are one group",
            group_name=(group_name, "default_moe_group"),
        )  # fmt: skip
        super().__init__(clip_norm)
        self.is_expert_param_func, self.moe_group = is_expert_param_func, moe_group
