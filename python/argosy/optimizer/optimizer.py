"""The base of all optimizers.

A built-in optimizer says which accumulators it keeps (``_state_specs``), which hyperparameters its
op takes (``_hyper``) and the name of that op (``_op``). The base gathers the gradients, clips them,
and makes one call of the op for each parameter group; the op updates everything in place in C++.

A subclass written by a user may instead implement ``_create_accumulators(block, parameters)`` and
``_append_optimize_op(block, param_and_grad)``, which is called once for each parameter.
"""

import warnings
from collections import defaultdict
from collections.abc import Mapping
from contextlib import contextmanager

from argosy import _core
from argosy import tensor as _tensor
from argosy._capturing import note_computed, reads_of_thread
from argosy._core import Tensor
from argosy._dtypes import SIXTEEN_BIT
from argosy._framework import in_static_mode
from argosy._programs import mode
from argosy._programs.registry import program_of
from argosy._support import need_type, no_effect
from argosy.autograd import no_grad
from argosy.base import static_parameter, unique_name

from . import plan
from .groups import ParameterGroups, as_regularizer, check_clip, check_parameters
from .loaded_state import accumulators_in, find_key, fitting, load_masters, take_values
from .lr import LambdaDecay, LRScheduler
from .records import Group
from .summary import update_summaries

__all__ = []


