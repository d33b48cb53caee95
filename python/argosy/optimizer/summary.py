"""States that are sums over data, not weights."""

from argosy import _core

__all__ = []


def update_summaries(params_grads):
    """Adds to summary states (data_norm) what is their gradient; returns the other pairs."""
    rest, by_decay = [], {}
    for p, g in params_grads:
        decay = getattr(p, "summary_decay_rate", None)
        if decay is None or g is None:
            rest.append((p, g))
        else:
            by_decay.setdefault(decay, []).append((p, g))
    for decay, pairs in by_decay.items():
        _core.ops.summary_update_([p for p, _ in pairs], [g for _, g in pairs], decay)
    return rest
