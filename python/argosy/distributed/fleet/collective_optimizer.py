"""What a DistributedStrategy asks of an optimizer that several processes, or one, use eagerly."""

from __future__ import annotations

from argosy import optimizer as optimizers
from argosy.autograd import no_grad
from argosy.distributed._buckets import in_buckets, scaled
from argosy.distributed._groups import default_group
from argosy.distributed.communication import ReduceOp, _calls
from argosy.distributed.communication.collectives import _OPERATIONS
from argosy.optimizer.lars_momentum import LarsMomentumOptimizer

__all__ = []

_AT_ONCE = 128 << 20  # bytes of parameters that are averaged at a time


def with_strategy(optimizer, strategy, several):
    """The optimizer as `strategy` wants it; itself where nothing is asked."""
    optimizer = chosen_rule(optimizer, strategy)
    if strategy.localsgd and several:
        configs = strategy.localsgd_configs
        optimizer = LocalOptimizer(optimizer, configs["k_steps"], configs["begin_step"])
    if strategy.gradient_merge:
        configs = strategy.gradient_merge_configs
        optimizer = MergingOptimizer(optimizer, configs["k_steps"], configs["avg"])
    return optimizer


def chosen_rule(optimizer, strategy):
    """Lamb in the place of Adam, LARS in that of Momentum, if `strategy` says so."""
    if strategy.lamb:
        configs = strategy.lamb_configs
        _check_replaceable(
            "lamb", optimizer, optimizers.Adam, "_amsgrad", "_lazy_mode", "regularization"
        )
        parts = configs["exclude_from_weight_decay"]
        optimizer = optimizers.Lamb(
            optimizer._learning_rate,
            lamb_weight_decay=configs["lamb_weight_decay"],
            beta1=optimizer._beta1,
            beta2=optimizer._beta2,
            epsilon=optimizer._epsilon,
            parameters=optimizer._parameter_list,
            grad_clip=optimizer._grad_clip,
            exclude_from_weight_decay_fn=lambda p: any(part in p.name for part in parts),
            multi_precision=optimizer._multi_precision,
        )
    if strategy.lars:
        configs = strategy.lars_configs
        _check_replaceable(
            "lars", optimizer, optimizers.Momentum, "_use_nesterov", "_multi_precision"
        )
        optimizer = LarsMomentumOptimizer(
            optimizer._learning_rate,
            optimizer._momentum,
            lars_coeff=configs["lars_coeff"],
            lars_weight_decay=configs["lars_weight_decay"],
            parameter_list=optimizer._parameter_list,
            regularization=optimizer.regularization,
            grad_clip=optimizer._grad_clip,
            exclude_from_weight_decay=configs["exclude_from_weight_decay"],
            epsilon=configs["epsilon"],
            rescale_grad=optimizer._rescale_grad,
        )
    return optimizer


def _check_replaceable(switch, optimizer, rule, *without):
    """Raises unless the optimizer is of this very rule, with one group and none of the options `without`,
    which the other rule has not."""
    if type(optimizer) is not rule:
        raise TypeError(
            f"[fleet.distributed_optimizer] strategy.{switch} stands for optimizer.{rule.__name__}: expected"
            f" one, got {type(optimizer).__name__}. Do this: pass it, or leave strategy.{switch} out."
        )
    given = [name.strip("_") for name in without if getattr(optimizer, name)]
    if optimizer._groups.given:
        given.append("parameter groups")
    if given:
        raise NotImplementedError(
            f"[fleet.distributed_optimizer] strategy.{switch}: expected a plain {rule.__name__}, got one"
            f" with {' and '.join(given)}. Do this: leave them out, or strategy.{switch}."
        )


class _Around:
    """An optimizer around another one, whose attributes it has."""

    def __init__(self, optimizer):
        self._inner_opt = optimizer

    def __getattr__(self, name):
        if name.startswith("__") or name == "_inner_opt":
            raise AttributeError(name)
        return getattr(self._inner_opt, name)

    @property
    def keeps_gradients(self):
        """Whether the gradients of the next pass of backward stay with this process."""
        return getattr(self._inner_opt, "keeps_gradients", False)

    def clear_grad(self, set_to_zero=True):
        """The inner optimizer's."""
        self._inner_opt.clear_grad(set_to_zero)

    def clear_gradients(self, set_to_zero=True):
        """clear_grad."""
        self.clear_grad(set_to_zero)

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """step(), as Optimizer.minimize is for losses that are not of a Program.

        Returns:
            tuple: An empty list, and the pairs (parameter, gradient).
        """
        if parameters is not None or no_grad_set is not None:
            raise NotImplementedError(
                "[minimize] parameters and no_grad_set are not supported with this strategy of fleet. Do"
                " this: give the optimizer its parameters when it is made."
            )
        pairs = self._inner_opt.backward(loss, startup_program)
        self.step()
        return [], pairs


class MergingOptimizer(_Around):
    """step() updates once in `steps` calls, from the sum or mean of the gradients of all of them; the other
    calls, and clear_grad() after them, let gradients be."""

    def __init__(self, optimizer, steps, average):
        super().__init__(optimizer)
        if steps < 1:
            raise ValueError(
                "[fleet.distributed_optimizer] strategy.gradient_merge_configs: k_steps: expected 1 or more,"
                f" got {steps}."
            )
        self._steps = steps
        self._average = average
        self._done = 0
        self.only_counted = False  # the last step()

    @property
    def keeps_gradients(self):
        return super().keeps_gradients or not self._is_last()

    def _is_last(self):
        return (self._done + 1) % self._steps == 0

    def _all_params(self):
        """What the next step() updates: a GradScaler unscales it, and looks whether it is finite."""
        return self._inner_opt._all_params() if self._is_last() else []

    @no_grad()
    def step(self):
        """Counts, and updates if it is time."""
        self.only_counted = not self._is_last()
        if not self.only_counted:
            if self._average:
                for parameter in self._inner_opt._all_params():
                    if parameter.grad is not None:
                        parameter.grad = scaled(parameter, 1.0 / self._steps)
            self._inner_opt.step()
        self._done += 1

    def clear_grad(self, set_to_zero=True):
        """Clears gradients after an update; else they are still needed."""
        if not self.only_counted:
            self._inner_opt.clear_grad(set_to_zero)


class LocalOptimizer(_Around):
    """Each process updates by its own gradients; from step `begin` on parameters, not gradients, are
    averaged, each `steps` steps (local SGD: Stich, arXiv:1805.09767)."""

    def __init__(self, optimizer, steps, begin):
        super().__init__(optimizer)
        for name, value in (("k_steps", steps), ("begin_step", begin)):
            if value < 1:
                raise ValueError(
                    f"[fleet.distributed_optimizer] strategy.localsgd_configs: {name}: expected 1 or more,"
                    f" got {value}."
                )
        self._steps = steps
        self._begin = begin
        self._done = 0

    @property
    def keeps_gradients(self):
        return self._done + 1 >= self._begin

    @no_grad()
    def step(self):
        """Updates, and averages parameters if it is time."""
        local = self.keeps_gradients
        self._inner_opt.step()
        self._done += 1
        if local and (self._done - self._begin + 1) % self._steps == 0:
            group = default_group("fleet.localsgd")
            trained = [p for p in self._inner_opt._all_params() if not p.stop_gradient]
            for bucket in in_buckets(trained, [_AT_ONCE]):
                _calls.call(group, "all_reduce", bucket, op=_OPERATIONS[ReduceOp.AVG])
