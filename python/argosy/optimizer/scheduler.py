"""The base class of learning rate schedulers, and checks of their arguments."""

import warnings

__all__ = ["LRScheduler"]


def _is_number(value):
    return isinstance(value, (int, float))


def _check_rate(op, name, value):
    if not _is_number(value):
        raise TypeError(
            f"[{op}] {name} has the wrong type: expected float or int, got "
            f"{type(value).__name__} ({value!r}). Do this: pass a Python number."
        )
    if value < 0:
        raise ValueError(
            f"[{op}] {name} is out of range: expected >= 0, got {value}."
            " Do this: pass a number of 0 or more."
        )


def _check_type(op, name, value, kind):
    if not isinstance(value, kind):
        raise TypeError(
            f"[{op}] {name} has the wrong type: expected {kind.__name__}, got "
            f"{type(value).__name__} ({value!r})."
            " Do this: pass a value of that type."
        )


def _check_callable(op, name, value):
    if not callable(value):
        raise TypeError(
            f"[{op}] {name} is not callable: expected a function, got {type(value).__name__}. "
            "Do this: pass a function of the step number, such as `lambda epoch: 0.95 ** epoch`."
        )


class LRScheduler:
    """Base of all schedulers: subclasses say what the rate is in ``get_lr()``.

    Args:
        learning_rate (float): The rate to start from, kept in ``base_lr``. >= 0.
        last_epoch (int): Number of the step to continue after; -1 to start at 0.
        verbose (bool): Print the rate after each step.

    Subclasses that have more to save than ``last_epoch`` and ``last_lr`` list the attribute names in
    ``self.keys`` inside ``state_keys()``.

    Raises:
        TypeError: learning_rate is no number.
        ValueError: learning_rate is negative.

    Example:
        >>> class Halving(argosy.optimizer.lr.LRScheduler):
        ...     def get_lr(self):
        ...         return self.base_lr * 0.5**self.last_epoch
        >>> scheduler = Halving(1.0)
        >>> scheduler.step()
        >>> scheduler(), scheduler.get_lr(), scheduler.state_dict()
        (0.5, 0.5, {'last_epoch': 1, 'last_lr': 0.5})
    """

    _reads_as_whole = True  # captured functions that call its methods compare all that is in it

    def __init__(self, learning_rate=0.1, last_epoch=-1, verbose=False):
        _check_rate(type(self).__name__, "learning_rate", learning_rate)
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self._var_name = None
        self.step()

    def __call__(self):
        """Returns the current learning rate, a float."""
        return self.last_lr

    def step(self, epoch=None):
        """Moves to another step and computes the rate there.

        Args:
            epoch (int, optional): Its number; default: the next.
        """
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
        else:
            self.last_epoch = epoch
            closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
            self.last_lr = closed_form()
        self._report()

    def _report(self):
        if self.verbose:
            name = type(self).__name__
            print(f"Epoch {self.last_epoch}: {name} set learning rate to {self.last_lr}.")

    def get_lr(self):
        """The rate at step ``self.last_epoch``. Subclasses implement it.

        Returns:
            float: The rate.

        Raises:
            NotImplementedError: The class does not.
        """
        raise NotImplementedError(
            f"[{type(self).__name__}] get_lr() is missing. Do this: implement get_lr(self) so that "
            "it returns the rate at step self.last_epoch."
        )

    def state_keys(self):
        """Sets ``self.keys``, the names of the attributes that ``state_dict()`` saves.

        Example:
            >>> scheduler = argosy.optimizer.lr.StepDecay(0.1, 2)
            >>> scheduler.state_keys()
            >>> scheduler.keys
            ['last_epoch', 'last_lr']
        """
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self):
        """What is to be saved of the scheduler.

        Returns:
            dict: The attributes named by ``state_keys()``; values of tensors become floats.
        """
        self.state_keys()
        state = {}
        for key in self.keys:
            if key not in self.__dict__:
                continue
            value = self.__dict__[key]
            if hasattr(value, "numpy") and hasattr(value, "shape"):
                value = float(value)
            state[key] = value
        return state

    def set_state_dict(self, state_dict):
        """Takes over what ``state_dict()`` of an equally built scheduler returned.

        Args:
            state_dict (dict): It; keys that this class does not know give a warning.

        Raises:
            RuntimeError: A key is missing.

        Example:
            >>> scheduler = argosy.optimizer.lr.StepDecay(0.5, 2)
            >>> scheduler.set_state_dict({"last_epoch": 3, "last_lr": 0.25})
            >>> scheduler()
            0.25
        """
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise RuntimeError(
                    f"[{type(self).__name__}.set_state_dict] key '{key}' is missing: expected "
                    f"{self.keys}, got {list(state_dict)}. Do this: load the state that "
                    "state_dict() of the same class of scheduler gave."
                )
            self.__dict__[key] = state_dict[key]
        if len(state_dict) > len(self.keys):
            unused = [k for k in state_dict if k not in self.keys]
            warnings.warn(f"[{type(self).__name__}.set_state_dict] values not used: {unused}")

    set_dict = set_state_dict
