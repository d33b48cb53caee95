"""One expert."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import alone_in
from argosy.autograd import no_grad
from argosy.nn import functional as F

from ._capacity import capacity_of, within_capacity
from .naive_gate import NaiveGate


class SwitchGate(NaiveGate):
    """Sends each token to one expert, within its capacity, and has a loss that balances the experts.

    Args:
        d_model (int), num_expert (int), world_size (int): see NaiveGate.
        topk (int): only 1.
        switch_eps (float): noise that is added to scores in training: 1 plus or minus so much.
        capacity (tuple): how many of all tokens an expert takes at most, in training and in evaluation.
        group: only None, or a group of this process alone.

    Shape: [N, d_model] to (probabilities [N, 1], experts [N, 1]).

    Raises:
        AssertionError: ``topk`` is not 1.

    Paper: Fedus et al., arXiv 2101.03961.

    Examples:
        >>> from argosy.incubate.distributed.models.moe import SwitchGate
        >>> gate = SwitchGate(8, 4, 1)
        >>> scores, experts = gate(argosy.ones([3, 8]))
        >>> experts.shape, gate.get_loss().shape
        (paddle.Size([3, 1]), paddle.Size([]))
    """

    def __init__(
        self,
        d_model,
        num_expert,
        world_size,
        topk=1,
        switch_eps=0.1,
        capacity=(1.2, 2.4),
        group=None,
    ):
        if topk != 1:
            raise AssertionError(f"[SwitchGate] topk: expected 1, got {topk}. Do this: pass 1.")
        alone_in("SwitchGate", group)
        super().__init__(d_model, num_expert, world_size, topk=1)
        self.switch_eps, self.capacity, self.group = switch_eps, capacity, group

    @beside
    def forward(self, inp):
        """Probabilities and experts of tokens [N, d_model]."""
        scores = self.gate(inp)
        if self.training:
            noise = tensor.rand(scores.shape, scores.dtype)
            scores = scores + (noise * 2 - 1) * self.switch_eps + 1
        probabilities = F.softmax(scores, axis=-1)
        best, experts = tensor.topk(probabilities, k=1, axis=-1, largest=True)
        with no_grad():
            capacity = capacity_of(inp.shape[0], self.capacity, self.training)
            experts = within_capacity(experts, self.tot_expert, capacity)
            kept = F.one_hot(tensor.reshape(experts + 1, [-1]), self.tot_expert + 1)[:, 1:]
            count = tensor.sum(kept)
        fraction = tensor.sum(kept, 0) / count
        self.set_loss((fraction * tensor.sum(probabilities, 0) / count).sum() * self.tot_expert)
        return best, experts
