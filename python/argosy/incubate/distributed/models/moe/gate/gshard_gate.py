"""Two experts, of which the second is sometimes left out."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import alone_in
from argosy.autograd import no_grad
from argosy.nn import functional as F

from ._capacity import capacity_of, within_capacity
from .naive_gate import NaiveGate


class GShardGate(NaiveGate):
    """Sends each token to two experts, within their capacity, and has a loss that balances them.

    Args:
        d_model (int), num_expert (int), world_size (int): see NaiveGate.
        topk (int): only 2.
        capacity (tuple): how many of all tokens an expert takes at most, in training and in evaluation.
        random_routing (bool): leave the second expert out with the more probability the smaller its score.
        group: only None, or a group of this process alone.

    Shape: [N, d_model] to (scores [N, 2], experts [N, 2]).

    Raises:
        AssertionError: ``topk`` is not 2.

    Paper: Lepikhin et al., arXiv 2006.16668.

    Examples:
        >>> from argosy.incubate.distributed.models.moe import GShardGate
        >>> gate = GShardGate(8, 4, 1)
        >>> scores, experts = gate(argosy.ones([3, 8]))
        >>> experts.shape, gate.get_loss().shape
        (paddle.Size([3, 2]), paddle.Size([]))
    """

    def __init__(
        self,
        d_model,
        num_expert,
        world_size,
        topk=2,
        capacity=(1.2, 2.4),
        random_routing=True,
        group=None,
    ):
        if topk != 2:
            raise AssertionError(f"[GShardGate] topk: expected 2, got {topk}. Do this: pass 2.")
        alone_in("GShardGate", group)
        super().__init__(d_model, num_expert, world_size)
        self.capacity, self.random_routing, self.group = capacity, random_routing, group

    @beside
    def forward(self, x):
        """Scores and experts of tokens [N, d_model]."""
        best, experts, scores = super().forward(x, return_all_scores=True)
        share = (
            tensor.sum(F.one_hot(tensor.reshape(experts, [-1]), self.tot_expert), 0) / x.shape[0]
        )
        mean = tensor.mean(F.softmax(scores, axis=1), axis=0)
        self.set_loss(tensor.mean(share * mean) * self.num_expert**2)
        with no_grad():
            capacity = capacity_of(x.shape[0], self.capacity, self.training)
            experts = within_capacity(experts, self.tot_expert, capacity)
            if self.random_routing:
                left_out = 2 * best[:, 1] < tensor.rand([x.shape[0]], best.dtype)
                second = tensor.where(left_out, tensor.full_like(experts[:, 1], -1), experts[:, 1])
                experts = tensor.stack([experts[:, 0], second], axis=1)
        return best, experts
