"""The rules of Kullback-Leibler divergences; kl.py fills them in."""

from __future__ import annotations

RULES = {}  # (class of p, class of q) -> function


def kl_divergence(p, q):
    """KL(p || q), in nats: the expectation under p of ``log p(x) - log q(x)``.

    Raises NotImplementedError for classes without a rule; register_kl adds one.
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
