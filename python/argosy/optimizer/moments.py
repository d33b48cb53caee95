"""What Adam and its relatives share: averages of gradients that decay by beta1 and beta2."""

from argosy._core import Tensor
from argosy._support import ArgumentError

from .optimizer import Optimizer

__all__ = []


def check_beta(op, name, value):
    if value is None:
        raise ArgumentError(
            f"[{op}] {name} is missing: expected a float in [0, 1), got None. Do this: "
            "leave it out for its default."
        )
    if not 0 <= value < 1:
        raise ValueError(
            f"[{op}] {name} is out of range: expected 0 <= {name} < 1, got {value}. Do "
            "this: correct it."
        )


def check_epsilon(op, value):
    if value is None:
        raise ArgumentError(
            f"[{op}] epsilon is missing: expected a float >= 0, got None. Do this: leave it "
            "out for its default."
        )
    if not 0 <= value:
        raise ValueError(
            f"[{op}] epsilon is out of range: expected >= 0, got {value}. Do this: correct it."
        )


def check_rate_given(op, value):
    if value is None:
        raise ArgumentError(
            f"[{op}] learning_rate is missing: expected a float, got None. Do this: pass "
            "it, e.g. 0.001."
        )


class MomentOptimizer(Optimizer):
    """Base of Adam and its relatives. A subclass calls _keep_moments with its arguments."""

    _options = ("beta1", "beta2", "epsilon")

    def _keep_moments(self, learning_rate, beta1, beta2, epsilon, **more):
        """Checks what all have, and keeps it with `more` as options that groups may set."""
        label = type(self).__name__
        check_rate_given(label, learning_rate)
        beta1, beta2, epsilon = _number(beta1), _number(beta2), _number(epsilon)
        check_beta(label, "beta1", beta1)
        check_beta(label, "beta2", beta2)
        check_epsilon(label, epsilon)
        self._keep_options(beta1=beta1, beta2=beta2, epsilon=epsilon, **more)


def _number(value):
    """Hyperparameters may be tensors of one element."""
    return float(value) if isinstance(value, Tensor) else value


def decays_of(batch, coefficient, applies, decides):
    """The decay of each parameter of a batch: `coefficient` where applies(parameter), else 0. Kept
    until the coefficient, or `decides` that applies() asks, is another one."""
    known = batch.extra.get("decays")
    if known is None or known[0] != coefficient or known[1] is not decides:
        decays = [coefficient if applies(p) else 0.0 for p in batch.params]
        known = batch.extra["decays"] = (coefficient, decides, decays)
    return known[2]
