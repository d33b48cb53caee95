"""Parameters that blocks of static Programs make."""

from __future__ import annotations

import copy

from argosy._programs import mode
from argosy.base import static_parameter, unique_name
from argosy.base.param_attr import ParamAttr
from argosy.nn import initializer as init


def create(program, name, shape, dtype, attr, is_bias, initializer, given):
    """See Block.create_parameter. given: trainable, regularizer and the like, for attr=None."""
    if shape is None:
        raise ValueError(
            "[Block.create_parameter] shape: expected a list of sizes, got None. Do this: pass it."
        )
    if attr is None:
        rate = (given["optimize_attr"] or {}).get("learning_rate", 1.0)
        rest = {k: v for k, v in given.items() if k != "optimize_attr"}
        rest["do_model_average"] = rest["do_model_average"] is not False
        attr = ParamAttr(learning_rate=rate, **rest)
    attr = copy.copy(ParamAttr._to_attr(attr))
    if not attr:
        return None
    label = (
        attr.name
        or name
        or unique_name.generate("create_parameter.b" if is_bias else "create_parameter.w")
    )
    chosen = attr.initializer or init.initializer._global_initializer(is_bias) or initializer
    startup = program if program._is_start_up_program_ else mode.default_startup_program()
    if chosen is None and not (program is not startup and label in startup._states):
        chosen = init.Constant(0.0) if is_bias else init.XavierUniform()
    before = mode.guard((program, startup))
    try:
        return static_parameter.make_parameter(
            label, shape, dtype, chosen, trainable=attr.trainable,
            optimize_attr={"learning_rate": attr.learning_rate}, regularizer=attr.regularizer,
            do_model_average=attr.do_model_average, need_clip=attr.need_clip,
        )  # fmt: skip
    finally:
        mode.guard(before)
