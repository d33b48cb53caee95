"""Loops recorded in the Program that is being built."""

from argosy import _core, tensor
from argosy._core import Tensor
from argosy._support import listed

from .layers_utils import flatten, map_structure, pack_sequence_as


def block(program, fn):
    """What fn returns, and the recorded block, not yet closed; closed by the caller."""
    _core.program_block_begin(program)
    try:
        return fn()
    except BaseException:
        _core.program_block_abandon(program)
        raise


def end_block(program, values):
    """The draft of the open block, which yields values."""
    try:
        return _core.program_block_end(program, values)
    except BaseException:
        _core.program_block_abandon(program)
        raise


def as_tensor(x):
    """x, or the tensor of a number."""
    return x if isinstance(x, Tensor) else _core.to_tensor(x, None, True)


def copy_element(source, target):
    """Tensor arrays know the form of their elements."""
    element = getattr(source, "_element", None)
    if element is not None:
        target._element = element


def recorded_while(program, cond, body, loop_vars):
    """loop_vars = body(*loop_vars) as long as cond(*loop_vars) holds, as a `while` of program.

    loop_vars: a list, a nest of tensors and numbers. Returns such a list.
    """
    leaves = [as_tensor(v) for v in flatten(loop_vars)]

    def arguments():
        made = [_core.program_block_argument(program, v) for v in leaves]
        for v, argument in zip(leaves, made):
            copy_element(v, argument)
        return pack_sequence_as(loop_vars, made)

    test = block(program, lambda: cond(*arguments()))
    test_draft = end_block(program, [as_tensor(test)])

    def run_body():
        found = flatten(listed(body(*arguments())))
        if len(found) != len(leaves):
            raise ValueError(
                "[while_loop] body must return as many values as loop_vars: expected"
                f" {len(leaves)}, got {len(found)}."
                " Do this: return one value for each of loop_vars."
            )
        return [
            v if isinstance(v, Tensor) else _core.to_tensor(v, like.dtype, True)
            for v, like in zip(found, leaves)
        ]

    found = block(program, run_body)
    results = _core.program_while(program, leaves, test_draft, end_block(program, found))
    for v, result in zip(found, results):
        copy_element(v, result)
    return list(pack_sequence_as(loop_vars, list(results)))


def recorded_steps(step, carried, going, axis):
    """outputs, carried = step(i, carried) for i = 0, 1, .. as long as going(i, carried) holds.

    Args:
        step (callable): Gets i, a 0-d int64 tensor, and carried. It is called twice: once to see
            what its outputs are.
        carried: Nest of tensors, whose dtypes and ranks stay.

    Returns:
        (outputs of all steps, a nest like that of one, stacked along axis; the last carried).
    """
    program = _core.program_recording()
    zero = tensor.zeros([], "int64")
    structure, _ = block(program, lambda: step(zero, carried))
    kinds = [leaf.dtype for leaf in flatten(structure)]
    _core.program_block_abandon(program)

    def body(i, carried, arrays):
        outputs, carried = step(i, carried)
        arrays = [tensor.array_write(leaf, i, a) for leaf, a in zip(flatten(outputs), arrays)]
        return [i + 1, carried, arrays]

    arrays = [tensor.create_array(kind) for kind in kinds]
    _, carried, arrays = recorded_while(
        program, lambda i, carried, arrays: going(i, carried), body, [zero, carried, arrays]
    )
    joined = iter([tensor.tensor_array_to_tensor(a, axis, True)[0] for a in arrays])
    return map_structure(lambda _: next(joined), structure), carried
