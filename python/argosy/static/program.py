"""Programs as the static API shows them: Program, Block, Operator."""

from __future__ import annotations

import ast

from argosy import _core
from argosy._core import Tensor
from argosy._programs.registry import program_of, register  # noqa: F401
from argosy._programs.scope import set_state
from argosy._support import check_choice, no_effect, only_known, unsupported
from argosy.base.parameter import Parameter
from argosy.tensor.program_value import to_text

from . import appending, mode, names, state


class Program:
    """A computation: inputs, operations and the names of the state they read and write.

    Calls under :func:`program_guard` are added to it; :class:`Executor` runs it. Two are there from
    the start, :func:`default_main_program` and :func:`default_startup_program`.
    """

    def __init__(self, _handle=None):
        self._handle = _core.program_new() if _handle is None else _handle
        register(self)
        self._states = {}  # Parameters and other state made for this Program, by name
        self._variables = {}  # what Block.create_var made, by name
        self._remote = {}  # what layers say of embeddings for parameter servers, by name
        self._lengths = {}  # of batches of sequences, by the id of the value
        self._before_run = []  # called with the scope before each run
        self._loaders = []  # made with iterable=False: they feed runs
        self._before_evaluation = []  # what copies for evaluation call before each run as well
        self._after_data = []  # called after each pass over a data set that trains
        self._prefetches = False  # passes over a data set fetch rows of the next batch meanwhile
        self._fleet_opt = None  # a dict once fleet has divided the Program (see fleet.minimize)
        self._role = 0
        self._seed = 0
        self._family = object()  # shared by clones: their values have the same ids
        self._common_ids = 0  # below this number
        self._described = (None, None)
        self._plans = {}
        self._is_start_up_program_ = False

    # ---- copies -------------------------------------------------------------------------------

    def clone(self, for_test=False):
        """A copy. Parameters and other state are found by name, so both share them in a scope.

        Args:
            for_test (bool): Leave out gradients and optimizers, switch dropout and batch
                normalization to evaluation. Call it before ``optimizer.minimize`` or after, the
                result is the same.
        """
        make = _core.program_for_test if for_test else _core.program_clone
        self._name_values()
        copy = self._copy(make(self._handle))
        if for_test:
            copy._before_run += self._before_evaluation
        else:
            copy._before_evaluation = list(self._before_evaluation)
            copy._prefetches = self._prefetches
        return copy

    def _copy(self, handle):
        copy = Program(handle)
        copy._states = dict(self._states)
        copy._variables = dict(self._variables)
        copy._seed = self._seed
        copy._lengths = dict(self._lengths)
        copy._remote = dict(self._remote)
        copy._before_run = list(self._before_run)
        copy._loaders = list(self._loaders)
        copy._fleet_opt = None if self._fleet_opt is None else dict(self._fleet_opt)
        copy._is_start_up_program_ = self._is_start_up_program_
        copy._family = self._family
        copy._common_ids = _core.program_value_count(self._handle)
        self._common_ids = max(self._common_ids, copy._common_ids)
        return copy

    def set_parameters_from(self, program):
        """Takes the parameters and other state of another Program over, found by name; those of this
        one that have such a name become them."""
        if not isinstance(program, Program):
            raise TypeError(
                f"[Program.set_parameters_from] program: expected a Program, got"
                f" {type(program).__name__}. Do this: pass a static.Program."
            )
        self._states.update(program._all_states())

    def get_value_by_op_id(self, op_ids):
        """The variables that operations make, given the number or numbers of these (`Operator.id`).

        Raises:
            ValueError: there is no operation of a number.
        """
        operations = {op.id(): op for block in self.blocks for op in block.ops}
        found = []
        for number in op_ids if isinstance(op_ids, (list, tuple, set)) else [op_ids]:
            if number not in operations:
                raise ValueError(
                    f"[Program.get_value_by_op_id] there is no operation {number!r}: expected one"
                    f" of 0 to {len(operations) - 1}. Do this: ask op.id()."
                )
            found += operations[number].results()
        return found

    def set_is_test_attr(self):
        """Switches dropout, batch normalization and their kin to evaluation, in this Program.

        Raises:
            ValueError: it has gradients, which need the values of training.
        """
        if any(op.type.endswith("_grad") for block in self.blocks for op in block.ops):
            raise ValueError(
                "[Program.set_is_test_attr] the Program has gradients, which need the values of"
                " training. Do this: call clone(for_test=True), which leaves them out."
            )
        self._name_values()
        self._handle = _core.program_for_test(self._handle)
        self._described = (None, None)
        self._plans = {}

    @staticmethod
    def parse_from_string(binary_str):
        """The Program in the bytes of a .pdmodel file, as of static.deserialize_program."""
        from .io import deserialize_program

        return deserialize_program(binary_str)

    def __deepcopy__(self, memo):
        memo[id(self)] = copy = self.clone()
        return copy

    def _name_values(self):
        """Gives every variable its name now; otherwise each gets it when it is asked for. Copies and
        files have the names that there are."""
        for operation in self._description()["operations"]:
            for v in operation["results"]:
                v.name  # noqa: B018

    # ---- content ------------------------------------------------------------------------------

    def _description(self):
        version = _core.program_version(self._handle)
        if self._described[0] != version:
            self._described = version, _core.program_describe(self._handle)
        return self._described[1]

    def _all_states(self):
        """Handles of all state by name, in order of creation."""
        found = dict(self._states)
        for name, _, _, handle, _, _ in _core.program_states(self._handle):
            if name not in found:
                known = state.named(name)
                found[name] = handle if known is None or not handle._symbolic else known
        return found

    def all_parameters(self):
        """The parameters, trained or not, in order of creation."""
        return [v for v in self._all_states().values() if isinstance(v, Parameter)]

    def list_vars(self):
        """All variables: inputs, parameters and other state, results of operations."""
        seen = set()
        for block in self.blocks:
            for variable in block.vars.values():
                if variable.name not in seen:
                    seen.add(variable.name)
                    yield variable

    def global_block(self):
        """The outermost block."""
        return Block(self, 0, -1, self._description())

    def current_block(self):
        """The block that calls are added to."""
        return self.global_block()

    def block(self, index):
        """Block number `index`."""
        return self.blocks[index]

    @property
    def blocks(self):
        """The outermost block, then those of branches and loops."""
        found = []

        def add(described, parent):
            found.append(Block(self, len(found), parent, described))
            here = len(found) - 1
            for operation in described["operations"]:
                for inner in operation["blocks"]:
                    add(inner, here)

        add(self._description(), -1)
        return found

    @property
    def num_blocks(self):
        """Number of blocks."""
        return len(self.blocks)

    def num_ops(self):
        """Number of operations in all blocks."""
        return sum(len(b.ops) for b in self.blocks)

    def parameters_num(self):
        """Number of parameters."""
        return len(self.all_parameters())

    @property
    def random_seed(self):
        """Every run starts the random generator from this number; 0: goes on where it is."""
        return self._seed

    @random_seed.setter
    def random_seed(self, seed):
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(
                f"[Program.random_seed] expected an int, got {type(seed).__name__}."
                " Do this: pass a number."
            )
        self._seed = seed

    def global_seed(self, seed=0):
        """Sets random_seed of this Program."""
        self.random_seed = seed

    def _find(self, name):
        """The newest variable called so, or None."""
        found = self._states.get(name)
        if found is None:
            found = _core.program_find(self._handle, name)
        if found is None:
            found = self._variables.get(name)
        return found

    def get_parameter_value_by_name(self, name):
        """The Parameter called so, or None."""
        return next((p for p in self.all_parameters() if p.name == name), None)

    def get_all_parameter_values(self):
        """The Parameters."""
        return self.all_parameters()

    def get_output_value_by_name(self, name):
        """The newest variable called so, or None."""
        return self._find(name)

    # ---- state --------------------------------------------------------------------------------

    def state_dict(self, mode="all", scope=None):
        """The values in `scope` of the parameters and other persistable state, by name.

        Args:
            mode (str): 'param' for parameters, 'opt' for the rest, 'all'.
            scope (Scope, optional): The global scope if None.

        Raises:
            ValueError: another mode.
        """
        from .scope import global_scope

        check_choice("Program.state_dict", "mode", mode, ("param", "opt", "all"))
        scope = global_scope() if scope is None else scope
        values = {}
        for name, handle in self._all_states().items():
            is_parameter = isinstance(handle, Parameter)
            if not handle.persistable or mode == ("opt" if is_parameter else "param"):
                continue
            value = handle if not handle._symbolic else scope._value(name)
            if value is not None:
                values[name] = value
        return values

    def set_state_dict(self, state_dict, scope=None):
        """Puts values into the variables of `scope` that this Program's state is found in.

        Args:
            state_dict (dict): Tensors or arrays by name; names that are not of this Program are
                warned of and passed over.
            scope (Scope, optional): The global scope if None.
        """
        import warnings

        from .scope import global_scope

        if not isinstance(state_dict, dict):
            raise TypeError(
                f"[Program.set_state_dict] expected a dict, got {type(state_dict).__name__}."
                " Do this: pass what state_dict gave."
            )
        scope = global_scope() if scope is None else scope
        handles = self._all_states()
        for name, value in state_dict.items():
            if name in handles:
                set_state(handles[name], value, scope)
            else:
                warnings.warn(
                    f"[Program.set_state_dict] the Program has no state '{name}'; it is passed over.",
                    stacklevel=2,
                )

    # ---- text ---------------------------------------------------------------------------------

    def to_string(self, throw_on_error=False, with_details=False):
        """The variables and operations of all blocks as text."""
        return "\n".join(b.to_string(throw_on_error, with_details) for b in self.blocks) + "\n"

    def __repr__(self):
        return self.to_string()

    __str__ = __repr__


