"""Programs and optimizers in mixed precision."""

from __future__ import annotations

from argosy import _core
from argosy._op_names import ops_called
from argosy._support import no_effect
from argosy.amp._state import takes_effect, warn_without_effect
from argosy.device.place import checked_place

from ..program import program_of


def _ops(names):
    return ",".join(sorted({op for name in names for op in ops_called(name)}))


def check_parameters(what, place, program, scope, names):
    """Checks what a function got that would cast parameters in a scope: they stay float32."""
    if place is not None:
        checked_place(place, what)
    if program is not None and not hasattr(program, "all_parameters"):
        raise TypeError(
            f"[{what}] program: expected static.Program, got {type(program).__name__}. Do this: pass the"
            " Program whose parameters are meant."
        )
    no_effect(
        what, "parameters stay float32, and runs read them in 16 bits", scope=(scope, None),
        to_var_names=(names, None),
    )  # fmt: skip


def cast_program(what, program, amp_lists, level, dtype, use_promote):
    """Casts operands as the level says, in place; the names of parameters in 16 bits, an empty
    set."""
    dtype = dtype.rsplit(".", 1)[-1]
    if level == "O0":
        return set()
    if not takes_effect(dtype):
        warn_without_effect(what)
        return set()
    _core.passes_run(
        program._handle,
        ["autocast"],
        {
            "scope": None,
            "autocast.level": level,
            "autocast.dtype": dtype,
            "autocast.promote": "1" if use_promote or level != "O2" else "0",
            "autocast.lower": _ops(amp_lists.white_list if amp_lists else ()),
            "autocast.full": _ops(amp_lists.black_list if amp_lists else ()),
        },
    )
    return set()


class OptimizerWithMixedPrecision:
    """An optimizer made by :func:`decorate`. Other methods are those of the optimizer in it.

    Args:
        optimizer (Optimizer): What updates the parameters.
        amp_lists (CustomOpLists, optional): Ops that run otherwise.
        level (str): ``"O0"``, ``"OD"``, ``"O1"`` or ``"O2"``.
        dtype (str): ``"float16"`` or ``"bfloat16"``.
        use_promote (bool): At O2, ops that may run in either run in the widest dtype.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> loss = argosy.static.nn.fc(x, 1).mean()
        >>> sgd = argosy.static.amp.decorate(argosy.optimizer.SGD(0.1), dtype="bfloat16")
        >>> pairs = sgd.backward(loss)
        >>> operations = sgd.apply_gradients(pairs)
        >>> sgd.amp_init(argosy.CPUPlace())
        >>> sgd.get_loss_scaling(), sgd.get_scaled_loss() is loss
        (1.0, True)
        >>> other = argosy.static.nn.fc(x, 1).mean()
        >>> operations, pairs = sgd.minimize(other)
    """

    def __init__(self, optimizer, amp_lists=None, level="O1", dtype="float16", use_promote=False):
        self._optimizer = optimizer
        self._amp_lists = amp_lists
        self._level = level
        self._dtype = dtype
        self._use_promote = use_promote

    def __getattr__(self, name):
        return getattr(self.__dict__["_optimizer"], name)

    def amp_init(self, place=None, scope=None, test_program=None, use_fp16_test=False,
                 rewrite_master_weight=False, use_bf16_test=False):  # fmt: skip
        """Casts a Program for tests as the one that trains; parameters need nothing.

        Args:
            place, scope, rewrite_master_weight: Parameters stay float32 where they are.
            test_program (Program, optional): Cast, if one of the next two says so.
            use_fp16_test, use_bf16_test (bool): Whether to cast it.
        """
        check_parameters("amp_init", place, None, scope, None)
        no_effect(
            "amp_init", "parameters are float32",
            rewrite_master_weight=(rewrite_master_weight, False),
        )  # fmt: skip
        if test_program is not None and (use_fp16_test or use_bf16_test):
            self._cast(test_program)

    def _cast(self, program):
        cast_program(
            "static.amp", program, self._amp_lists, self._level, self._dtype, self._use_promote
        )

    def get_loss_scaling(self):
        """The factor of the loss.

        Returns:
            float: 1.
        """
        return 1.0

    def get_scaled_loss(self):
        """The loss that gradients were taken of.

        Returns:
            Tensor | None: None before that.
        """
        return self.__dict__.get("_scaled_loss")

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None,
                 callbacks=None):  # fmt: skip
        """Casts the loss's Program, then appends gradients.

        Args:
            loss (Tensor): What is to become small.
            startup_program (Program, optional): Where state begins.
            parameter_list (list, optional): What is updated; default: the optimizer's.
            no_grad_set (set, optional): What is left out.
            callbacks (list, optional): As of ``Optimizer.backward``.

        Returns:
            list: Pairs (parameter, gradient).
        """
        self._cast(program_of(loss))
        self._scaled_loss = loss
        return self._optimizer.backward(
            loss, startup_program, parameter_list, no_grad_set, callbacks
        )

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Casts the loss's Program, then appends gradients and updates.

        Args:
            loss (Tensor): What is to become small.
            startup_program (Program, optional): Where state begins.
            parameter_list (list, optional): What is updated; default: the optimizer's.
            no_grad_set (set, optional): What is left out.

        Returns:
            tuple: The operations of the update, and the pairs (parameter, gradient).
        """
        self._cast(program_of(loss))
        self._scaled_loss = loss
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
