"""Parameter groups: which parameters share options, and the checks of what programs give."""

import warnings

from argosy._core import Tensor
from argosy.regularizer import L2Decay

from .records import Group

__all__ = []


def check_parameters(label, parameters):
    """Refuses what can hold neither parameters nor groups."""
    if parameters is None:
        raise AttributeError(
            f"[{label}] parameters is missing: expected a list of tensors, got None. "
            "Do this: pass parameters=model.parameters()."
        )
    if isinstance(parameters, dict):
        raise TypeError(
            f"[{label}] parameters must not be a dict. Do this: for parameter groups pass a "
            "list of dicts, [{'params': ...}, ...]."
        )
    if isinstance(parameters, Tensor):
        raise TypeError(
            f"[{label}] parameters must be an iterable of tensors, got one tensor. "
            "Do this: pass [tensor]."
        )
    if not hasattr(parameters, "__iter__"):
        raise TypeError(
            f"[{label}] parameters: expected a list of tensors, got "
            f"{type(parameters).__name__}. Do this: pass model.parameters()."
        )


def check_clip(label, grad_clip):
    """Refuses what cannot clip gradients."""
    if grad_clip is not None and not callable(grad_clip):
        raise TypeError(
            f"[{label}] grad_clip has the wrong type: expected "
            "nn.ClipGradByGlobalNorm, nn.ClipGradByNorm or nn.ClipGradByValue, got "
            f"{type(grad_clip).__name__}."
            " Do this: pass one of these objects."
        )


def as_regularizer(label, weight_decay):
    """The regularizer that weight_decay means: itself, or L2 for a number; None for None."""
    if weight_decay is None:
        return None
    if isinstance(weight_decay, (int, float, Tensor)):
        return L2Decay(float(weight_decay))
    if not callable(weight_decay):
        raise TypeError(
            f"[{label}] weight_decay has the wrong type: expected float or a "
            f"regularizer (regularizer.L1Decay, L2Decay), got {type(weight_decay).__name__}."
            " Do this: pass a number such as 1e-4, or one of these objects."
        )
    return weight_decay


def _marks(options):
    return options["weight_decay"], options.get("learning_rate", 1.0)


class ParameterGroups:
    """The groups of one optimizer.

    Args:
        label (str): The optimizer's name, for errors.
        defaults (dict): Options of groups that say nothing else; the optimizer's own dict.
        decoupled (bool): Decay is part of the update: weight_decay makes no regularizer.
    """

    def __init__(self, label, defaults, decoupled):
        self.label = label
        self.defaults = defaults
        self.decoupled = decoupled
        self.groups = []
        self.dicts = []  # as they were given, completed with defaults
        self.given = False  # whether groups were given, and not a list of parameters

    def take(self, parameters):
        """Makes the groups of a list of tensors, each once, or of dicts. Returns the list."""
        self.given = bool(parameters) and isinstance(parameters[0], dict)
        if self.given:
            for group in parameters:
                self.add(dict(group))
            return parameters
        for p in parameters:
            if not isinstance(p, Tensor):
                raise AttributeError(
                    f"[{self.label}] parameters must be tensors, got {type(p).__name__} ({p!r:.60})."
                    " Do this: pass layer.parameters()."
                )
        parameters = self._each_once(parameters)
        self.groups.append(Group(parameters, self.defaults))
        return parameters

    def _each_once(self, parameters):
        unique = list({id(p): p for p in parameters}.values())
        if len(unique) < len(parameters):
            warnings.warn(
                f"[{self.label}] parameters has {len(parameters) - len(unique)} "
                "tensors more than once; each is updated once in a step.",
                stacklevel=5,
            )
        return unique

    def add(self, group):
        """Adds one group, a dict with ``params`` and options; missing options get the defaults."""
        if "params" not in group:
            raise AssertionError(
                f"[{self.label}] a parameter group needs the key 'params', got {sorted(group)}."
                " Do this: pass {'params': [..], ..}."
            )
        params = group["params"]
        if isinstance(params, set):
            raise TypeError(
                f"[{self.label}] 'params' of a group must be ordered, got a set. Do this: pass a list."
            )
        group["params"] = params = [params] if isinstance(params, Tensor) else list(params)
        seen = {id(p) for p in self.params()}
        if any(id(p) in seen for p in params):
            raise ValueError(
                f"[{self.label}] some parameters appear in more than one parameter group."
                " Do this: list each parameter once."
            )
        for key, value in self.defaults.items():
            group.setdefault(key, value)
        check_clip(self.label, group["grad_clip"])
        self._mark(params, group)
        self.dicts.append(group)
        self.groups.append(Group(params, group))
        self.groups[-1].marked = _marks(group)

    def look_again(self):
        """Gives parameters the rate and the regularizer that their groups have now, where a program has set others."""
        for group in self.groups:
            if group.marked != _marks(group.options):
                self._mark(group.params, group.options)
                group.marked = _marks(group.options)

    def _mark(self, params, options):
        """Parameters carry the rate and the regularizer of their group."""
        if not self.decoupled:
            regularizer = as_regularizer(self.label, options["weight_decay"])
        for p in params:
            if not self.decoupled:
                p.regularizer = regularizer
            if getattr(p, "optimize_attr", None) is None:
                p.optimize_attr = {}
            p.optimize_attr["learning_rate"] = options.get("learning_rate", 1.0)

    def params(self):
        """The parameters of all groups."""
        return [p for group in self.groups for p in group.params]

    def forget_batches(self):
        """Lets the next update ask again for states and master copies."""
        for group in self.groups:
            group.batches.clear()
            group.last = None
