"""Distributions of the exponential family."""

from __future__ import annotations

from argosy.autograd import enable_grad, grad

from .distribution import Distribution, sum_rightmost


class ExponentialFamily(Distribution):
    """Densities ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives the natural parameters theta, the log normalizer F and the mean of k; the
    entropy follows from the gradient of F, and so does KL between two of a class.

    Args:
        batch_shape, event_shape, like: as of :class:`Distribution`.

    Paper: Nielsen and Nock, "Entropies and cross-entropies of exponential families", 2010.

    Examples:
        >>> beta, uniform = argosy.distribution.Beta(2.0, 3.0), argosy.distribution.Beta(1.0, 1.0)
        >>> isinstance(beta, argosy.distribution.ExponentialFamily)
        True
        >>> argosy.distribution.kl_divergence(beta, uniform).item(), -beta.entropy().item()
        (0.2349, 0.2349)
    """

    @property
    def _natural_parameters(self):
        return self._missing("_natural_parameters")

    def _log_normalizer(self, *parameters):
        return self._missing("_log_normalizer")

    @property
    def _mean_carrier_measure(self):
        return self._missing("_mean_carrier_measure")

    def entropy(self):
        """Expected -log_prob, in nats."""
        given = self._natural_parameters
        with enable_grad():
            parameters = [p.detach() for p in given]
            for parameter in parameters:
                parameter.stop_gradient = False
            normalizer = self._log_normalizer(*parameters)
            slopes = grad(normalizer.sum(), parameters, create_graph=True)
        rank = len(self.event_shape)
        result = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes):
            result = result - sum_rightmost(parameter * slope, rank)
        return result