# Arguments that say of which kind a variable is: it is of the kind that its operation makes.
_OF_KINDS = ("type", "lod_level", "capacity", "need_check_feed", "belong_to_optimizer")


def _check_details(owner, throw_on_error, with_details):
    no_effect(
        f"{owner}.to_string", "there is one form of the text, and no part can be missing",
        throw_on_error=(throw_on_error, False), with_details=(with_details, False),
    )  # fmt: skip


class Block:
    """A list of operations and the variables they use."""

    def __init__(self, program, index, parent, described):
        self.program = program
        self.idx = index
        self.parent_idx = parent
        self._described = described

    def _fresh(self):
        return self.program._description() if self.idx == 0 else self._described

    @property
    def ops(self):
        """The operations, in order."""
        return [Operator(self, o, i) for i, o in enumerate(self._fresh()["operations"])]

    @property
    def vars(self):
        """The variables by name, in order of creation."""
        described = self._fresh()
        found = {}
        for v in described["arguments"]:
            found[v.name] = v
        if self.idx == 0:
            found.update(self.program._all_states())
            found.update(self.program._variables)
        for operation in described["operations"]:
            for v in operation["results"]:
                found.setdefault(v.name, v)
        return found

    def var(self, name):
        """The variable called `name`.

        Raises:
            TypeError: name is no str.
            ValueError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(
                f"[Block.var] name: expected a str, got {type(name).__name__}."
                " Do this: pass the name of a variable."
            )
        found = self.program._find(name) if self.idx == 0 else self.vars.get(name)
        if found is None:
            raise ValueError(f"var {name} not in this block")
        return found

    def has_var(self, name):
        """Whether there is a variable of this name."""
        return (self.program._find(name) if self.idx == 0 else self.vars.get(name)) is not None

    _find_var_recursive = var

    def all_parameters(self):
        """The parameters of the Program."""
        return self.program.all_parameters()

    iter_parameters = all_parameters

    def create_var(self, name=None, shape=None, dtype="float32", persistable=False,
                   stop_gradient=False, initializer=None, **kwargs):  # fmt: skip
        """A variable for append_op to write; with `persistable`, one whose value is in the scope.

        Args:
            name (str, optional): Unique; one is made up if None.
            shape (list): Needed if persistable.
            dtype (str | dtype): Of the elements.
            stop_gradient (bool): No gradient flows through what append_op makes of it.
            initializer (Initializer, optional): First value, by the startup Program; zeros if None.
            kwargs: type, lod_level, capacity, need_check_feed and belong_to_optimizer have no effect,
                as an operation says what it makes.

        Raises:
            ValueError: other arguments. NotImplementedError: is_data or error_clip.
        """
        from argosy.base import unique_name

        only_known("Block.create_var", kwargs, (*_OF_KINDS, "is_data", "error_clip"))
        unsupported(
            "Block.create_var", "use static.data for inputs, and clip gradients by the optimizer",
            is_data=(kwargs.get("is_data", False), False), error_clip=(kwargs.get("error_clip"), None),
        )  # fmt: skip
        name = unique_name.generate("_generated_var") if name is None else name
        found = self.program._find(name)
        if found is not None:
            return found
        if persistable:
            if shape is None:
                raise ValueError(
                    f"[Block.create_var] '{name}' is persistable: expected a shape."
                    " Do this: pass shape."
                )
            first = 0 if initializer is None else lambda: initializer._values(list(shape), dtype)
            return state.make_variable(name, shape, dtype, first, program=self.program)
        variable = Tensor.__new__(Tensor)
        variable.name = name
        variable._stops = bool(stop_gradient)
        variable._declared = ([-1 if s is None else s for s in shape or ()], dtype)
        self.program._variables[name] = variable
        return variable

    def create_parameter(self, name=None, shape=None, dtype="float32", attr=None, is_bias=False,
                         initializer=None, *, trainable=True, regularizer=None, optimize_attr=None,
                 need_clip=True, do_model_average=None, stop_gradient=None, **kwargs):  # fmt: skip
        """A Parameter of this Program.

        Args:
            name (str, optional): Unique; one is made up if None.
            shape (list): Its sizes.
            dtype (str | dtype): Of the elements.
            attr (ParamAttr, optional): Instead of the arguments that follow.
            is_bias (bool): Starts from zeros, not by Xavier, if nothing else is said.
            initializer (Initializer, optional): First value. A block of a startup Program records it;
                else the default startup Program does, unless one of its blocks has a parameter of
                that name and initializer is None.
            trainable, regularizer, optimize_attr, need_clip, do_model_average: As of ParamAttr;
                optimize_attr is {"learning_rate": factor}.
            stop_gradient (bool, optional): The opposite of trainable if None.
            kwargs: type, lod_level, persistable .. say what every parameter is.

        Raises:
            ValueError: other arguments, or no shape.
        """
        from . import parameters

        only_known("Block.create_parameter", kwargs, (*_OF_KINDS, "persistable", "is_distributed"))
        given = {
            "trainable": trainable, "regularizer": regularizer, "optimize_attr": optimize_attr,
            "need_clip": need_clip, "do_model_average": do_model_average,
        }  # fmt: skip
        made = parameters.create(
            self.program, name, shape, dtype, attr, is_bias, initializer, given
        )
        if made is not None and stop_gradient is not None:
            made.stop_gradient = bool(stop_gradient)
        return made

    def append_op(self, type=None, inputs=None, outputs=None, attrs=None, **kwargs):
        """Adds the operation that Paddle calls `type`.

        Args:
            type (str): Such as 'elementwise_add', 'relu', 'scale'.
            inputs (dict): Variables by the names Paddle gives the operands: {'X': [x], 'Y': y}.
            outputs (dict): Variables that become the results, by name.
            attrs (dict): Attributes by the names Paddle gives them.
            kwargs: stop_gradient, whether no gradient flows through the results. inplace_map has no
                effect: the memory planner finds what can be written in place.

        Raises:
            ValueError: an operand or attribute is missing, or other arguments are given.
            NotImplementedError: no operation of this type can be made from such operands, attributes
                or outputs.
        """
        only_known("Block.append_op", kwargs, ("stop_gradient", "inplace_map"))
        stop = bool(kwargs.get("stop_gradient", False))
        with mode.recording(self.program):
            appending.append(self, type, inputs or {}, outputs or {}, attrs or {}, stop)
        return self.ops[-1]

    def _remove_op(self, index, sync=True):
        raise NotImplementedError(
            "[Block] operations are not taken out one by one. Do this: build the Program without"
            " it, or Program.clone(for_test=True)."
        )

    def to_string(self, throw_on_error=False, with_details=False):
        """The variables and operations as text."""
        _check_details("Block", throw_on_error, with_details)
        lines = [f"{{ // block_idx:{self.idx}  parent_idx:{self.parent_idx}"]
        lines += [f"    {to_text(v)}" for v in self.vars.values()]
        lines.append("")
        lines += [f"    {o.to_string()}" for o in self.ops]
        return "\n".join([*lines, "}"])

    def __repr__(self):
        return self.to_string()

    __str__ = __repr__


class Operator:
    """One operation of a Block, under the names that Paddle gives types and operands."""

    def __init__(self, block, described, index):
        self.block = block
        self.idx = index
        self._described = described
        self._inputs = names.shown(described["type"], described["inputs"])
        self._outputs = names.shown(described["type"], described["outputs"])

    @property
    def type(self):
        """Name of what it computes."""
        return names.type_of(self._described)

    def name(self):
        """The operation's own name, as 'pd_op.matmul'."""
        return "pd_op." + self._described["type"]

    def id(self):
        """Its number in the Program, counting through all blocks."""
        return sum(len(b.ops) for b in self.block.program.blocks[: self.block.idx]) + self.idx

    def results(self):
        """The variables it makes."""
        return [v for group in self._described["outputs"].values() for v in group]

    def result(self, index):
        """Variable number `index` of those it makes."""
        return self.results()[index]

    def operands_source(self):
        """The variables it reads."""
        return [v for group in self._described["inputs"].values() for v in group]

    def operand_source(self, index):
        """Variable number `index` of those it reads."""
        return self.operands_source()[index]

    def num_operands(self):
        """How many variables it reads."""
        return len(self.operands_source())

    def num_results(self):
        """How many variables it makes."""
        return len(self.results())

    def attrs(self):
        """The attributes as a dict."""
        return self.all_attrs()

    @property
    def input_names(self):
        """Names of the operands."""
        return list(self._inputs)

    @property
    def output_names(self):
        """Names of the results."""
        return list(self._outputs)

    def input(self, name):
        """Names of the variables that are operand `name`."""
        return [v.name for v in self._get(self._inputs, name, "input")]

    def output(self, name):
        """Names of the variables that are result `name`."""
        return [v.name for v in self._get(self._outputs, name, "output")]

    def _get(self, table, name, what):
        if name not in table:
            raise ValueError(
                f"[Operator.{what}] '{self.type}' has no {what} '{name}': it has {list(table)}."
                " Do this: use one of these."
            )
        return [v for v in table[name] if v is not None]

    @property
    def input_arg_names(self):
        """Names of all variables it reads."""
        return [v.name for group in self._inputs.values() for v in group if v is not None]

    @property
    def output_arg_names(self):
        """Names of all variables it makes."""
        return [v.name for group in self._outputs.values() for v in group if v is not None]

    def all_attrs(self):
        """The attributes as a dict."""
        values = {}
        for key, text in self._described["attrs"].items():
            try:
                values[key] = ast.literal_eval(text)
            except (ValueError, SyntaxError):
                values[key] = text
        values["op_role"] = self._described["role"]
        if "training" in values or "batch_stats" in values:
            values["is_test"] = not values.get("training", values.get("batch_stats"))
        return values

    @property
    def attr_names(self):
        """Names of the attributes."""
        return list(self.all_attrs())

    def has_attr(self, name):
        """Whether there is such an attribute."""
        return name in self.all_attrs()

    def attr(self, name):
        """The value of attribute `name`.

        Raises:
            ValueError: there is none.
        """
        values = self.all_attrs()
        if name not in values:
            raise ValueError(
                f"[Operator.attr] '{self.type}' has no attribute '{name}': it has {list(values)}."
                " Do this: use one of these."
            )
        return values[name]

    @property
    def callstack(self):
        """The line of the user's program that made it, 'file.py:12'."""
        return self._described["location"]

    def to_string(self, throw_on_error=False):
        """The operation in one line."""
        _check_details("Operator", throw_on_error, False)

        def group(table):
            parts = (
                f"{k}={[v.name for v in values if v is not None]}" for k, values in table.items()
            )
            return ", ".join(parts)

        attrs = ", ".join(f"{k} = {v}" for k, v in self.all_attrs().items())
        inputs = f"inputs={{{group(self._inputs)}}}"
        return f"{{{group(self._outputs)}}} = {self.type}({inputs}, {attrs})"

    def __repr__(self):
        return self.to_string()

    __str__ = __repr__


def switch_main_program(program):
    """Makes `program` the one that calls are added to; returns the one before."""
    before = mode.default_main_program()
    mode.set_default_programs(program, mode.default_startup_program())
    return before


def switch_startup_program(program):
    """Makes `program` the one that initializers are added to; returns the one before."""
    before = mode.default_startup_program()
    mode.set_default_programs(mode.default_main_program(), program)
    return before
