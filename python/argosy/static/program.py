"""Programs as the static API shows them: Program, Block, Operator."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy._programs.registry import program_of, register  # noqa: F401
from argosy._programs.representation import REPRESENTATION
from argosy._programs.scope import set_state, set_states  # noqa: F401
from argosy._support import check_choice, no_effect, only_known, unsupported
from argosy.base.parameter import Parameter
from argosy.tensor.program_value import to_text

from . import appending, insertion, mode, state
from .ir_mapping import IrMapping
from .old_program import OldBlockForms, OldForms
from .operator import InputOperation, Operator, _check_details


class Program(OldForms):
    """A computation: inputs, operations and the names of the state they read and write.

    Calls under :func:`program_guard` are added to it; :class:`Executor` runs it. Two are there from
    the start, :func:`default_main_program` and :func:`default_startup_program`.

    Example:
        >>> argosy.enable_static()
        >>> main = argosy.static.Program()
        >>> with argosy.static.program_guard(main):
        ...     x = argosy.static.data("x", [2, 3], "float32")
        ...     y = argosy.static.nn.fc(x, 1)
        >>> main.num_ops(), main.parameters_num(), len(main.all_parameters()), len(main.blocks)
        (2, 2, 2, 1)
        >>> main.global_block().idx, main.current_block().idx, main.block(0).idx
        (0, 0, 0)
        >>> weight, bias = main.get_all_parameter_values()
        >>> main.get_parameter_value_by_name(weight.name) is None
        False
        >>> main.get_output_value_by_name(y.name).name == y.name
        True
        >>> x.name in [v.name for v in main.list_vars()]
        True
        >>> main.global_seed(7)
        >>> main.random_seed
        7
        >>> test = main.clone(for_test=True)
        >>> test.set_is_test_attr()
        >>> test.set_parameters_from(main)
        >>> len(main.to_string().splitlines()) > 3
        True
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
        self._exchanges = []  # how gradients are averaged over processes once there are updates
        self._fleet_opt = None  # a dict once fleet has divided the Program (see fleet.minimize)
        self._role = 0
        self._seed = 0
        self._family = object()  # shared by clones: their values have the same ids
        self._common_ids = 0  # below this number
        self._described = (None, None)
        self._insertion = None  # where operations are put that calls add; at the end if None
        self._remarks = {}  # attributes without effect that programs gave operations, by these' keys
        self._plans = {}
        self._is_start_up_program_ = False

    def _exchange_gradients(self, pairs):
        """Lets updates that were added for (parameter, gradient) pairs read what `_exchanges` make of these."""
        for exchange in self._exchanges:
            exchange.average(self._handle, pairs)

    # ---- copies -------------------------------------------------------------------------------

    def clone(self, for_test=False):
        """A copy. Parameters and other state are found by name, so both share them in a scope.

        Args:
            for_test (bool | pir.IrMapping): Leave out gradients and optimizers, switch dropout and
                batch normalization to evaluation. Call it before ``optimizer.minimize`` or after,
                the result is the same. A mapping takes what values of the copy stand for those here.

        Returns:
            Program: The copy.
        """
        if isinstance(for_test, IrMapping):
            copy = self.clone()
            for_test._fill(self, copy)
            return copy
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
        copy._exchanges = list(self._exchanges)
        copy._fleet_opt = None if self._fleet_opt is None else dict(self._fleet_opt)
        copy._is_start_up_program_ = self._is_start_up_program_
        copy._family = self._family
        copy._common_ids = _core.program_value_count(self._handle)
        self._common_ids = max(self._common_ids, copy._common_ids)
        return copy

    def set_parameters_from(self, program):
        """Takes the parameters and other state of another Program over, found by name; those of this
        one that have such a name become them.

        Args:
            program (Program): The other one.

        Raises:
            TypeError: It is none.
        """
        if not isinstance(program, Program):
            raise TypeError(
                f"[Program.set_parameters_from] program: expected a Program, got"
                f" {type(program).__name__}. Do this: pass a static.Program."
            )
        self._states.update(program._all_states())

    def get_value_by_op_id(self, op_ids):
        """The variables that operations make.

        Args:
            op_ids (int | list[int]): Numbers of the operations (`Operator.id`).

        Returns:
            list[Variable]: Of all of them.

        Raises:
            ValueError: there is no operation of a number.

        Example:
            >>> argosy.enable_static()
            >>> y = argosy.static.data("x", [2], "float32") * 2
            >>> main = argosy.static.default_main_program()
            >>> [v.name == y.name for v in main.get_value_by_op_id([0])]
            [True]
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
        insertion.settle(self)
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
        """The parameters, trained or not.

        Returns:
            list[Parameter]: In order of creation.
        """
        return [v for v in self._all_states().values() if isinstance(v, Parameter)]

    def list_vars(self):
        """All variables: inputs, parameters and other state, results of operations.

        Returns:
            Iterator[Variable]: Each name once.
        """
        seen = set()
        for block in self.blocks:
            for variable in block.vars.values():
                if variable.name not in seen:
                    seen.add(variable.name)
                    yield variable

    def global_block(self):
        """The outermost block.

        Returns:
            Block: It.
        """
        return Block(self, 0, -1, self._description())

    def current_block(self):
        """The block that calls are added to.

        Returns:
            Block: The outermost.
        """
        return self.global_block()

    def block(self, index):
        """A block.

        Args:
            index (int): Its number.

        Returns:
            Block: It.
        """
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
        """The number of operations in all blocks.

        Returns:
            int: That.
        """
        return sum(len(b.ops) for b in self.blocks)

    def parameters_num(self):
        """The number of parameters.

        Returns:
            int: That.
        """
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
        """Sets random_seed of this Program.

        Args:
            seed (int): Where its random numbers begin; 0: they follow the process's generator.
        """
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
        """A parameter.

        Args:
            name (str): Its name.

        Returns:
            Parameter | None: None if there is none of that name.
        """
        return next((p for p in self.all_parameters() if p.name == name), None)

    def get_all_parameter_values(self):
        """The parameters.

        Returns:
            list[Parameter]: In order of creation.
        """
        return self.all_parameters()

    def get_output_value_by_name(self, name):
        """The newest variable of a name.

        Args:
            name (str): It.

        Returns:
            Variable | None: None if there is none of that name.
        """
        return self._find(name)

    # ---- state --------------------------------------------------------------------------------

    def state_dict(self, mode="all", scope=None):
        """The values in a scope of the parameters and other persistable state.

        Args:
            mode (str): 'param' for parameters, 'opt' for the rest, 'all'.
            scope (Scope, optional): The global scope if None.

        Returns:
            dict: Values by name.

        Raises:
            ValueError: another mode.

        Example:
            >>> argosy.enable_static()
            >>> weight = argosy.create_parameter([2], "float32", name="w")
            >>> _ = argosy.static.Executor().run(argosy.static.default_startup_program())
            >>> main = argosy.static.default_main_program()
            >>> main.set_state_dict({"w": np.float32([1, 2])})
            >>> np.array(main.state_dict()["w"]).tolist()
            [1.0, 2.0]
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
        """Puts values into the variables of a scope that this Program's state is found in.

        Args:
            state_dict (dict): Tensors or arrays by name; names that are not of this Program are
                warned of and passed over.
            scope (Scope, optional): The global scope if None.

        Raises:
            TypeError: state_dict is none.
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
        set_states([(handles[k], v) for k, v in state_dict.items() if k in handles], scope)
        for name in (k for k in state_dict if k not in handles):
            warnings.warn(
                f"[Program.set_state_dict] the Program has no state '{name}'; it is passed over.",
                stacklevel=2,
            )

    # ---- text ---------------------------------------------------------------------------------

    def to_string(self, throw_on_error=False, with_details=False):
        """The variables and operations of all blocks for people.

        Args:
            throw_on_error (bool): Has no effect; True gives a warning.
            with_details (bool): Has no effect; True gives a warning.

        Returns:
            str: Lines of text.
        """
        return "\n".join(b.to_string(throw_on_error, with_details) for b in self.blocks) + "\n"

    def __repr__(self):
        return self.to_string()

    __str__ = __repr__


# Arguments that say of which kind a variable is: it is of the kind that its operation makes.
_OF_KINDS = ("type", "lod_level", "capacity", "need_check_feed", "belong_to_optimizer")


class Block(OldBlockForms):
    """A list of operations and the variables they use. `Program.block` and `Program.global_block` give blocks.

    Args:
        program (Program): Whose.
        index (int): Its number.
        parent (int): The number of the block around it, -1 for none.
        described (object): What the core says of it.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.static.nn.fc(x, 1)
        >>> block = argosy.static.default_main_program().global_block()
        >>> block.var("x").name, block.has_var("z"), len(block.all_parameters())
        ('x', False, 2)
        >>> out = block.create_var(name="out", shape=[2, 1], dtype="float32")
        >>> block.append_op(type="relu", inputs={"X": y}, outputs={"Out": out}).type
        'relu'
        >>> block.create_parameter(name="w", shape=[3]).name
        'w'
        >>> "relu" in block.to_string()
        True
        >>> block.move_op(block.ops[-1], len(block.ops) - 1)
        >>> block.remove_op(block.ops[-1])
        >>> "relu" in block.to_string()
        False
    """

    def __init__(self, program, index, parent, described):
        self.program = program
        self.idx = index
        self.parent_idx = parent
        self._described = described

    @property
    def desc(self):
        """The block: there is no other description of it."""
        return self

    def _fresh(self):
        return self.program._description() if self.idx == 0 else self._described

    @property
    def ops(self):
        """The operations, in order."""
        first = self._inputs()
        return first + [
            Operator(self, o, i) for i, o in enumerate(self._fresh()["operations"], len(first))
        ]

    def _inputs(self):
        """Inputs and state as operations, where they are shown as such."""
        if self.idx != 0 or not REPRESENTATION["inputs"]:
            return []
        values = [*self._fresh()["arguments"], *self.program._all_states().values()]
        return [InputOperation(self, v, i) for i, v in enumerate(values)]

    def __eq__(self, other):
        if not isinstance(other, Block):
            return NotImplemented
        return self.program is other.program and self.idx == other.idx

    def __hash__(self):
        return hash((id(self.program), self.idx))

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
        """A variable of the block.

        Args:
            name (str): Its name.

        Returns:
            Variable: It.

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
        """Whether there is a variable of a name.

        Args:
            name (str): It.

        Returns:
            bool: That.
        """
        return (self.program._find(name) if self.idx == 0 else self.vars.get(name)) is not None

    def all_parameters(self):
        """The parameters of the Program.

        Returns:
            list[Parameter]: In order of creation.
        """
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
            persistable (bool): Whether its value is in the scope.

        Raises:
            ValueError: other arguments. NotImplementedError: is_data or error_clip.

        Returns:
            Variable: It.
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
            return state.make_variable(
                name, shape, dtype, first, program=self.program, stop_gradient=stop_gradient
            )
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

        Returns:
            Parameter: It.
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

        Returns:
            Operator: It.
        """
        only_known("Block.append_op", kwargs, ("stop_gradient", "inplace_map"))
        stop = bool(kwargs.get("stop_gradient", False))
        with mode.recording(self.program):
            appending.append(self, type, inputs or {}, outputs or {}, attrs or {}, stop)
        return self.ops[-1]

    def remove_op(self, op):
        """Takes out an operation.

        Args:
            op (Operator): Whose results nobody uses.

        Raises:
            ValueError: One is used.
        """
        _core.program_remove_operation(self.program._handle, op._handle())

    def _remove_op(self, index, sync=True):
        no_effect("Block._remove_op", "there is one Program, changed at once", sync=(sync, True))
        self.remove_op(self.ops[index])

    def move_op(self, op, index):
        """Moves an operation.

        Args:
            op (Operator): It.
            index (int): Its number in the block afterwards.

        Raises:
            ValueError: Something would be used before it is made.
            IndexError: The block has no such number.
        """
        first = len(self._inputs())
        if index < first:
            raise IndexError(
                f"[Block.move_op] index: expected {first} or more, got {index}: inputs come first. Do"
                f" this: pass {first}."
            )
        _core.program_move_operation(self.program._handle, op._handle(), index - first)

    def to_string(self, throw_on_error=False, with_details=False):
        """The variables and operations for people.

        Args:
            throw_on_error (bool): Has no effect; True gives a warning.
            with_details (bool): Has no effect; True gives a warning.

        Returns:
            str: Lines of text.
        """
        _check_details("Block", throw_on_error, with_details)
        lines = [f"{{ // block_idx:{self.idx}  parent_idx:{self.parent_idx}"]
        lines += [f"    {to_text(v)}" for v in self.vars.values()]
        lines.append("")
        lines += [f"    {o.to_string()}" for o in self.ops]
        return "\n".join([*lines, "}"])

    def __repr__(self):
        return self.to_string()

    __str__ = __repr__


def switch_main_program(program):
    """Makes a Program the one that calls are added to.

    Args:
        program (Program): It.

    Returns:
        Program: The one before.

    Example:
        >>> argosy.enable_static()
        >>> main = argosy.static.Program()
        >>> before = argosy.static.program.switch_main_program(main)
        >>> argosy.static.default_main_program() is main
        True
    """
    before = mode.default_main_program()
    mode.set_default_programs(program, mode.default_startup_program())
    return before


def switch_startup_program(program):
    """Makes a Program the one that initializers are added to.

    Args:
        program (Program): It.

    Returns:
        Program: The one before.

    Example:
        >>> argosy.enable_static()
        >>> startup = argosy.static.Program()
        >>> before = argosy.static.program.switch_startup_program(startup)
        >>> argosy.static.default_startup_program() is startup
        True
    """
    before = mode.default_startup_program()
    mode.set_default_programs(mode.default_main_program(), program)
    return before
