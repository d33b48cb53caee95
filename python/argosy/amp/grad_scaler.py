"""Loss scaling."""

import warnings

__all__ = []


class GradScaler:
    """Scales the loss so that small float16 gradients do not vanish. On the CPU, where no op is cast,
    scaling is off: losses pass through and ``step`` is the optimizer's own.

    Args:
        enable (bool): Accepted.
        init_loss_scaling, incr_ratio, decr_ratio, incr_every_n_steps, decr_every_n_nan_or_inf,
        use_dynamic_loss_scaling: Kept and given back by the methods of that name.
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
        if enable:
            warnings.warn("[GradScaler] has no effect on the CPU: losses are not scaled.")
        self._enable = False
        self._init_loss_scaling = init_loss_scaling
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf

    def scale(self, var):
        """Returns the scaled loss: here `var` itself."""
        return var

    def unscale_(self, optimizer):
        """Divides the gradients by the scale: here nothing."""

    def minimize(self, optimizer, *args, **kwargs):
        """``optimizer.minimize``, unless a gradient is not finite and scaling is on."""
        return optimizer.minimize(*args, **kwargs)

    def step(self, optimizer):
        """``optimizer.step()``, unless a gradient is not finite and scaling is on."""
        return optimizer.step()

    def update(self):
        """Adapts the scale: here nothing."""

    def is_enable(self):
        """Whether losses are scaled."""
        return self._enable

    def is_use_dynamic_loss_scaling(self):
        """Whether the scale adapts."""
        return False

    def get_init_loss_scaling(self):
        """The first scale."""
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling):
        """Sets the first scale."""
        self._init_loss_scaling = new_init_loss_scaling

    def get_incr_ratio(self):
        """Factor when the scale grows."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio):
        """Sets the factor when the scale grows; > 1."""
        if not new_incr_ratio > 1.0:
            raise AssertionError(
                f"[set_incr_ratio] expected a number > 1, got {new_incr_ratio}."
                " Do this: pass a factor such as 2.0."
            )
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self):
        """Factor when the scale shrinks."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio):
        """Sets the factor when the scale shrinks; < 1."""
        if not new_decr_ratio < 1.0:
            raise AssertionError(
                f"[set_decr_ratio] expected a number < 1, got {new_decr_ratio}."
                " Do this: pass a factor such as 0.5."
            )
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self):
        """Finite steps after which the scale grows."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps):
        """Sets the number of finite steps after which the scale grows."""
        self._incr_every_n_steps = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self):
        """Steps that are not finite after which the scale shrinks."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf):
        """Sets the number of steps that are not finite after which the scale shrinks."""
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf

    def state_dict(self):
        """The state to save: empty while scaling is off."""
        return {}

    def load_state_dict(self, state_dict):
        """Takes over a saved state: nothing while scaling is off."""
