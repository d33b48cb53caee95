"""Calls that try every parameter of a function: what topics with MODES = True are made of."""

import random


def spread(call, /, *bases, pairs=4, always="", **values):
    """Calls `call(base, parameter=value)`.

    bases: texts of positional arguments. values: for each parameter a list of texts of values (or one
    text, its parts separated by ` | `). There is a call with each base alone, with each value of
    each parameter on the first base, and `pairs` calls with values of two parameters or more on any
    base, chosen by a generator that the name of the function seeds. always: names of parameters without
    a default, which every call has.
    """
    values = {k: v.split(" | ") if isinstance(v, str) else v for k, v in values.items()}

    def made(base, chosen):
        for k in always.split():
            chosen = {k: values[k][0], **chosen}
        for k, v in chosen.items():
            base = f"{base}, {k}={v}" if base else f"{k}={v}"
        return f"{call}({base})"

    found = [made(base, {}) for base in bases]
    found += [made(bases[0], {k: v}) for k, texts in values.items() for v in texts]
    draw = random.Random(call)
    several = [k for k in values if k != "out"]
    for _ in range(pairs if len(several) + len(bases) > 2 else 0):
        base = draw.choice(bases)
        chosen = sorted(draw.sample(several, min(len(several), draw.choice((1, 2, 2, 3)))))
        found.append(made(base, {k: draw.choice(values[k]) for k in chosen}))
    return list(dict.fromkeys(found))


def unique(*lists):
    return list(dict.fromkeys(case for cases in lists for case in cases))
