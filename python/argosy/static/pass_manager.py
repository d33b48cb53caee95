"""Passes over a Program in place, under the names that Paddle gives them."""

from __future__ import annotations

from argosy import _core
from argosy._support import no_effect

from .program import Program

# Paddle's passes that do what one here does; their own names work, too.
_HERE = {
    "common_subexpression_elimination_pass": "cse",
    "constant_folding_pass": "constant_folding",
    "conv2d_bn_fuse_pass": "conv_batch_norm",
    "dead_code_elimination_pass": "dead_code",
    "identity_op_clean_pass": "algebraic",
}


def _known():
    return {p["name"] for p in _core.passes_list()}


class PassManager:
    """Runs passes over Programs, which it changes.

    Operations whose results nobody reads go by ``dead_code_elimination_pass``; fetched variables are read if
    ``fetch`` names them, see :meth:`run`.

    Args:
        opt_level (int): Has no effect: all passes that were added are run.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = argosy.tanh(x) + argosy.tanh(x)
        >>> passes = argosy.pir.PassManager()
        >>> passes.add_pass("common_subexpression_elimination_pass", {})
        >>> passes.passes(), passes.empty()
        (['common_subexpression_elimination_pass'], False)
        >>> passes.enable_ir_printing()
        >>> passes.disable_ir_printing()
        >>> passes.enable_print_statistics()
        >>> passes.run(argosy.static.default_main_program())
        common_subexpression_elimination_pass: 3 -> 2 operations
        True
        >>> passes.clear()
        >>> [op.type for op in argosy.static.default_main_program().global_block().ops]
        ['tanh', 'elementwise_add']
    """

    def __init__(self, opt_level=2):
        no_effect("PassManager", "the passes that were added are run", opt_level=(opt_level, 2))
        self._passes = []
        self._printed, self._counted = False, False

    def add_pass(self, name, attributes=None):
        """Adds a pass at the end.

        Args:
            name (str): Paddle's name, or one of ``argosy.passes.names()``.
            attributes (dict, optional): Options by name, as of ``argosy.passes.rewrite``. ``__place__`` and
                ``__param_scope__`` say where parameters are, which passes here know.

        Raises:
            ValueError: There is no such pass, or an option is not one of this pass.
        """
        here = _HERE.get(name, name)
        if here not in _known():
            usual = ", ".join(sorted(_HERE))
            raise ValueError(
                f"[PassManager.add_pass] there is no pass '{name}'. Do this: use one of {usual}, or of"
                " argosy.passes.names()."
            )
        options = dict(attributes or {})
        scope = options.pop("__param_scope__", None)
        options.pop("__place__", None)
        for option in options:
            if not option.startswith(f"{here}."):
                raise ValueError(
                    f"[PassManager.add_pass] attributes: expected options such as '{here}.limit' for"
                    f" '{name}', got '{option}'. Do this: leave it out."
                )
        self._passes.append((name, here, options, scope))

    def passes(self):
        """The names of the passes.

        Returns:
            list[str]: As they were added.
        """
        return [name for name, *_ in self._passes]

    def empty(self):
        """Whether there is no pass.

        Returns:
            bool: That.
        """
        return not self._passes

    def clear(self):
        """Takes all passes out."""
        self._passes.clear()

    def enable_ir_printing(self):
        """Prints the Program before and after each pass that changes it."""
        self._printed = True

    def disable_ir_printing(self):
        """Prints no Programs: the opposite of :meth:`enable_ir_printing`."""
        self._printed = False

    def enable_print_statistics(self):
        """Prints for each pass how many operations there are before and after it."""
        self._counted = True

    def run(self, program, fetch=()):
        """Runs the passes over a Program.

        Args:
            program (Program): It is changed. Variables of operations that go may no longer be used.
            fetch (list[Variable]): What is wanted of the Program beside its state: it stays.

        Returns:
            bool: Whether a pass changed something.

        Raises:
            TypeError: ``program`` is none.
        """
        if not isinstance(program, Program):
            raise TypeError(
                f"[PassManager.run] program: expected a Program, got {type(program).__name__}. Do this: pass"
                " a static.Program."
            )
        program._description()  # operations stand where they are to stand
        outputs = _core.program_describe(program._handle)["outputs"]
        kept = {_core.program_value_key(value) for _, value in outputs}
        for i, value in enumerate(fetch, len(outputs)):
            if _core.program_value_key(value) not in kept:
                _core.program_add_output(program._handle, f"wanted{i}", value)
        changed = False
        for name, here, options, scope in self._passes:
            settings = {key: str(value) for key, value in options.items()}
            settings.update(scope=scope, texts=self._printed)
            (report,) = _core.passes_run(program._handle, [here], settings)
            changed |= report["changed"]
            if self._counted:
                print(
                    f"{name}: {report['operations_before']} -> {report['operations_after']} operations"
                )
            if self._printed and report["changed"]:
                print(f"{name}\n{report['before']}\n{report['after']}")
        program._described = (None, None)
        program._plans = {}
        return changed
