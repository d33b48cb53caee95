"""LARS: momentum whose rate is scaled for each parameter by the norms of weight and gradient."""

from argosy import _core, tensor

from .optimizer import Optimizer

__all__ = []


class LarsMomentumOptimizer(Optimizer):
    """``rate = learning_rate * lars_coeff * |p| / (|g| + lars_weight_decay * |p| + epsilon)``, then
    ``velocity = momentum * velocity + rate * (g + lars_weight_decay * p); p -= velocity``.

    Where a norm or the decay is 0 the rate is learning_rate itself. Large Batch Training of
    Convolutional Networks (You et al. 2017).

    Args:
        learning_rate (float | LRScheduler): The rate.
        momentum (float): Share of the old velocity that is kept.
        lars_coeff (float): Trust in a layer's own rate.
        lars_weight_decay (float): Decay of the weights.
        parameter_list (list, optional): What to update; in static mode all that the loss needs.
        regularization (WeightDecayRegularizer, optional): Adds to the gradients.
        grad_clip (optional): Clips the gradients.
        name (str, optional): Has no effect on results.
        exclude_from_weight_decay (list, optional): Parts of names; parameters whose name has one of
            them do not decay.
        epsilon (float): Keeps the rate finite.
        multi_precision (bool): Keep a float32 copy of 16-bit parameters; not supported.
        rescale_grad (float): Factor on the gradients.

    Raises:
        ValueError: no learning_rate or momentum.
        NotImplementedError: multi_precision=True.

    Examples:
        >>> from argosy.incubate.optimizer import LarsMomentumOptimizer
        >>> layer = argosy.nn.Linear(1, 1, weight_attr=argosy.nn.initializer.Constant(1.0))
        >>> lars = LarsMomentumOptimizer(0.1, 0.9, parameter_list=layer.parameters())
        >>> layer(argosy.ones([1, 1])).sum().backward()
        >>> lars.step()
        >>> layer.weight.item()
        0.9999
    """

    _VELOCITY = "velocity"

    def __init__(
        self,
        learning_rate,
        momentum,
        lars_coeff=0.001,
        lars_weight_decay=0.0005,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        exclude_from_weight_decay=None,
        epsilon=0,
        multi_precision=False,
        rescale_grad=1.0,
    ):
        for what, value in (("learning_rate", learning_rate), ("momentum", momentum)):
            if value is None:
                raise ValueError(
                    f"[LarsMomentumOptimizer] {what} is missing: expected a float, got None."
                    " Do this: pass a number."
                )
        if multi_precision:
            raise NotImplementedError(
                "[LarsMomentumOptimizer] multi_precision=True is not supported: expected False."
                " Do this: train in float32."
            )
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)
        self._momentum = momentum
        self._lars_coeff = float(lars_coeff)
        self._lars_weight_decay = float(lars_weight_decay)
        self._exclude_from_weight_decay = list(exclude_from_weight_decay or [])
        self._epsilon = float(epsilon)
        self._rescale_grad = float(rescale_grad)

    def _create_accumulators(self, block, parameters):
        for p in parameters:
            self._add_accumulator(self._VELOCITY, p)

    def _append_optimize_op(self, block, param_and_grad):
        param, grad = param_and_grad
        velocity = self._get_accumulator(self._VELOCITY, param)
        rate = self._create_param_lr(param_and_grad)
        decay = self._lars_weight_decay
        if any(part in param.name for part in self._exclude_from_weight_decay):
            decay = 0.0
        if grad._layout == "row_sparse":  # decay and momentum move the other rows, too
            grad = _core.ops.rows_to_dense(grad)
        grad = grad * self._rescale_grad
        weight_norm, grad_norm = ((t * t).sum().sqrt() for t in (param, grad))
        if decay > 0:
            scaled = rate * self._lars_coeff * weight_norm
            scaled = scaled / (grad_norm + decay * weight_norm + self._epsilon)
            rate = tensor.where((weight_norm > 0) & (grad_norm > 0), scaled, rate + scaled * 0)
        moved = self._momentum * velocity + rate * (grad + decay * param)
        tensor.assign(moved, velocity)
        tensor.assign(param - moved, param)