class Optimizer:
    """Base class of optimizers.

    Args:
        learning_rate (float | LRScheduler): The rate, or a scheduler that gives it.
        parameters (list): Tensors to update, or a list of dicts, one for each parameter group:
            ``params`` and whatever differs from the defaults below. In a group ``learning_rate`` is
            a factor on the optimizer's rate.
        weight_decay (float | Regularizer, optional): A float means L2 regularization. It adds to the
            gradient; a regularizer of a parameter (from ``ParamAttr``) takes its place.
        grad_clip (optional): ``nn.ClipGradByGlobalNorm``, ``ClipGradByNorm`` or ``ClipGradByValue``;
            applied before regularization.
        name (str, optional): Has no effect on results.

    Raises:
        ValueError: learning_rate is missing.
        TypeError: learning_rate, parameters, weight_decay or grad_clip is of another kind.

    Example:
        >>> layer = argosy.nn.Linear(2, 1)
        >>> groups = [{"params": [layer.weight]}, {"params": [layer.bias], "learning_rate": 0.1}]
        >>> sgd = argosy.optimizer.SGD(0.5, parameters=groups)
        >>> layer(argosy.ones([1, 2])).sum().backward()
        >>> before = layer.bias.clone()
        >>> sgd.step()
        >>> (before - layer.bias).tolist()
        [0.05]
        >>> sgd.clear_grad(set_to_zero=False)
        >>> layer.bias.grad is None
        True
        >>> adam = argosy.optimizer.Adam(0.1, parameters=[layer.weight])
        >>> adam.set_lr(0.25)
        >>> loss = layer(argosy.ones([1, 2])).mean()
        >>> loss.backward()
        >>> pairs = adam.backward(loss)
        >>> pairs = adam.append_regularization_ops(pairs, argosy.regularizer.L2Decay(0.5))
        >>> adam.apply_gradients(pairs), adam.apply_optimize(loss, None, pairs)
        ([], [])
        >>> _ = adam.minimize(loss)
        >>> adam.get_lr(), len(adam.state_dict()) == len(adam.get_opti_var_name_list())
        (0.25, True)
        >>> adam.set_state_dict(adam.state_dict())
        >>> adam.zero_grad()
        >>> _ = adam.use_fusion_storage(), adam.need_refuse(), adam.reset_need_refuse()
        >>> adam.set_lr_scheduler(argosy.optimizer.lr.StepDecay(0.5, 10))
        >>> adam.set_merged_model_params(None)
    """

    # Decay is part of the update (AdamW): weight_decay makes no regularizer. Parameters' own
    # regularizers still add to the gradient.
    _decoupled_decay = False
    _op = None
    _specs = ()
    _kept_options = ()  # see _keep_options
    _options = ()  # what _hyper takes from a group's options, in the order of the op's arguments

    def __init__(
        self, learning_rate, parameters=None, weight_decay=None, grad_clip=None, name=None
    ):
        label = type(self).__name__
        if learning_rate is None:
            raise ValueError(
                f"[{label}] learning_rate is missing: expected a number or an LRScheduler, got None. "
                "Do this: pass one."
            )
        if parameters is None and in_static_mode():
            parameters = []  # all that the loss depends on
        check_parameters(label, parameters)
        if isinstance(learning_rate, bool) or not isinstance(
            learning_rate, (float, int, LRScheduler)
        ):
            raise TypeError(
                f"[{label}] learning_rate has the wrong type: expected float or LRScheduler, got "
                f"{type(learning_rate).__name__}."
                " Do this: pass a number or a scheduler of optimizer.lr."
            )
        check_clip(label, grad_clip)
        self._name = name
        self._parameter_list = list(parameters)
        self._learning_rate = learning_rate
        self._grad_clip = grad_clip
        self.regularization = None if self._decoupled_decay else as_regularizer(label, weight_decay)
        self._accumulators = defaultdict(dict)
        self._accumulators_holder = {}
        self._state_names = defaultdict(dict)
        self._master_weights = {}
        self._opti_name_list = []
        self._rates = {}  # of static Programs
        self._rate_of_now = None  # see _taking_rate
        self._created = set()
        if not hasattr(self, "_default_dict"):
            self._default_dict = {}
        if not hasattr(self, "_multi_precision"):
            self._multi_precision = False
        self._default_dict["weight_decay"] = (
            weight_decay if self._decoupled_decay else self.regularization
        )
        self._default_dict["grad_clip"] = grad_clip
        self._entry = None if self._op is None else getattr(_core.ops, self._op)
        self._warned_unmatched = False
        self._groups = ParameterGroups(label, self._default_dict, self._decoupled_decay)
        self._parameter_list = self._groups.take(self._parameter_list)
        self._param_groups = self._groups.dicts if self._groups.given else self._parameter_list
        self._warn_about_own_regularizers()
        self.clear_gradients = self.clear_grad

    # ---- construction -------------------------------------------------------------------------

    def _keep_options(self, **options):
        """Keeps arguments that parameter groups may set differently, before the constructor runs;
        each is an attribute too."""
        self._default_dict = options
        self._kept_options = tuple(options)
        for name, value in options.items():
            setattr(self, f"_{name}", value)

    def _warn_about_own_regularizers(self):
        if self.regularization is None or self._decoupled_decay or self._groups.given:
            return
        own = [p.name for p in self._parameter_list if getattr(p, "regularizer", None) is not None]
        if own:
            warnings.warn(
                f"[{type(self).__name__}] weight_decay does not apply to parameters that have their "
                f"own regularizer (from ParamAttr): {', '.join(own[:5])}"
                + (f" and {len(own) - 5} more" if len(own) > 5 else ""),
                stacklevel=4,
            )

    def _add_param_group(self, param_group):
        """Adds one group, a dict with ``params`` and options; missing options get the defaults."""
        self._groups.add(param_group)

    def _current_groups(self):
        """The groups, as they are now; where none were given, one of what ``_parameter_list``, ``_grad_clip``,
        ``_beta1`` and the like are now, since programs assign to these."""
        if self._groups.given:
            self._groups.look_again()
        else:
            self._groups.groups[0].params = self._parameter_list
            options = self._default_dict
            options["grad_clip"] = self._grad_clip
            for name in self._kept_options:
                options[name] = getattr(self, "_" + name)
        return self._groups.groups

    def _all_params(self):
        return [p for g in self._current_groups() for p in g.params]

    # ---- accumulators -------------------------------------------------------------------------

    def _state_specs(self):
        """The accumulators of the op, in the order of its arguments; None where it has none."""
        return self._specs

    def _hyper(self, options, batch):
        """The op's hyperparameters for a group with `options`, as a tuple."""
        return tuple([options[name] for name in self._options])

    def _needs_master(self, param):
        return self._multi_precision and param.dtype in SIXTEEN_BIT

    def _state_dtype(self, param):
        """dtype of a parameter's accumulators: its own, float32 where it has a master copy."""
        return _core.float32 if self._needs_master(param) else param.dtype

    def _create_master_weight(self, param):
        master = self._master_weights.get(param.name)
        if master is None:
            name = unique_name.generate(param.name + "_fp32_master")
            if param._symbolic:
                master = static_parameter.make_variable(
                    name, param.shape, _core.float32, lambda: _core.ops.cast(param, _core.float32)
                )
            else:
                with no_grad():
                    master = param.detach().astype(_core.float32)
            master.stop_gradient = True
            master.name = name
            self._master_weights[param.name] = master
        return master

    def _state_owner_name(self, param):
        if self._needs_master(param):
            return self._create_master_weight(param).name
        return param.name

    def _add_accumulator(
        self, name, param, dtype=None, fill_value=0.0, shape=None, type=None, device=None
    ):
        """Makes the accumulator `name` of `param`, or takes it from a loaded state."""
        if self._name is not None:
            name = self._name + "_" + name
        if param.name in self._accumulators[name]:
            return self._accumulators[name][param.name]
        base = self._state_owner_name(param) + "_" + name
        full_name = unique_name.generate(base)
        shape = list(param.shape) if shape is None else list(shape)
        dtype = self._state_dtype(param) if dtype is None else dtype
        held = self._take_from_holder(full_name, base)
        if param._symbolic:
            first = fill_value if held is None else lambda: _tensor.to_tensor(held)
            tensor = static_parameter.make_variable(full_name, shape, dtype, first)
        else:
            with no_grad():
                tensor = _tensor.full(shape, fill_value, dtype)
                if tensor.place != param.place:
                    tensor = tensor.to(param.place)
                if held is not None:
                    self._assign(tensor, held, full_name, name)
            tensor.stop_gradient = True
            tensor.name = full_name
        self._accumulators[name][param.name] = tensor
        self._state_names[name][param.name] = full_name
        self._opti_name_list.append(full_name)
        return tensor

    def _get_accumulator(self, name, param):
        """The accumulator `name` of `param`."""
        if self._name is not None:
            name = self._name + "_" + name
        if name not in self._accumulators or param.name not in self._accumulators[name]:
            raise RuntimeError(
                f"[{type(self).__name__}] accumulator '{name}' of parameter '{param.name}' does not "
                "exist. Do this: create it with _add_accumulator first."
            )
        return self._accumulators[name][param.name]

    _get_accumulator_master = _get_accumulator

    def _make_states(self, param, options):
        if param.name in self._created:
            return
        self._created.add(param.name)
        for spec in self._state_specs():
            if spec is None:
                continue
            fill = options[spec.fill] if isinstance(spec.fill, str) else spec.fill
            self._add_accumulator(
                spec.name, param, spec.dtype_for(param), fill, spec.shape_for(param)
            )

    def _held_accumulators(self):
        """What set_state_dict brought of this optimizer's parameters and no step has taken yet."""
        if not self._accumulators_holder:
            return {}
        prefix = "" if self._name is None else self._name + "_"
        kinds = [prefix + s.name for s in self._state_specs() if s is not None]
        found = accumulators_in(self._accumulators_holder, self._all_params(), kinds)
        return {k: v if isinstance(v, Tensor) else _tensor.to_tensor(v) for k, v in found.items()}

    def _take_from_holder(self, full_name, base):
        holder = self._accumulators_holder
        if not holder:
            return None
        key = find_key(holder, full_name, base)
        if key is not None:
            return holder.pop(key)
        if not self._warned_unmatched:
            self._warned_unmatched = True
            warnings.warn(
                f"[{type(self).__name__}] the loaded state has no '{full_name}': this accumulator "
                f"starts anew. The state has {', '.join(list(holder)[:4])} .. (parameter names "
                "depend on the order in which layers are made: build the model as it was built "
                "when the state was saved)."
            )
        return None

    def _assign(self, tensor, value, key, name):
        tensor.set_value(self._fitting(tensor, value, key, name))

    def _fitting(self, tensor, value, key, name):
        what = f"{type(self).__name__}.set_state_dict"
        return fitting(what, tensor, value, key, name in self._spread_names())

    def _spread_names(self):
        """Names of the accumulators that state_dict shows, and saves, in the parameter's shape."""
        prefix = "" if self._name is None else self._name + "_"
        return {
            prefix + s.name for s in self._state_specs() if s is not None and s.shape == "spread"
        }

    # ---- learning rate ------------------------------------------------------------------------

    def get_lr(self):
        """The current learning rate.

        Returns:
            float: Of the scheduler if there is one.
        """
        if self._rate_of_now is not None:
            return self._rate_of_now
        return note_computed(self, self._value_of_rate, "get_lr")

    def _value_of_rate(self):
        rate = self._learning_rate
        return rate() if isinstance(rate, LRScheduler) else float(rate)

    @contextmanager
    def _taking_rate(self, rate):
        """Within the context updates take `rate`, a value of the Program that records them."""
        before, self._rate_of_now = self._rate_of_now, rate
        try:
            yield
        finally:
            self._rate_of_now = before

    def _rate(self):
        """What an update takes, also where a subclass has a get_lr of its own."""
        return self.get_lr() if self._rate_of_now is None else self._rate_of_now

    def set_lr(self, value):
        """Sets the learning rate, also the one that static Programs keep in the global scope.

        Args:
            value (float): The rate.

        Raises:
            TypeError: It is no number.
            RuntimeError: A scheduler gives the rate.
        """
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(
                f"[set_lr] value has the wrong type: expected float, got {type(value).__name__}. "
                "Do this: pass float(value); for a scheduler call set_lr_scheduler."
            )
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError(
                "[set_lr] the learning rate of this optimizer is set by a "
                f"{type(self._learning_rate).__name__}. Do this: change the scheduler, or build the "
                "optimizer with a float."
            )
        self._learning_rate = float(value)
        for variable in self._rates.values():
            from argosy.static.program import set_state
            from argosy.static.scope import global_scope

            if global_scope()._value(variable.name) is not None:
                set_state(variable, [self._learning_rate], global_scope())

    def _static_rate(self, program):
        """The learning rate as state of a static Program. Each run starts by taking over what the
        scheduler says; a plain number stays what the scope has."""
        from argosy.static.program import set_state

        rate = self._rates.get(program)
        if rate is None:
            name = unique_name.generate("learning_rate")
            rate = static_parameter.make_variable(
                name, [], _core.float32, self.get_lr(), program=program
            )
            self._rates[program] = rate

            def take_over(scope):
                if isinstance(self._learning_rate, LRScheduler):
                    set_state(rate, float(self.get_lr()), scope)

            program._before_run.append(take_over)
        return rate

    def _global_learning_rate(self, program=None):
        """The variable of the learning rate in a static Program; in eager mode the number."""
        if not in_static_mode():
            return self._rate()
        from argosy.static import default_main_program

        return self._static_rate(default_main_program() if program is None else program)

    def set_lr_scheduler(self, scheduler):
        """Lets a scheduler give the learning rate from now on.

        Args:
            scheduler (LRScheduler): It.

        Raises:
            TypeError: It is none.
        """
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(
                "[set_lr_scheduler] scheduler has the wrong type: expected LRScheduler, got "
                f"{type(scheduler).__name__}."
                " Do this: pass a scheduler of optimizer.lr."
            )
        self._learning_rate = scheduler

    # ---- state --------------------------------------------------------------------------------

    def state_dict(self):
        """What is to be saved of the optimizer.

        Returns:
            dict: All accumulators by name, ``master_weights`` where there are any, and the scheduler's state
            under ``LR_Scheduler``. The tensors are the live ones, not copies. Accumulators that were loaded
            and that no step has needed yet are among them.
        """
        state = self._held_accumulators()
        spread = self._spread_names()
        shapes = {p.name: p.shape for p in self._all_params()} if spread else {}
        for name, by_param in self._accumulators.items():
            for param_name, tensor in by_param.items():
                if tensor._symbolic:
                    from argosy.static.scope import global_scope

                    tensor = global_scope()._value(tensor.name)
                    if tensor is None:
                        continue
                elif name in spread:
                    with no_grad():
                        tensor = tensor.reshape([]).expand(shapes[param_name])
                state[self._state_names[name][param_name]] = tensor
        if self._master_weights:
            state["master_weights"] = {
                k: v if not v._symbolic else v.get_value()._tensor
                for k, v in self._master_weights.items()
            }
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        """Takes over a state. Accumulators that do not exist yet are taken at the first step. Also
        called set_dict and load_state_dict.

        Args:
            state_dict (dict): What ``state_dict()`` gave, of tensors or arrays.

        Raises:
            AssertionError: An accumulator is missing or has another shape or dtype, or the optimizer has a
                scheduler and the state has none. Nothing has changed then.
        """
        need_type(
            "set_state_dict", "state_dict", state_dict, Mapping, "pass what state_dict() gave"
        )
        state = dict(state_dict)
        scheduler = self._learning_rate
        lr_state = state.pop("LR_Scheduler", None)
        scheduled = isinstance(scheduler, LRScheduler)
        if scheduled and lr_state is None and not isinstance(scheduler, LambdaDecay):
            raise AssertionError(
                "[set_state_dict] the state has no 'LR_Scheduler', but this optimizer has a "
                f"{type(scheduler).__name__}. Do this: load a state that was saved with one."
            )
        masters = state.pop("master_weights", None)
        with no_grad():
            values = take_values(self, state)
        # From here on nothing is refused.
        if scheduled and lr_state is not None:
            scheduler.set_state_dict(lr_state)
        if masters:
            load_masters(self, masters)
        self._accumulators_holder = state
        self._warned_unmatched = False
        with no_grad():
            for tensor, value in values:
                tensor.set_value(value)

    set_dict = set_state_dict
    load_state_dict = set_state_dict

    def get_opti_var_name_list(self):
        """Names of all accumulators made so far.

        Returns:
            list[str]: In the order in which they were made.
        """
        return self._opti_name_list

    # ---- gradients ----------------------------------------------------------------------------

    # Paddle can lay the states of all parameters out in one buffer, to send them to other processes.
    # Here states are always tensors of their own, updated in one call, so there is no such buffer.
    fused_buffer_version = 0
    fused_states_buffer = property(lambda self: None, doc="None: there is no fused buffer.")
    fused_states_buffer_ipc_meta = fused_states_accumulators_meta = fused_states_buffer
    fused_states_master_weights_meta = fused_states_buffer

    def use_fusion_storage(self):
        """Changes nothing: all states are updated in one call wherever they lie."""

    def need_refuse(self):
        """Changes nothing: there is no fused buffer that could get out of date."""

    def reset_need_refuse(self):
        """Changes nothing: there is no fused buffer that could get out of date."""

    def set_merged_model_params(self, merged_model_params):
        """Keeps a name of what the parameters were merged into by another framework; the
        states do not change.

        Args:
            merged_model_params: Becomes the attribute of that name.
        """
        self.merged_model_params = merged_model_params

    def clear_grad(self, set_to_zero=True):
        """Resets the gradients of all parameters. Also called clear_gradients.

        Args:
            set_to_zero (bool): Whether they become zeros; else they are dropped.
        """
        for group in self._current_groups():
            _core.clear_grads(group.params, set_to_zero)

    def zero_grad(self, set_to_none=True):
        """Resets the gradients of all parameters.

        Args:
            set_to_none (bool): Whether they are dropped; else they become zeros.
        """
        self.clear_grad(not set_to_none)

    def backward(
        self, loss, startup_program=None, parameters=None, no_grad_set=None, callbacks=None
    ):
        """Pairs of parameter and gradient: those that ``loss.backward()`` made, or, for a loss of a
        Program, after adding the operations that compute them.

        Args:
            loss (Tensor): What the gradients are of.
            startup_program (Program, optional): Has no effect, which a warning says.
            parameters (list[Tensor], optional): Of which; default: the optimizer's.
            no_grad_set (set, optional): Parameters, or their names, that are left out.
            callbacks (list, optional): For static.append_backward.

        Returns:
            list[tuple[Tensor, Tensor]]: Parameters that have a gradient, each with it.
        """
        if startup_program is not None:
            no_effect(
                "Optimizer.backward", "gradients have no state (minimize takes it)",
                startup_program=(startup_program, None),
            )  # fmt: skip
        if loss is not None and loss._symbolic:
            from argosy.static import append_backward

            chosen = self._all_params() if parameters is None else parameters
            return append_backward(loss, list(chosen) or None, no_grad_set, callbacks)
        skip = {getattr(p, "name", p) for p in no_grad_set or ()}
        pairs = []
        for p in self._all_params() if parameters is None else parameters:
            if not p.stop_gradient and p.name not in skip and p.grad is not None:
                pairs.append((p, p.grad))
        return pairs

    def append_regularization_ops(self, parameters_and_grads, regularization=None):
        """Adds regularization terms to gradients: that of the parameter's own
        regularizer, else of a common one.

        Args:
            parameters_and_grads (list[tuple[Tensor, Tensor]]): Pairs; a gradient may be None.
            regularization (Regularizer, optional): For parameters without one.

        Returns:
            list[tuple[Tensor, Tensor]]: The pairs with new gradients.
        """
        out = []
        for param, grad in parameters_and_grads:
            regularizer = plan.regularizer_of(param, regularization)
            if grad is not None and regularizer is not None:
                with no_grad():
                    grad = grad + regularizer(param, grad, None)
            out.append((param, grad))
        return out

    # ---- the update ---------------------------------------------------------------------------

    def step(self):
        """Updates all parameters that have a gradient.

        Raises:
            RuntimeError: A static Program is being built, to which minimize adds the update.
        """
        if in_static_mode():
            raise RuntimeError(
                f"[{type(self).__name__}.step] updates at once, but a static Program is being built. "
                "Do this: call minimize(loss) once, and run the Program with static.Executor."
            )
        rate = self._rate()
        for group in self._current_groups():
            params, grads = _core.gradients_of(group.params)
            if params:
                self._update(group, params, grads, rate)
        self._note_settings()

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """Makes one update from the gradients that ``loss.backward()`` left; for a loss of a
        Program, adds the operations that compute gradients and update.

        Args:
            loss (Tensor): What is to become small.
            startup_program (Program, optional): Where state begins in static mode; default: the default one.
            parameters (list[Tensor], optional): What is updated; default: the optimizer's.
            no_grad_set (set, optional): Parameters, or their names, that are left out.

        Returns:
            tuple: The operations that were added (none for an update at once), and the list of pairs
            (parameter, gradient).

        Raises:
            AssertionError: loss is no tensor.
        """
        if not isinstance(loss, Tensor):
            raise AssertionError(
                f"[minimize] loss must be a tensor, got {type(loss).__name__}."
                " Do this: pass what the loss function returned."
            )
        pairs = self.backward(loss, None, parameters, no_grad_set)
        return self._apply_optimize(loss, startup_program, pairs), pairs

    def apply_gradients(self, params_grads):
        """Makes one update from given gradients; with values of a Program, adds the operations that do.

        Args:
            params_grads (list[tuple[Tensor, Tensor]]): Pairs; those without a gradient are left out.

        Returns:
            list: The operations that were added; empty for an update at once.
        """
        if any(g is not None and g._symbolic for _, g in params_grads):
            return self._add_update(params_grads)
        self._update_all(params_grads, self._rate())
        return []

    def _add_update(self, params_grads):
        from argosy.static.mode import role

        program = program_of(next(g for _, g in params_grads if g is not None))
        count = len(program.global_block().ops)
        with mode.recording(program), role(program, 2), no_grad():
            self._program = program
            self._update_all(params_grads, self._static_rate(program))
        program._exchange_gradients(params_grads)
        return program.global_block().ops[count:]

    def _update_all(self, params_grads, rate):
        params_grads = update_summaries(params_grads)
        grad_of = {id(p): g for p, g in params_grads if g is not None}
        for group in self._current_groups():
            params = [p for p in group.params if id(p) in grad_of]
            if params:
                self._update(group, params, [grad_of.pop(id(p)) for p in params], rate)
        rest = [(p, g) for p, g in params_grads if id(p) in grad_of]
        if rest:
            group = Group([p for p, _ in rest], self._default_dict)
            self._update(group, group.params, [g for _, g in rest], rate)
        self._note_settings()

    def _apply_optimize(self, loss, startup_program, params_grads):
        """apply_gradients for a loss of a Program, whose new state begins in another one.

        Args:
            loss (Tensor): What the gradients are of.
            startup_program (Program, optional): Where state begins in static mode; default: the default one.
            params_grads (list[tuple[Tensor, Tensor]]): Pairs of parameter and gradient.

        Returns:
            list: The operations that were added; empty for an update at once.
        """
        if startup_program is None or not loss._symbolic:
            return self.apply_gradients(params_grads)
        from argosy.static.mode import program_guard

        with program_guard(program_of(loss), startup_program):
            return self.apply_gradients(params_grads)

    apply_optimize = _apply_optimize

    def _update(self, group, params, grads, rate):
        clip = group.options["grad_clip"]
        if clip is not None:
            with no_grad():
                pairs = clip(list(zip(params, grads)))
            grads = [g for _, g in pairs]
        if self._op is None:
            self._update_one_by_one(params, grads)
            return
        batch = self._batch(group, params)
        if batch.others:
            with no_grad():
                for i, regularizer in batch.others:
                    grads[i] = grads[i] + regularizer(params[i], grads[i], None)
        self._entry(
            batch.params,
            grads,
            *batch.states,
            batch.masters,
            rate,
            batch.lr_scales,
            batch.l1,
            batch.l2,
            *self._hyper(group.options, batch),
        )

    def _make_batch(self, group, params):
        for p in params:
            self._make_states(p, group.options)
        prefix = "" if self._name is None else self._name + "_"
        states = []
        for spec in self._state_specs():
            by_param = {} if spec is None else self._accumulators[prefix + spec.name]
            states.append([] if spec is None else [by_param[p.name] for p in params])
        masters = []
        if any(map(self._needs_master, params)):
            masters = [
                self._create_master_weight(p) if self._needs_master(p) else p for p in params
            ]
        return plan.Batch(params, states, masters)

    def _batch(self, group, params):
        """The group's batch of these parameters, as they and the optimizer are now."""
        batch = plan.batch_of(group, params, self._make_batch)
        said = self._said_by(params)
        if said != batch.said:
            batch.l1, batch.l2, batch.others = plan.regularization(params, self.regularization)
            batch.lr_scales = self._lr_scales(params)
            batch.said = said
        return batch

    def _said_by(self, params):
        return plan.said_by(params, self.regularization)

    def _lr_scales(self, params):
        return plan.unless_all(1.0, [plan.lr_scale(p) for p in params])

    def _settings(self):
        """A Program that has recorded an update holds as long as this is the same."""
        return plan.settings_of(self)

    def _note_settings(self):
        """Tells the capture under way, if any, what its update depends on."""
        if reads_of_thread() is not None:
            note_computed(self, self._settings, "settings")

    def _make_all_states(self):
        """Makes the states of all trained parameters, which otherwise the first step does."""
        for group in self._current_groups():
            params = [p for p in group.params if not p.stop_gradient]
            if params and self._op is not None:
                self._make_batch(group, params)

    # ---- subclasses that update one parameter at a time -----------------------------------------

    def _create_accumulators(self, block, parameters):
        """Hook: make accumulators for `parameters` with ``_add_accumulator``."""

    def _append_optimize_op(self, block, param_and_grad):
        """Hook: update one parameter from its gradient."""
        raise NotImplementedError(
            f"[{type(self).__name__}] _append_optimize_op(block, param_and_grad) is missing. "
            "Do this: implement it so that it updates the parameter from the gradient."
        )

    def _create_param_lr(self, param_and_grad):
        """The learning rate of one parameter, its factor included; a float, in static mode a
        variable."""
        return self._global_learning_rate() * plan.lr_scale(param_and_grad[0])

    def _update_one_by_one(self, params, grads):
        pairs = self.append_regularization_ops(list(zip(params, grads)), self.regularization)
        block = self._program.global_block() if pairs[0][0]._symbolic else None
        with no_grad():
            self._create_accumulators(block, params)
            for pair in pairs:
                self._append_optimize_op(block, pair)
