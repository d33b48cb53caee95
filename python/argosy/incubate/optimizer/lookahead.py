"""Lookahead."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import call_beside
from argosy._core import Tensor
from argosy._programs.registry import program_of
from argosy._support import unsupported
from argosy.autograd import no_grad

_SLOW, _STEPS = "_slow_0", "lookahead_steps"


class LookAhead:
    """Lookahead: every ``k`` steps of the inner optimizer, slow weights go ``alpha`` of the way to the fast
    ones, which then go on from there.

    The slow weights start, as Paddle's do, from what the first step leaves.

    Args:
        inner_optimizer (Optimizer): makes the fast steps; its other methods and attributes are found here
            too.
        alpha (float): in [0, 1].
        k (int): 1 or more.

    Raises:
        AssertionError: an argument is out of range.

    Paper: Zhang et al., arXiv:1907.08610.

    Examples:
        >>> layer = argosy.nn.Linear(1, 1)
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> ahead = argosy.incubate.LookAhead(sgd, alpha=0.5, k=2)
        >>> for _ in range(2):
        ...     layer(argosy.ones([1, 1])).sum().backward()
        ...     ahead.step()
        ...     ahead.clear_grad()
        >>> _ = ahead.minimize(layer(argosy.ones([1, 1])).sum())
        >>> ahead.set_state_dict(ahead.state_dict())
    """

    def __init__(self, inner_optimizer, alpha=0.5, k=5, name=None):
        if inner_optimizer is None:
            raise AssertionError("[LookAhead] inner_optimizer is None. Do this: pass an optimizer.")
        if not 0.0 <= alpha <= 1.0:
            raise AssertionError(
                f"[LookAhead] alpha must be between 0 and 1, got {alpha}. Do this: correct it."
            )
        if not (isinstance(k, int) and k > 0):
            raise AssertionError(
                f"[LookAhead] k must be an int of 1 or more, got {k!r}. Do this: correct it."
            )
        self.inner_optimizer, self.alpha, self.k = inner_optimizer, alpha, k
        self._slow, self._count = {}, 0

    @property
    def _parameter_list(self):
        return self.inner_optimizer._parameter_list

    def step(self):
        """One step of the inner optimizer, and one of the slow weights when it is time."""
        with no_grad():
            self.inner_optimizer.step()
            self._count += 1
            for parameter in self._parameter_list:
                if id(parameter) not in self._slow:
                    self._slow[id(parameter)] = parameter.detach().clone()
            if self._count % self.k:
                return
            for parameter in self._parameter_list:
                slow = self._slow[id(parameter)]
                slow.set_value(slow + self.alpha * (parameter - slow))
                parameter.set_value(slow)

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """:meth:`step`, from the gradients that ``loss.backward()`` left; for a loss of a Program, adds the
        operations that compute gradients, update, and move slow weights.

        Args:
            loss (Tensor): 0-d.
            startup_program (Program, optional): of a loss of a Program, where state begins; default: the
                default one.
            parameters, no_grad_set (optional): of a loss of a Program, see ``Optimizer.minimize``.

        Returns:
            tuple: The operations that were added (none for an update at once), and the pairs (parameter,
                gradient).

        Raises:
            AssertionError: ``loss`` is no Tensor.
            NotImplementedError: these arguments, for an update at once.
        """
        if not isinstance(loss, Tensor):
            raise AssertionError(
                f"[LookAhead.minimize] loss: expected a Tensor, got {type(loss).__name__}. Do this: pass what"
                " the loss function returned."
            )
        if loss._symbolic:
            return self._add_to_program(loss, startup_program, parameters, no_grad_set)
        unsupported(
            "LookAhead.minimize", "give parameters to the inner optimizer, and set stop_gradient",
            startup_program=(startup_program, None), parameters=(parameters, None),
            no_grad_set=(no_grad_set, None),
        )  # fmt: skip
        self.step()
        parameters = self.inner_optimizer._parameter_list
        return [], [(p, p.grad) for p in parameters if p.grad is not None]

    def _add_to_program(self, loss, startup_program, parameters, no_grad_set):
        # Programs are large, and eager ones do not need them.
        from argosy.static import create_global_var, default_startup_program, program_guard
        from argosy.static.mode import role

        program = program_of(loss)
        startup = default_startup_program() if startup_program is None else startup_program
        count = len(program.global_block().ops)
        _, pairs = self.inner_optimizer.minimize(loss, startup, parameters, no_grad_set)
        with program_guard(program, startup), role(program, 2), no_grad():
            steps = create_global_var([1], 0, "int64", persistable=True)
            tensor.assign(steps + 1, steps)
            first, due = steps == 1, steps % self.k == 0
            for parameter, gradient in pairs:
                if gradient is None:
                    continue
                slow = create_global_var(
                    list(parameter.shape), 0.0, str(parameter.dtype), persistable=True,
                    name=parameter.name + _SLOW,
                )  # fmt: skip
                old = tensor.where(first, parameter, slow)
                moved = old + self.alpha * (parameter - old)
                tensor.assign(tensor.where(due, moved, old), slow)
                tensor.assign(tensor.where(due, moved, parameter), parameter)
        return program.global_block().ops[count:], pairs

    def state_dict(self):
        """What a run needs to go on exactly where this one is.

        Returns:
            dict: the state of the inner optimizer, for each parameter its slow weights as
                ``<name of the parameter>_slow_0``, and the number of steps as ``lookahead_steps``. The
                tensors are the live ones, not copies.
        """
        state = self.inner_optimizer.state_dict()
        for parameter in self._parameter_list:
            if id(parameter) in self._slow:
                state[parameter.name + _SLOW] = self._slow[id(parameter)]
        state[_STEPS] = self._count
        return state

    def set_state_dict(self, state_dict):
        """Takes over a state. Also called set_dict and load_state_dict.

        Args:
            state_dict (dict): what :meth:`state_dict` gave, of tensors or arrays; slow weights alone will
                do, then the inner optimizer stays as it is.

        Raises:
            ValueError: slow weights have another shape than their parameter. Nothing has changed then.
        """
        rest, slow = dict(state_dict), {}
        for parameter in self._parameter_list:
            if parameter.name + _SLOW not in rest:
                continue
            value = call_beside(
                parameter, tensor.to_tensor, rest.pop(parameter.name + _SLOW), parameter.dtype
            )
            if value.shape != parameter.shape:
                raise ValueError(
                    f"[LookAhead] slow weights of {parameter.name}: expected the shape "
                    f"{list(parameter.shape)}, got {list(value.shape)}. Do this: load the state of this model."
                )
            slow[id(parameter)] = value.clone()
        count = int(rest.pop(_STEPS, self._count))
        if rest:
            self.inner_optimizer.set_state_dict(rest)
        self._slow.update(slow)
        self._count = count

    set_dict = load_state_dict = set_state_dict

    def __getattr__(self, name):
        return getattr(self.__dict__["inner_optimizer"], name)
