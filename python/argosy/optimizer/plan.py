"""What an update needs besides gradients, found once for each list of parameters."""

from operator import is_

from argosy.regularizer import L1Decay, L2Decay

__all__ = []


class Batch:
    """What one call of an optimizer op takes: parallel lists over parameters, empty where they say
    nothing. others: (position, regularizer) of terms that the op does not know; these, l1, l2 and
    lr_scales were made of `said`. extra: what a subclass keeps."""

    __slots__ = ("params", "states", "masters", "lr_scales", "l1", "l2", "others", "said", "extra")

    def __init__(self, params, states, masters):
        self.params = params
        self.states = states
        self.masters = masters
        self.said = None
        self.extra = {}


def batch_of(group, params, make):
    """The group's batch of these parameters; make(group, params) where there is none. Which
    parameters have a gradient changes rarely, so the last batch is looked at first."""
    batch = group.last
    if batch is None or len(batch.params) != len(params) or not all(map(is_, batch.params, params)):
        key = tuple(map(id, params))
        batch = group.batches.get(key)
        if batch is None:
            batch = group.batches[key] = make(group, params)
        group.last = batch
    return batch


def said_by(params, default):
    """What parameters say of their rates and regularizers, compared by ==: it may change between updates."""
    try:
        rates = [p.optimize_attr["learning_rate"] for p in params]
        own = [p.regularizer for p in params]
    except (AttributeError, KeyError, TypeError):  # plain tensors, or what a program has set
        rates = [lr_scale(p) for p in params]
        own = [getattr(p, "regularizer", None) for p in params]
    said = own if own.count(None) < len(own) else ()
    coefficients = [getattr(r, "_coeff", None) for r in (default, *said) if r is not None]
    return rates, own, default, coefficients


def lr_scale(param):
    """The factor of a parameter on the learning rate."""
    attr = getattr(param, "optimize_attr", None)
    return float(attr.get("learning_rate", 1.0)) if attr else 1.0


def unless_all(value, numbers):
    """numbers, or [] if all are `value`."""
    return [] if all(n == value for n in numbers) else numbers


def regularizer_of(param, default):
    """A parameter's own regularizer, else `default`."""
    own = getattr(param, "regularizer", None)
    return default if own is None else own


def regularization(params, default):
    """(l1, l2, others): L1 and L2 terms are the op's work; any other regularizer is called for its
    term."""
    l1, l2, others = [0.0] * len(params), [0.0] * len(params), []
    for i, p in enumerate(params):
        regularizer = regularizer_of(p, default)
        if type(regularizer) is L2Decay:
            l2[i] = regularizer._coeff
        elif type(regularizer) is L1Decay:
            l1[i] = regularizer._coeff
        elif regularizer is not None:
            others.append((i, regularizer))
    return unless_all(0.0, l1), unless_all(0.0, l2), others


def settings_of(optimizer):
    """What an optimizer, its groups and their parameters say of an update: (numbers, lists of such and functions,
    which == compares; objects and what is in them now, to be looked into)."""
    plain, objects = [], []
    for group in optimizer._current_groups():
        params = [p for p in group.params if not p.stop_gradient]
        clip = group.options["grad_clip"]
        plain.append([*map(id, params)])
        if clip is not None:
            plain.append([getattr(p, "need_clip", True) for p in params])
            objects.append((type(clip), getattr(clip, "__dict__", None)))
        if optimizer._op is None:
            plain.append(optimizer._said_by(params))
        elif params:
            batch = optimizer._batch(group, params)
            plain += batch.lr_scales, batch.l1, batch.l2, optimizer._hyper(group.options, batch)
            objects += [(i, r, getattr(r, "__dict__", None)) for i, r in batch.others]
    if optimizer._op is None:
        numbers = {k: v for k, v in vars(optimizer).items() if type(v) in (int, float, bool, str)}
        numbers.pop("_learning_rate", None)
        plain.append(numbers)
    return plain, objects
