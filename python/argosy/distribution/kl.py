"""Kullback-Leibler divergences, chosen by the classes of the two distributions."""

from __future__ import annotations

import argosy

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution, sum_rightmost
from .exponential import Exponential
from .exponential_family import ExponentialFamily
from .gamma import Gamma
from .geometric import Geometric
from .laplace import Laplace
from .lognormal import LogNormal
from .multivariate_normal import MultivariateNormal, _quadratic
from .normal import Normal
from .poisson import Poisson
from .uniform import Uniform

__all__ = ["kl_divergence", "register_kl"]

_RULES = {}


def register_kl(cls_p, cls_q):
    """Decorator: the function computes KL(p || q) of these classes and of classes derived from them.

    Where several rules fit, the one with the nearest base classes is taken, p's first.
    """
    for cls in (cls_p, cls_q):
        if not (isinstance(cls, type) and issubclass(cls, Distribution)):
            raise TypeError(
                f"[register_kl] expected two subclasses of Distribution, got {cls!r}. Do this: pass"
                " the classes, not objects."
            )

    def add(function):
        _RULES[cls_p, cls_q] = function
        return function

    return add


def kl_divergence(p, q):
    """KL(p || q), in nats: the expectation under p of ``log p(x) - log q(x)``.

    Raises NotImplementedError for classes without a rule; register_kl adds one.
    """
    for above_p in type(p).__mro__:
        for above_q in type(q).__mro__:
            rule = _RULES.get((above_p, above_q))
            if rule is not None:
                return rule(p, q)
    raise NotImplementedError(
        f"[kl_divergence] there is no rule for {type(p).__name__} and {type(q).__name__}. Do this:"
        " add one with @register_kl(type_p, type_q)."
    )


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p, q):
    """Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"[kl_divergence] there is no rule for {type(p).__name__} and {type(q).__name__}. Do"
            " this: add one with @register_kl(type_p, type_q)."
        )
    with argosy.enable_grad():
        own = [parameter.detach() for parameter in p._natural_parameters]
        for parameter in own:
            parameter.stop_gradient = False
        normalizer = p._log_normalizer(*own)
        slopes = argosy.grad(normalizer.sum(), own, create_graph=True)
    result = q._log_normalizer(*q._natural_parameters) - normalizer
    for theta_p, theta_q, slope in zip(own, q._natural_parameters, slopes):
        result = result - sum_rightmost((theta_q - theta_p) * slope, len(q.event_shape))
    return result


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - argosy.log(ratio))


@register_kl(LogNormal, LogNormal)
def _lognormal(p, q):
    return _normal(p._normal, q._normal)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = argosy.log((q.high - q.low) / (p.high - p.low))
    outside = (q.low > p.low).logical_or(q.high < p.high)
    return argosy.where(outside, argosy.full_like(result, float("inf")), result)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, argosy.abs(p.loc - q.loc)
    return -argosy.log(ratio) + distance / q.scale + ratio * argosy.exp(-distance / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    # F. Chyzak and F. Nielsen, arXiv:1905.10965
    above = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return argosy.log(above / (4 * p.scale * q.scale))


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - argosy.log(ratio) - 1


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    return (
        q.concentration * argosy.log(p.rate / q.rate)
        + argosy.lgamma(q.concentration)
        - argosy.lgamma(p.concentration)
        + (p.concentration - q.concentration) * argosy.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    total = p.concentration.sum(-1)
    inner = (p.concentration - q.concentration) * (
        argosy.digamma(p.concentration) - argosy.digamma(total).unsqueeze(-1)
    )
    return q._log_normalizer(q.concentration) - p._log_normalizer(p.concentration) + inner.sum(-1)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    softplus = argosy.nn.functional.softplus
    return p.probs * (softplus(-q.logits) - softplus(-p.logits)) + (1 - p.probs) * (
        softplus(q.logits) - softplus(p.logits)
    )


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    return Categorical.kl_divergence(p, q)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if not bool((p.total_count == q.total_count).all()):
        raise ValueError(
            "[kl_divergence] two Binomial distributions must have the same total_count. Do this:"
            " check total_count."
        )
    one, other = Bernoulli(p.probs), Bernoulli(q.probs)
    return p.total_count * _bernoulli(one, other)


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (argosy.log(p.rate) - argosy.log(q.rate)) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return p.probs * argosy.log(p.probs / q.probs) + (1 - p.probs) * argosy.log(
        (1 - p.probs) / (1 - q.probs)
    )


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    cross = (
        p.mean * (argosy.log1p(-q.probs) - argosy.log(q.probs))
        - q._log_constant()
        - argosy.log1p(-q.probs)
    )
    return cross - p.entropy()


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    solved = argosy.linalg.triangular_solve(q._tril, p._tril, upper=False)
    spread = (solved**2).sum([-2, -1])
    distance = _quadratic(q._tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + distance - p.event_shape[0])
