"""The k experts with the largest scores."""

from __future__ import annotations

from argosy import nn, tensor

from .base_gate import BaseGate


class NaiveGate(BaseGate):
    """Sends each token to the k experts whose scores, of a linear layer, are largest.

    Args:
        d_model (int): features of a token.
        num_expert, world_size (int): see BaseGate.
        topk (int): k.

    Shape: [N, d_model] to (scores [N, k], experts [N, k]), with all scores [N, experts] if asked for.

    Examples:
        >>> from argosy.incubate.distributed.models.moe import NaiveGate
        >>> scores, experts = NaiveGate(8, 4, 1)(argosy.ones([3, 8]))
        >>> scores.shape, experts.shape
        (paddle.Size([3, 2]), paddle.Size([3, 2]))
    """

    def __init__(self, d_model, num_expert, world_size, topk=2):
        super().__init__(num_expert, world_size)
        self.gate = nn.Linear(d_model, self.tot_expert)
        self.gate.weight.name = "gate_" + self.gate.weight.name
        self.gate.bias.name = "gate_" + self.gate.bias.name
        self.top_k = topk

    def forward(self, inp, return_all_scores=False):
        """Scores and experts of tokens.

        Args:
            inp (Tensor): [N, d_model].
            return_all_scores (bool): return these too.

        Returns:
            tuple of Tensor.
        """
        scores = self.gate(inp)
        best, experts = tensor.topk(scores, k=self.top_k, axis=-1, largest=True, sorted=False)
        return (best, experts, scores) if return_all_scores else (best, experts)
