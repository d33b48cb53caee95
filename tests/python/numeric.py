"""Gradients by differences, for tests whose ops have no formula at hand."""

import numpy as np

import argosy


def slopes(function, x, step=1e-6):
    """d function(x) / dx for a tensor x of float64, element by element; function gives a number."""
    x = x.numpy()
    out = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        ends = []
        for shift in (step, -step):
            moved = x.copy()
            moved[at] += shift
            ends.append(float(function(argosy.to_tensor(moved))))
        out[at] = (ends[0] - ends[1]) / (2 * step)
    return out
