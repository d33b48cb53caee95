"""Operations of Programs as the simpler ones that they are composed of."""

from __future__ import annotations

from argosy import _core
from argosy._support import need_type
from argosy.base import core
from argosy.static import Program, Variable

__all__ = ["decompose"]


def _names(argument, value):
    need_type("decompose", argument, value, (set, frozenset), "pass a set of names as op.name()")
    for name in value:
        need_type("decompose", f"a name in {argument}", name, str, "write it as op.name()")
    return {name.removeprefix("pd_op.") for name in value if name.startswith("pd_op.")}


def _range(start, end, count):
    for argument, value in (("start_index", start), ("end_index", end)):
        need_type("decompose", argument, value, int, "pass a number of an operation")
    stop = count if end == -1 else end
    # A whole block without operations is a range too.
    if not (0 <= start < stop <= count or (start, stop, count) == (0, 0, 0)):
        raise ValueError(
            f"[decompose] start_index, end_index: there are no operations from {start} to {end} among"
            f" {count}. Do this: pass 0 <= start_index < end_index <= {count}, or end_index=-1 for all that"
            " follow."
        )
    return start, stop


def _check_variables(program, variables):
    need_type("decompose", "src_vars", variables, (list, tuple), "pass a list of variables")
    for i, v in enumerate(variables):
        need_type("decompose", f"src_vars[{i}]", v, Variable, "pass variables of the Program")
        # None: state, which several Programs may read.
        owner = _core.program_id_of_value(v) if v._symbolic else None
        if owner not in (None, _core.program_id(program._handle)):
            raise ValueError(
                f"[decompose] src_vars[{i}]: '{v.name}' is a variable of another Program. Do this: pass"
                " variables of the one that is decomposed."
            )


def decompose(
    program, src_vars, blacklist=frozenset(), whitelist=frozenset(), start_index=0, end_index=-1
):
    """Operations of a Program become the simpler ones that they are composed of, and these in turn.

    Nothing is done unless ``base.core._set_prim_forward_enabled(True)`` was called, as in Paddle. Operations
    of gradients and updates stay, as do those that write what they are given (`batch_norm` in training) and
    those that nothing simpler makes up. Results agree up to rounding; what draws random numbers may draw others.

    Args:
        program (Program): It is changed in place.
        src_vars (list[Variable]): Variables of it.
        blacklist (set[str]): Operations that stay, by names as `op.name()` gives them: 'pd_op.softmax'.
            Other names mean none.
        whitelist (set[str]): If any, only these are decomposed; `blacklist` comes first.
        start_index (int): Number of the first operation among `program.global_block().ops` that may be
            decomposed. Branches and loops in the range are, too.
        end_index (int): Number behind the last one; -1 means all.

    Returns:
        list[Variable]: What takes the place of `src_vars`. Variables stay valid here: they are the same,
        made by other operations.

    Raises:
        TypeError: An argument of another type.
        ValueError: There are no such operations, or a variable is of another Program.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.nn.functional.gelu(x)
        >>> program = argosy.static.default_main_program()
        >>> argosy.base.core._set_prim_forward_enabled(True)
        >>> [y] = argosy.decomposition.decompose(program, [y])
        >>> argosy.base.core._set_prim_forward_enabled(False)
        >>> "pd_op.gelu" in [op.name() for op in program.global_block().ops]
        False
    """
    need_type("decompose", "program", program, Program, "pass a static.Program")
    _check_variables(program, src_vars)
    except_, only = _names("blacklist", blacklist), _names("whitelist", whitelist)
    block = program.global_block()
    first = len(block._inputs())
    start, stop = _range(start_index, end_index, len(block.ops))
    if core._is_fwd_prim_enabled() and (only or not whitelist):
        begin, end = max(start - first, 0), max(stop - first, 0)
        _core.program_decompose(program._handle, begin, end, only, except_)
    return list(src_vars)
