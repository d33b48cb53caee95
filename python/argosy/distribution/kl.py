"""Kullback-Leibler divergences, chosen by the classes of the two distributions."""

from __future__ import annotations

from argosy import linalg, tensor
from argosy.autograd import enable_grad, grad
from argosy.nn import functional as F

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution, check, sum_rightmost
from .exponential import Exponential
from .exponential_family import ExponentialFamily
from .gamma import Gamma
from .geometric import Geometric
from .laplace import Laplace
from .lognormal import LogNormal
from .multivariate_normal import MultivariateNormal, _quadratic
from .normal import Normal
from .poisson import Poisson
from .registry import RULES, kl_divergence
from .uniform import Uniform

__all__ = ["kl_divergence", "register_kl"]


def register_kl(cls_p, cls_q):
    """Decorator: the function computes KL(p || q) of two classes and of classes derived from them.

    Where several rules fit, the one with the nearest base classes is taken, p's first.

    Args:
        cls_p, cls_q (type): subclasses of Distribution.

    Returns:
        The decorator, which gives the function back.

    Raises:
        TypeError: one is no subclass of Distribution.

    Examples:
        >>> class Half(argosy.distribution.Distribution): ...
        >>> @argosy.distribution.register_kl(Half, Half)
        ... def divergence(p, q):
        ...     return argosy.zeros([])
        >>> argosy.distribution.kl_divergence(Half(), Half()).item()
        0.0
    """
    for cls in (cls_p, cls_q):
        if not (isinstance(cls, type) and issubclass(cls, Distribution)):
            raise TypeError(
                f"[register_kl] expected two subclasses of Distribution, got {cls!r}. Do this: pass"
                " the classes, not objects."
            )

    def add(function):
        RULES[cls_p, cls_q] = function
        return function

    return add


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p, q):
    """Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"[kl_divergence] there is no rule for {type(p).__name__} and {type(q).__name__}. Do"
            " this: add one with @register_kl(type_p, type_q)."
        )
    with enable_grad():
        own = [parameter.detach() for parameter in p._natural_parameters]
        for parameter in own:
            parameter.stop_gradient = False
        normalizer = p._log_normalizer(*own)
        slopes = grad(normalizer.sum(), own, create_graph=True)
    result = q._log_normalizer(*q._natural_parameters) - normalizer
    for theta_p, theta_q, slope in zip(own, q._natural_parameters, slopes):
        result = result - sum_rightmost((theta_q - theta_p) * slope, len(q.event_shape))
    return result


@register_kl(Normal, Normal)
def _normal(p, q):
    if p._complex != q._complex:
        raise ValueError(
            "[kl_divergence] both distributions are of real or both of complex numbers: got"
            f" {p.loc.dtype} and {q.loc.dtype}. Do this: make both means complex."
        )
    ratio = (p.scale / q.scale) ** 2
    if p._complex:
        apart = p.loc - q.loc
        squares = tensor.real(apart) ** 2 + tensor.imag(apart) ** 2
        return ratio + squares / q.variance - 1 - tensor.log(ratio)
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - tensor.log(ratio))


@register_kl(LogNormal, LogNormal)
def _lognormal(p, q):
    return _normal(p._normal, q._normal)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = tensor.log((q.high - q.low) / (p.high - p.low))
    outside = (q.low > p.low).logical_or(q.high < p.high)
    return tensor.where(outside, tensor.full_like(result, float("inf")), result)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, tensor.abs(p.loc - q.loc)
    return -tensor.log(ratio) + distance / q.scale + ratio * tensor.exp(-distance / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    # F. Chyzak and F. Nielsen, arXiv:1905.10965
    above = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return tensor.log(above / (4 * p.scale * q.scale))


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - tensor.log(ratio) - 1


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    return (
        q.concentration * tensor.log(p.rate / q.rate)
        + tensor.lgamma(q.concentration)
        - tensor.lgamma(p.concentration)
        + (p.concentration - q.concentration) * tensor.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    total = p.concentration.sum(-1)
    inner = (p.concentration - q.concentration) * (
        tensor.digamma(p.concentration) - tensor.digamma(total).unsqueeze(-1)
    )
    return q._log_normalizer(q.concentration) - p._log_normalizer(p.concentration) + inner.sum(-1)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    softplus = F.softplus
    return p.probs * (softplus(-q.logits) - softplus(-p.logits)) + (1 - p.probs) * (
        softplus(q.logits) - softplus(p.logits)
    )


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    return Categorical.kl_divergence(p, q)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    check(
        p.total_count == q.total_count, ValueError, "kl_divergence",
        "two Binomial distributions must have the same total_count", "check total_count",
    )  # fmt: skip
    one, other = Bernoulli(p.probs), Bernoulli(q.probs)
    return p.total_count * _bernoulli(one, other)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (tensor.log(p.rate) - tensor.log(q.rate)) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return p.probs * tensor.log(p.probs / q.probs) + (1 - p.probs) * tensor.log(
        (1 - p.probs) / (1 - q.probs)
    )


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    cross = (
        p.mean * (tensor.log1p(-q.probs) - tensor.log(q.probs))
        - q._log_constant()
        - tensor.log1p(-q.probs)
    )
    return cross - p.entropy()


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    solved = linalg.triangular_solve(q._tril, p._tril, upper=False)
    spread = (solved**2).sum([-2, -1])
    distance = _quadratic(q._tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + distance - p._size())
