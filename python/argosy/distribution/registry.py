"""The rules of Kullback-Leibler divergences; kl.py fills them in."""

from __future__ import annotations

RULES = {}  # (class of p, class of q) -> function


def kl_divergence(p, q):
    """KL(p || q), in nats: the expectation under p of ``log p(x) - log q(x)``.

    Args:
        p, q (Distribution): the two distributions.

    Returns:
        Tensor [*batch_shape], the batches being broadcast.

    Raises:
        NotImplementedError: there is no rule for the two classes; :func:`register_kl` adds one.

    Examples:
        >>> p, q = argosy.distribution.Normal(0.0, 1.0), argosy.distribution.Normal(1.0, 1.0)
        >>> argosy.distribution.kl_divergence(p, q).item()
        0.5
    """
    for above_p in type(p).__mro__:
        for above_q in type(q).__mro__:
            rule = RULES.get((above_p, above_q))
            if rule is not None:
                return rule(p, q)
    raise NotImplementedError(
        f"[kl_divergence] there is no rule for {type(p).__name__} and {type(q).__name__}. Do this:"
        " add one with @register_kl(type_p, type_q)."
    )
