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


def check_parameters(function, parameters):
    """Gradients of function(), a number, against its slope along a direction of each parameter:
    closely in float64, to some percent in float32."""
    parameters = list(parameters)
    for p in parameters:
        p.clear_gradient(False)
    function().backward()
    rng = np.random.default_rng(0)
    for p in parameters:
        value, gradient = p.numpy(), p.grad.numpy()
        wide = value.dtype == np.float64
        step, rtol, atol = (1e-6, 1e-5, 1e-6) if wide else (1e-2, 0.02, 0.005)
        direction = rng.choice([-1.0, 1.0], value.shape) * rng.uniform(0.5, 1, value.shape)
        ends = []
        for shift in (step, -step):
            p.set_value((value + shift * direction).astype(value.dtype))
            ends.append(float(function()))
        p.set_value(value)
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=rtol, atol=atol)
