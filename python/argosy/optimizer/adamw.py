"""Adam with decoupled weight decay."""

from argosy._core import Tensor
from argosy._support import unsupported
from argosy.nn.sharded_weight import whole_weight

from .adam import Adam
from .moments import decays_of
from .plan import lr_scale

__all__ = []


class AdamW(Adam):
    """Adam, but weight decay shrinks the parameter (``param *= 1 - learning_rate * weight_decay``,
    before the update) instead of adding to the gradient.

    Args:
        learning_rate (float | LRScheduler): The rate.
        beta1, beta2 (float): Decay of the two moments, in [0, 1).
        epsilon (float): Keeps the division finite.
        parameters, grad_clip, name: See :class:`Optimizer`.
        weight_decay (float | Tensor): The coefficient.
        use_lowprecision_moment (bool): Only False: moments of 16-bit parameters are float32.
        lr_ratio (callable, optional): Gets a parameter, returns a factor on its rate, such as a decay
            by layer.
        apply_decay_param_fun (callable, optional): Gets a parameter's name, returns whether weight
            decay applies to it.
        lazy_mode, multi_precision, amsgrad: See :class:`Adam`.

    A parameter group may set ``weight_decay`` besides what it may set for Adam.
    Paper: Decoupled Weight Decay Regularization (https://arxiv.org/abs/1711.05101).

    Raises:
        TypeError: weight_decay is neither a number nor a tensor.
        AssertionError: lr_ratio is no function.
        NotImplementedError: use_lowprecision_moment is true.
        ValueError: As for Adam.

    Example:
        >>> x = argosy.create_parameter([1], "float32")
        >>> x.set_value(argosy.ones([1]))
        >>> x.grad = argosy.zeros([1])
        >>> argosy.optimizer.AdamW(0.1, parameters=[x], weight_decay=0.5).step()
        >>> x.tolist()
        [0.95]
    """

    _decoupled_decay = True

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=0.01,
        use_lowprecision_moment=False,
        lr_ratio=None,
        apply_decay_param_fun=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        amsgrad=False,
        name=None,
    ):
        if not isinstance(weight_decay, (int, float, Tensor)):
            raise TypeError(
                "[AdamW] weight_decay has the wrong type: expected float or Tensor, got "
                f"{type(weight_decay).__name__}."
                " Do this: pass a number such as 0.01."
            )
        if lr_ratio is not None and not callable(lr_ratio):
            raise AssertionError(
                "[AdamW] lr_ratio must be a function of a parameter, got "
                f"{type(lr_ratio).__name__}."
                " Do this: pass a function that gives a factor for a parameter."
            )
        self._lr_ratio = lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun
        unsupported(
            "AdamW", "leave it out; moments of 16-bit parameters are float32",
            use_lowprecision_moment=(use_lowprecision_moment, False),
        )  # fmt: skip
        super().__init__(
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            parameters=parameters,
            weight_decay=weight_decay,
            grad_clip=grad_clip,
            lazy_mode=lazy_mode,
            multi_precision=multi_precision,
            amsgrad=amsgrad,
            name=name,
        )
        self._weight_decay = weight_decay
        self._kept_options += ("weight_decay",)

    def sharded_state_dict(self, model_sharded_state_dict):
        """The accumulators, each with where in the whole it lies, under names of the model.

        Args:
            model_sharded_state_dict (dict[str, ShardedWeight]): what the model's sharded_state_dict gave.

        Returns:
            dict[str, ShardedWeight]: by names such as ``fc.weight.moment1_0``; ``fc.weight.w_0`` are
            weights of parameters of 16 bits in float32.

        Example:
            >>> layer = argosy.nn.Linear(2, 3)
            >>> adamw = argosy.optimizer.AdamW(parameters=layer.parameters())
            >>> layer(argosy.ones([1, 2])).sum().backward()
            >>> adamw.step()
            >>> state = adamw.sharded_state_dict(layer.sharded_state_dict())
            >>> state["weight.moment1_0"].global_shape
            (2, 3)
        """
        by_name = {w.local_tensor.name: key for key, w in model_sharded_state_dict.items()}
        state = self.state_dict()
        found = {}
        for name, by_param in self._state_names.items():
            for param, key in by_param.items():
                if param in by_name and key in state:
                    suffix = key.removeprefix(param + "_")
                    found[f"{by_name[param]}.{suffix}"] = state[key]
        for param, tensor in state.get("master_weights", {}).items():
            if param in by_name:
                found[f"{by_name[param]}.w_0"] = tensor
        return {key: whole_weight(key, tensor) for key, tensor in found.items()}

    def _lr_scales(self, params):
        if self._lr_ratio is None:
            return super()._lr_scales(params)
        return [lr_scale(p) * float(self._lr_ratio(p)) for p in params]

    def _said_by(self, params):
        ratio = self._lr_ratio
        ratios = () if ratio is None else [float(ratio(p)) for p in params]
        return super()._said_by(params), ratios

    def _decays(self, options, batch):
        decides = self._apply_decay_param_fun
        decays = decays_of(
            batch,
            float(options["weight_decay"]),
            lambda p: decides is None or decides(p.name),
            decides,
        )
        return decays if any(decays) else ()
