"""A layer of experts, of which each token sees a few."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import alone_in, unsupported
from argosy.distributed.fleet.utils import recompute
from argosy.nn import Layer

from .gate import BaseGate, GShardGate, NaiveGate, SwitchGate

_GATES = {"naive": NaiveGate, "gshard": GShardGate, "switch": SwitchGate}


def _gate(gate, d_model, experts):
    """The gate that an argument describes, for that many experts."""
    if isinstance(gate, NaiveGate):
        return gate
    if isinstance(gate, BaseGate) or not isinstance(gate, dict):
        raise TypeError(
            f"[MoELayer] gate: expected a dict, a NaiveGate, a GShardGate or a SwitchGate, got"
            f" {type(gate).__name__}. Do this: pass one of them."
        )
    kind = gate.get("type", "gshard") or "naive"
    if kind not in _GATES:
        raise AssertionError(
            f"[MoELayer] gate type: expected {', '.join(map(repr, _GATES))}, got {kind!r}. Do this: use"
            " one of them."
        )
    return _GATES[kind](d_model, num_expert=experts, world_size=1, topk=gate.get("top_k", 2))


class MoELayer(Layer):
    """Sends each token to a few of many experts, and adds their results, weighted by the gate.

    Args:
        d_model (int): features of a token.
        experts (LayerList): layers from [n, d_model] to [n, d_model].
        gate (dict | BaseGate, optional): the gate, or {'type': 'naive', 'gshard' or 'switch', 'top_k': how many
            experts see a token}; by default 'gshard' with 2.
        moe_group, mp_group: only None, or groups of this process alone.
        recompute_interval (int): above 0 what experts compute is not kept for their gradients, but computed
            again.
        recompute_ctx (dict, optional): only None.

    Shape: [batch, sequence, d_model]; the result has the same.

    Raises:
        AssertionError: the type of the gate is unknown, or the input has other dimensions.
        NotImplementedError: a group has several members.
        TypeError: ``gate`` is something else.

    Paper: Shazeer et al., arXiv 1701.06538.

    Examples:
        >>> experts = argosy.nn.LayerList([argosy.nn.Linear(8, 8) for _ in range(4)])
        >>> layer = argosy.incubate.distributed.models.moe.MoELayer(8, experts, {"type": "naive", "top_k": 2})
        >>> layer(argosy.ones([2, 3, 8])).shape
        paddle.Size([2, 3, 8])
    """

    def __init__(
        self,
        d_model,
        experts,
        gate=None,
        moe_group=None,
        mp_group=None,
        recompute_interval=0,
        recompute_ctx=None,
    ):
        super().__init__()
        alone_in("MoELayer", moe_group)
        alone_in("MoELayer", mp_group)
        unsupported("MoELayer", "leave it out", recompute_ctx=(recompute_ctx, None))
        self.group, self.mp_group, self.world_size = moe_group, mp_group, 1
        self.d_model, self.num_expert, self.experts = d_model, len(experts), experts
        self.recompute_interval = recompute_interval
        self.gate = _gate({} if gate is None else gate, d_model, len(experts))
        self.top_k = self.gate.top_k

    @beside
    def forward(self, inp):
        """The weighted results of the experts of each token."""
        if len(inp.shape) != 3:
            raise AssertionError(
                f"[MoELayer] inp: expected [batch, sequence, {self.d_model}], got shape"
                f" {list(inp.shape)}. Do this: reshape it."
            )
        tokens = tensor.reshape(inp, [-1, self.d_model])
        weights, chosen = self.gate(tokens)
        chosen = tensor.reshape(chosen, [-1])
        # Place i of `seen` is for token i // k and its choice i % k.
        seen = tensor.zeros([chosen.shape[0], self.d_model], tokens.dtype)
        for number, expert in enumerate(self.experts):
            places = tensor.reshape(tensor.nonzero(chosen == number), [-1])
            if places.shape[0] == 0:
                continue
            given = tensor.index_select(tokens, places // self.top_k, 0)
            made = recompute(expert, given) if self.recompute_interval > 0 else expert(given)
            seen = tensor.scatter(seen, places, made.astype(seen.dtype), overwrite=True)
        seen = tensor.reshape(seen, [-1, self.top_k, self.d_model])
        weights = tensor.reshape(weights, [-1, 1, self.top_k]).astype(seen.dtype)
        return tensor.reshape(tensor.bmm(weights, seen), inp.shape)
