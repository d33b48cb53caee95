"""Spectral normalization of a layer's weight."""

from __future__ import annotations

from argosy import _core
from argosy._beside import beside
from argosy.autograd import no_grad
from argosy.nn.layer._helper import set_first_value

from ..initializer import Normal
from ..layer.common import Linear
from ..layer.conv import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose

__all__ = []


class SpectralNorm:
    """Hook that divides a weight by its largest singular value before each call."""

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                "[spectral_norm] n_power_iterations: expected 1 or more, got "
                f"{n_power_iterations}. Do this: correct it."
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, layer, do_power_iteration):
        weight = getattr(layer, self.name + "_orig")
        u = getattr(layer, self.name + "_u")
        v = getattr(layer, self.name + "_v")
        if do_power_iteration:
            with no_grad():
                new_u, new_v = _core.ops.power_iteration(
                    weight, u, v, self.dim, self.n_power_iterations, self.eps
                )
            u.set_value(new_u)
            v.set_value(new_v)
            u, v = new_u, new_v
        return _core.ops.spectral_norm(weight, u, v, self.dim, 0, self.eps)

    def __call__(self, layer, _inputs):
        setattr(layer, self.name, self.compute_weight(layer, layer.training))

    @staticmethod
    def apply(layer, name, n_power_iterations, dim, eps):
        for hook in layer._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"[spectral_norm] the parameter '{name}' is normalized already. Do this: "
                    "normalize it once."
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = layer._parameters[name]
        rows = weight.shape[dim]
        vectors = []
        with no_grad():
            for size in (rows, weight.size // rows):
                vectors.append(_first_vector(weight, layer, size, eps))
        del layer._parameters[name]
        layer.add_parameter(name + "_orig", weight)
        setattr(layer, name, weight * 1.0)
        layer.register_buffer(name + "_u", vectors[0])
        layer.register_buffer(name + "_v", vectors[1])
        layer.register_forward_pre_hook(hook)
        return hook


@beside
def _first_vector(weight, layer, size, eps):
    """Of norm 1, on the weight's place."""
    # A parameter first, so that the random stream is that of Paddle.
    vector = layer.create_parameter([size])
    if vector._symbolic:
        return _static_vector(vector, eps)
    Normal(0.0, 1.0)(vector)
    return _core.ops.normalize(vector.detach(), 2.0, 0, eps)


def _static_vector(vector, eps):
    """State of a static Program that starts as a random direction."""
    draw = _core.ops.gaussian
    shape, dtype = list(vector.shape), vector.dtype
    set_first_value(
        vector, lambda: _core.ops.normalize(draw(shape, 0.0, 1.0, 0, dtype), 2.0, 0, eps)
    )
    vector.stop_gradient = True
    return vector


def spectral_norm(layer, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Keep the largest singular value of a parameter at 1, by power iteration.

    Args:
        layer: the layer; it is changed.
        name (str): the parameter; it becomes ``<name>_orig``, and ``<name>`` is computed in each call.
        n_power_iterations (int): iterations for each call while training.
        eps (float): added to norms that are divided by.
        dim (int, optional): axis that becomes the rows of the matrix; None: 1 for Linear and transposed
            convolutions, else 0.

    Returns:
        The layer.

    Raises:
        ValueError: ``n_power_iterations`` is not positive.
        RuntimeError: the parameter is normalized already.

    Paper: Miyato et al., arXiv:1802.05957.

    Examples:
        >>> layer = argosy.nn.utils.spectral_norm(argosy.nn.Linear(3, 3), n_power_iterations=50)
        >>> out = layer(argosy.ones([1, 3]))
        >>> argosy.linalg.norm(layer.weight, p=2, axis=[0, 1]).item() < 2
        True
        >>> sorted(name for name, value in layer.named_parameters())
        ['bias', 'weight_orig']
    """
    if dim is None:
        transposed = (Conv1DTranspose, Conv2DTranspose, Conv3DTranspose, Linear)
        dim = 1 if isinstance(layer, transposed) else 0
    SpectralNorm.apply(layer, name, n_power_iterations, dim, eps)
    return layer
