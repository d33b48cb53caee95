"""Whether this installation works."""

from __future__ import annotations

from argosy import tensor

__all__ = []


def run_check():
    """Train a small network for one step, compare with the exact result and say so.

    Raises:
        RuntimeError: the result is wrong.
    """
    weight = tensor.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    x = tensor.to_tensor([[1.0, -1.0]])
    tensor.matmul(x, weight).sum().backward()
    if weight.grad.tolist() != [[1.0, 1.0], [-1.0, -1.0]]:
        raise RuntimeError(
            f"[run_check] the gradient of a matrix product is wrong: got {weight.grad.tolist()}. "
            "Do this: run `argosy doctor` and report what it prints."
        )
    print("Argosy is installed successfully! One training step on the CPU gave the exact result.")
