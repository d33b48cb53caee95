"""Loss scaling."""

import warnings
from enum import Enum

from argosy import _core
from argosy.autograd import no_grad

from . import _state

__all__ = []


# Entries of a state beside the scale; attributes of these names, after a _.
_STORED = (
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "incr_count",
    "decr_count",
    "use_dynamic_loss_scaling",
)


class OptimizerState(Enum):
    """What was done with an optimizer's gradients since the last update()."""

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales the loss so that small gradients of 16 bits do not vanish, leaves out the steps whose
    gradients are not finite, and adapts the scale.

    On the CPU it takes effect where something is computed in 16 bits: from the first ``auto_cast``
    that casts (see there) after it was made. Until then losses pass through and ``step`` is the
    optimizer's own, so programs for float16 train in float32 as they would without.

    Args:
        enable (bool): Whether to scale at all.
        init_loss_scaling (float): The first scale.
        incr_ratio (float): Factor of the scale after `incr_every_n_steps` finite steps; > 1.
        decr_ratio (float): Factor after `decr_every_n_nan_or_inf` others; < 1.
        incr_every_n_steps, decr_every_n_nan_or_inf (int): See there.
        use_dynamic_loss_scaling (bool): Whether the scale adapts.

    Raises:
        AssertionError: A ratio on the wrong side of 1.

    Example:
        >>> model = argosy.nn.Linear(4, 1)
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
        >>> scaler = argosy.amp.GradScaler(init_loss_scaling=1024.0)
        >>> with argosy.amp.auto_cast(dtype="bfloat16"):
        ...     loss = model(argosy.ones([2, 4])).mean()
        >>> scaler.scale(loss).backward()
        >>> scaler.unscale_(sgd)
        >>> scaler.step(sgd)
        >>> scaler.update()
        >>> scaler.load_state_dict(scaler.state_dict())
        >>> scaler.is_enable(), scaler.is_use_dynamic_loss_scaling(), scaler.get_init_loss_scaling()
        (True, True, 1024.0)
    """

    def __init__(
        self,
        enable=True,
        init_loss_scaling=2.0**16,
        incr_ratio=2.0,
        decr_ratio=0.5,
        incr_every_n_steps=2000,
        decr_every_n_nan_or_inf=1,
        use_dynamic_loss_scaling=True,
    ):
        self._wanted = bool(enable)
        self._entered = _state.entered()
        self._init_loss_scaling = init_loss_scaling
        self.set_incr_ratio(incr_ratio)
        self.set_decr_ratio(decr_ratio)
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._use_dynamic_loss_scaling = bool(use_dynamic_loss_scaling)
        self._incr_count = self._decr_count = 0
        self._number = float(init_loss_scaling)
        self._found_inf = False
        self._cache_found_inf = False
        self._optimizer_states = {}
        self._loaded = False
        if enable and not self._enable:
            warnings.warn(
                "[GradScaler] has no effect on the CPU but with auto_cast(dtype='bfloat16'): losses"
                " are not scaled."
            )

    @property
    def _enable(self):
        if not self._wanted:
            return False
        return (
            _state.key() is not None
            or _state.entered() > self._entered
            or _state.computes_float16()
        )

    def _state_of(self, optimizer):
        return self._optimizer_states.get(id(optimizer), OptimizerState.INIT)

    def scale(self, var):
        """Multiplies the loss with the scale.

        Args:
            var (Tensor): The loss.

        Returns:
            Tensor: The product; `var` itself while scaling is off.

        Raises:
            TypeError: var is no Tensor.
        """
        if not isinstance(var, _core.Tensor):
            raise TypeError(
                f"[GradScaler.scale] var: expected a Tensor, got {type(var).__name__}."
                " Do this: pass the loss."
            )
        return var * self._number if self._enable else var

    @property
    def _scale(self):
        """The scale as float32[1]; None while off."""
        return _core.to_tensor([self._number], "float32", True) if self._enable else None

    @_scale.setter
    def _scale(self, value):
        self._number = float(value)

    @no_grad()
    def _unscale(self, optimizer):
        if not self._enable:
            return
        state = self._state_of(optimizer)
        if state is OptimizerState.UNSCALED:
            raise RuntimeError(
                "[GradScaler] unscale_() has already been called on this optimizer since the last"
                " update(). Do this: call it once a step."
            )
        if state is OptimizerState.STEPPED:
            raise RuntimeError(
                "[GradScaler] unscale_() is being called after step(). Do this: call it before."
            )
        grads = [p.grad for p in optimizer._all_params() if p.grad is not None]
        # Of a gradient that has some rows only, their values, which are written in place.
        grads = [grad._parts[1] if grad.is_selected_rows() else grad for grad in grads]
        dense = [grad for grad in grads if grad.is_dense()]
        found = [_core.ops.unscale_grads_(dense, self._number)] if dense else []
        for grad in grads:
            if not grad.is_dense():
                grad.scale_(1.0 / self._number)
                found.append(_core.ops.isfinite(grad).all().logical_not())
        self._found_inf = any(bool(one) for one in found)
        self._optimizer_states[id(optimizer)] = OptimizerState.UNSCALED

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the scale, and looks whether they
        are finite. For what comes between backward and step, such as clipping.

        Args:
            optimizer (Optimizer): It.

        Raises:
            RuntimeError: Called twice, or after step().
        """
        self._unscale(optimizer)

    def _take_step(self, optimizer, run):
        if self._state_of(optimizer) is OptimizerState.INIT:
            self._unscale(optimizer)
        self._cache_found_inf = self._found_inf
        return None if self._found_inf else run()

    def minimize(self, optimizer, *args, **kwargs):
        """``optimizer.minimize(..)`` on unscaled gradients if they are finite, then update().

        Args:
            optimizer (Optimizer): It.
            args: What its minimize takes, the scaled loss first.
            kwargs: The same by name.

        Returns:
            What minimize returns, or (None, None).

        Example:
            >>> model = argosy.nn.Linear(4, 1)
            >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
            >>> scaler = argosy.amp.GradScaler()
            >>> loss = scaler.scale(model(argosy.ones([2, 4])).mean())
            >>> loss.backward()
            >>> _ = scaler.minimize(sgd, loss)
        """
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        result = self._take_step(optimizer, lambda: optimizer.minimize(*args, **kwargs))
        self.update()
        return (None, None) if result is None else result

    def step(self, optimizer):
        """``optimizer.step()`` on unscaled gradients, unless one is not finite.

        Args:
            optimizer (Optimizer): It.

        Returns:
            What its step returns.

        Raises:
            RuntimeError: Called twice without update().
        """
        if not self._enable:
            return optimizer.step()
        if self._state_of(optimizer) is OptimizerState.STEPPED:
            raise RuntimeError(
                "[GradScaler] step() has already been called since the last update()."
                " Do this: call update() after each step."
            )
        self._take_step(optimizer, optimizer.step)
        self._optimizer_states[id(optimizer)] = OptimizerState.STEPPED
        if not self._use_dynamic_loss_scaling:
            self._optimizer_states = {}

    def update(self):
        """Adapts the scale to what the last step found."""
        if not self._enable:
            return
        if self._use_dynamic_loss_scaling:
            self._update()
        self._optimizer_states = {}

    def _update(self):
        if self._cache_found_inf:
            self._incr_count = 0
            self._decr_count += 1
            if self._decr_count == self._decr_every_n_nan_or_inf:
                print(
                    f"Found inf or nan, current scale is: {self._number}, decrease to: "
                    f"{self._number}*{float(self._decr_ratio)}"
                )
                self._number *= self._decr_ratio
                self._decr_count = 0
        else:
            self._decr_count = 0
            self._incr_count += 1
            if self._incr_count == self._incr_every_n_steps:
                self._number *= self._incr_ratio
                self._incr_count = 0

    def is_enable(self):
        """Whether losses are scaled.

        Returns:
            bool: That.
        """
        return self._enable

    def is_use_dynamic_loss_scaling(self):
        """Whether the scale adapts.

        Returns:
            bool: That.
        """
        return self._enable and self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self):
        """The first scale.

        Returns:
            float: It.
        """
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling):
        """Sets the scale.

        Args:
            new_init_loss_scaling (float): It.

        Example:
            >>> scaler = argosy.amp.GradScaler()
            >>> scaler.set_init_loss_scaling(8.0)
            >>> scaler.get_init_loss_scaling()
            8.0
        """
        self._init_loss_scaling = new_init_loss_scaling
        self._number = float(new_init_loss_scaling)

    def get_incr_ratio(self):
        """The factor when the scale grows.

        Returns:
            float: It.
        """
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio):
        """Sets the factor when the scale grows.

        Args:
            new_incr_ratio (float): > 1.

        Raises:
            AssertionError: It is not.

        Example:
            >>> scaler = argosy.amp.GradScaler()
            >>> scaler.set_incr_ratio(4.0)
            >>> scaler.get_incr_ratio()
            4.0
        """
        if not new_incr_ratio > 1.0:
            raise AssertionError(
                f"[set_incr_ratio] expected a number > 1, got {new_incr_ratio}."
                " Do this: pass a factor such as 2.0."
            )
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self):
        """The factor when the scale shrinks.

        Returns:
            float: It.
        """
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio):
        """Sets the factor when the scale shrinks.

        Args:
            new_decr_ratio (float): < 1.

        Raises:
            AssertionError: It is not.

        Example:
            >>> scaler = argosy.amp.GradScaler()
            >>> scaler.set_decr_ratio(0.25)
            >>> scaler.get_decr_ratio()
            0.25
        """
        if not new_decr_ratio < 1.0:
            raise AssertionError(
                f"[set_decr_ratio] expected a number < 1, got {new_decr_ratio}."
                " Do this: pass a factor such as 0.5."
            )
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self):
        """The number of finite steps after which the scale grows.

        Returns:
            int: It.
        """
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps):
        """Sets the number of finite steps after which the scale grows.

        Args:
            new_incr_every_n_steps (int): It.

        Example:
            >>> scaler = argosy.amp.GradScaler()
            >>> scaler.set_incr_every_n_steps(100)
            >>> scaler.get_incr_every_n_steps()
            100
        """
        self._incr_every_n_steps = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self):
        """The number of steps that are not finite after which the scale shrinks.

        Returns:
            int: It.
        """
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf):
        """Sets the number of steps that are not finite after which the scale shrinks.

        Args:
            new_decr_every_n_nan_or_inf (int): It.

        Example:
            >>> scaler = argosy.amp.GradScaler()
            >>> scaler.set_decr_every_n_nan_or_inf(2)
            >>> scaler.get_decr_every_n_nan_or_inf()
            2
        """
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf

    def state_dict(self):
        """What is to be saved of the scaler.

        Returns:
            dict: The scale, as a float32 array of one element, ratios and counts; empty while off, unless a
            state was loaded, which is given back.
        """
        if not self._enable and not (self._wanted and self._loaded):
            return {}
        import numpy as np

        return {
            "scale": np.array([self._number], "float32"),
            "incr_ratio": self._incr_ratio,
            "decr_ratio": self._decr_ratio,
            "incr_every_n_steps": self._incr_every_n_steps,
            "decr_every_n_nan_or_inf": self._decr_every_n_nan_or_inf,
            "incr_count": self._incr_count,
            "decr_count": self._decr_count,
            "use_dynamic_loss_scaling": self._use_dynamic_loss_scaling,
        }

    def load_state_dict(self, state_dict):
        """Takes over a state.

        Args:
            state_dict (dict): What state_dict() gave; an empty one leaves a scaler that is off as it is.

        Raises:
            RuntimeError: It is empty, and scaling is on.
            ValueError: It lacks an entry. Nothing is taken over then.
        """
        if not state_dict:
            if not self._enable:
                return
            raise RuntimeError(
                "[GradScaler] the state is empty, perhaps because it was saved while scaling was"
                " off. Do this: load the state of a scaler that is on."
            )
        import numpy as np

        missing = [name for name in ("scale", *_STORED) if name not in state_dict]
        if missing:
            raise ValueError(
                f"[GradScaler.load_state_dict] the state has no {', '.join(missing)}: expected what state_dict()"
                " gives. Do this: load the state of a scaler."
            )
        self._init_loss_scaling = self._number = float(np.ravel(state_dict["scale"])[0])
        for name in _STORED:
            setattr(self, f"_{name}", state_dict[name])
        self._loaded = True


AmpScaler = GradScaler
