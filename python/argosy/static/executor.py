"""Executor: runs Programs."""

from __future__ import annotations

import warnings

from argosy import _core
from argosy._core import Tensor
from argosy._programs.registry import program_by_id
from argosy._support import dtype_name, is_symbolic, need_type, no_effect
from argosy.device import device_guard
from argosy.device.place import Place, checked_place, current

from . import mode
from .program import Program
from .scope import DenseTensor, Scope, global_scope

_PLANS = 64  # ways of calling one Program that are remembered


class MissingFeedError(KeyError, ValueError):
    """An input that a run needs was not fed."""

    def __str__(self):
        return Exception.__str__(self) if len(self.args) != 1 else str(self.args[0])


class _Plan:
    """One way of calling a Program: what is fed and what is fetched."""

    __slots__ = ("handle", "inputs", "fetches", "kept", "by_ranks")

    def __init__(self, handle, inputs, fetches, kept):
        self.handle = handle
        self.inputs = inputs  # (name, shape, dtype) in the order of the Program
        self.fetches = fetches
        self.kept = kept  # what the key names by id
        self.by_ranks = {}  # the same for feeds of fewer dimensions; None where that cannot be

    def of_ranks(self, feeds):
        """This plan for feeds of fewer dimensions than declared, and what to feed it."""
        ranks = tuple(len(tensor.shape) for tensor in feeds)
        if ranks not in self.by_ranks:
            self.by_ranks[ranks] = _with_ranks(self, ranks)
        plan = self.by_ranks[ranks]
        if plan is not None:
            return plan, feeds
        return self, [_filled(tensor, *form) for tensor, form in zip(feeds, self.inputs)]


def _execute(executor, plan, feeds, scope):
    """The one place where a Program is run."""
    return _core.executor_run(executor, plan.handle, feeds, plan.fetches, scope._handle)


class Executor:
    """Runs Programs on one device.

    Args:
        place (Place | str, optional): The device; the current one if None. Everything that is fed goes
            there, and so does what a scope holds elsewhere, once.

    Raises:
        ValueError: place is of another kind, or there is no such device.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 2], "float32")
        >>> y = argosy.static.nn.fc(x, 1)
        >>> exe = argosy.static.Executor("cpu")
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> (value,) = exe.run(feed={"x": np.ones([3, 2], "float32")}, fetch_list=[y])
        >>> value.shape
        (3, 1)
        >>> exe.flush()
        >>> exe.close()
    """

    def __init__(self, place=None):
        if place is not None and not isinstance(place, (str, Place)):
            raise ValueError(
                f"[Executor] place: expected CPUPlace, CUDAPlace, a name such as 'cpu' or None, got"
                f" {place!r}."
                " Do this: leave it out, or pass one of them."
            )
        self.place = None if place is None else checked_place(place, "Executor")
        self._closed = False
        self._executor = _core.executor_new(_PLANS)
        self._threads = None  # the one of train_from_dataset

    def close(self):
        """Ends the use of this Executor."""
        self._closed = True
        _core.executor_clear(self._executor)
        if self._threads is not None:
            _core.executor_clear(self._threads)

    def flush(self):
        """Waits for runs that are under way: there are none, as runs end before they return."""

    def run(self, program=None, feed=None, fetch_list=None, feed_var_name="feed",
            fetch_var_name="fetch", scope=None, return_numpy=True, use_program_cache=False,
            use_prune=False):  # fmt: skip
        """Runs all operations of a Program once.

        Args:
            program (Program | CompiledProgram, optional): default_main_program() if None.
            feed (dict, optional): Values of the inputs by name: NumPy arrays, lists, Tensors. Names
                that the Program does not have are passed over. Sizes at the end may be missing: [8] is
                taken for [-1, 1], and the Program computes with [8]; with [8, 1] where an operation
                does not take [8].
            fetch_list (list, optional): Variables, or their names, whose values are returned.
            scope (Scope, optional): Where parameters and other state are; the global one if None.
            return_numpy (bool): NumPy arrays, or DenseTensors, which know the lengths of the sequences
                whose rows they are.
            use_prune (bool): Only compute what is fetched: state is not written, so nothing is
                trained, and results of operations may be fed as well.
            feed_var_name, fetch_var_name, use_program_cache: Have no effect: what is fed and fetched is
                no variable, and plans are always kept.

        Returns:
            list: One value for each entry of fetch_list.

        Raises:
            ValueError: an input is missing, or has another shape or dtype than its variable.
            TypeError: feed is no dict, or fetch_list holds something else.
            RuntimeError: a name to fetch is unknown, or state has no value (startup did not run).
        """
        if use_program_cache or feed_var_name != "feed" or fetch_var_name != "fetch":
            no_effect(
                "Executor.run", "plans are always kept, and what is fed and fetched is no variable",
                use_program_cache=(use_program_cache, False), feed_var_name=(feed_var_name, "feed"),
                fetch_var_name=(fetch_var_name, "fetch"),
            )  # fmt: skip
        place, here = self.place, current.place
        if place is not None and (place._kind != here._kind or place._index != here._index):
            with device_guard(place):
                return self.run(
                    program, feed, fetch_list, feed_var_name, fetch_var_name, scope, return_numpy,
                    use_program_cache, use_prune,
                )  # fmt: skip
        program, scope = self._checked("run", program, scope)
        feed = _one_dict(feed)
        for loader in program._loaders:
            feed = _one_dict(loader._feed(feed))
        fetch_list = _flat(fetch_list)
        lengths = [] if return_numpy else _lengths_of_rows(program, feed, fetch_list)
        plan = _plan(program, feed, fetch_list + [v for v in lengths if v is not None], use_prune)
        recording = mode.is_recorded()
        if recording:
            _core.program_begin(None)
        try:
            cut = []
            feeds = [_fed(feed[name], name, size, kind, cut) for name, size, kind in plan.inputs]
            if cut:
                plan, feeds = plan.of_ranks(feeds)
            for update in program._before_run:
                update(scope)
            if program._seed:
                values = _seeded(self._executor, program._seed, plan, feeds, scope)
            else:
                values = _execute(self._executor, plan, feeds, scope)
            if return_numpy:
                values = [
                    _core.ops.rows_to_dense(v) if v._layout == "row_sparse" else v for v in values
                ]
        finally:
            if recording:
                _core.program_end()
        if return_numpy:
            return [_core.to_numpy(v, False) for v in values]  # nobody else has their memory
        return _as_batches(values, lengths)

    def _checked(self, name, program, scope):
        """The Program and the scope of a call of method `name`."""
        if self._closed:
            raise RuntimeError(f"[Executor.{name}] this Executor is closed. Do this: make another.")
        program = mode.default_main_program() if program is None else program
        program = getattr(program, "_program", program)
        if not isinstance(program, Program):
            raise AttributeError(
                f"[Executor.{name}] program: expected static.Program or CompiledProgram, got"
                f" '{type(program).__name__}'."
            )
        scope = global_scope() if scope is None else scope
        if not isinstance(scope, Scope):
            raise TypeError(
                f"[Executor.{name}] scope: expected a Scope, got {type(scope).__name__}."
                " Do this: leave it out, or pass static.Scope()."
            )
        return program, scope

    def train_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False,
                           fetch_list=None, fetch_info=None, print_period=100,
                           fetch_handler=None):  # fmt: skip
        """Runs the Program once for each batch of a data set, on several threads.

        The threads share all state of the scope and write it without waiting for each other
        (Hogwild; Recht et al. 2011), so with more than one of them results vary a little from run to
        run. Each runs its operations alone: take as many threads as cores.

        Args:
            program (Program | CompiledProgram, optional): default_main_program() if None.
            dataset (DatasetBase): QueueDataset or InMemoryDataset; its variables are fed by name. An
                iterable of feed dicts works too, on this thread.
            scope (Scope, optional): Where parameters and other state are; the global one if None.
            thread (int): Number of threads; 0: as many as the data set says.
            debug (bool): Print progress, and a summary at the end, also without fetch_list.
            fetch_list (list, optional): Variables whose values are printed every so many batches,
                with the progress.
            fetch_info (list, optional): What they are called there; their names if None.
            print_period (int): How many batches, of all threads together.
            fetch_handler (FetchHandler, optional): Called from time to time with values of variables.

        Raises:
            ValueError: a line of the data is bad, or a batch does not fit the Program.
            RuntimeError: no data set, a pipe_command failed, or an operation failed.
            TimeoutError: nothing moved for the timeout of the data set; the text says where.

        Example:
            >>> argosy.enable_static()
            >>> x = argosy.static.data("x", [-1, 1], "float32")
            >>> loss = argosy.static.nn.fc(x, 1).mean()
            >>> _ = argosy.optimizer.SGD(0.1).minimize(loss)
            >>> exe = argosy.static.Executor()
            >>> _ = exe.run(argosy.static.default_startup_program())
            >>> batches = [{"x": np.ones([2, 1], "float32")}] * 3
            >>> exe.train_from_dataset(dataset=batches)
        """
        from .train import run_dataset

        run_dataset(self, program, dataset, scope, thread, debug, fetch_list, fetch_info,
                    print_period, fetch_handler, infer=False)  # fmt: skip

    def start_heter_trainer(self, program=None, scope=None, debug=False, fetch_list=None,
                            fetch_info=None, print_period=100, fetch_handler=None):  # fmt: skip
        """Runs a part of a Program that fleet divided between kinds of devices; there is none here.

        Args:
            program, scope, debug, fetch_list, fetch_info: As of train_from_dataset.
            print_period, fetch_handler: As of train_from_dataset.

        Raises:
            RuntimeError: always; a Program is not divided between kinds of devices.

        Example:
            >>> argosy.static.Executor().start_heter_trainer()
            Traceback (most recent call last):
            RuntimeError
        """
        raise RuntimeError(
            "(PreconditionNotMet) [Executor.start_heter_trainer] needs a Program that was divided"
            " between kinds of devices: there is one kind. Do this: train with train_from_dataset,"
            " or with parameter servers (docs/parameter_server.md)."
        )

    def split_program_by_device(self, program):
        """The devices that a Program names for its operations: all run on one.

        Args:
            program (Program): It.

        Returns:
            None: There is nothing to say.

        Raises:
            TypeError: It is no Program.

        Example:
            >>> exe = argosy.static.Executor()
            >>> exe.split_program_by_device(argosy.static.Program()) is None
            True
        """
        if not isinstance(program, Program):
            raise TypeError(
                "[Executor.split_program_by_device] program: expected a Program, got"
                f" {type(program).__name__}. Do this: pass a static.Program."
            )
        return None

    def infer_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False,
                           fetch_list=None, fetch_info=None, print_period=100,
                           fetch_handler=None):  # fmt: skip
        """As train_from_dataset, but nothing is trained: of a Program that trains, only the forward
        part runs, in test mode. State that the forward part writes, such as the sums of
        static.auc, is written.

        Args:
            program (Program | CompiledProgram, optional): default_main_program() if None.
            dataset (DatasetBase): Or an iterable of feed dicts.
            scope (Scope, optional): Where parameters and other state are; the global one if None.
            thread (int): Number of threads; 0: as many as the data set says.
            debug (bool): Print progress, and a summary at the end, also without fetch_list.
            fetch_list (list, optional): Variables whose values are printed every so many batches.
            fetch_info (list, optional): What they are called there; their names if None.
            print_period (int): How many batches, of all threads together.
            fetch_handler (FetchHandler, optional): Called from time to time with values of variables.

        Raises:
            ValueError: a line of the data is bad, or a batch does not fit the Program.
            RuntimeError: no data set, a pipe_command failed, or an operation failed.

        Example:
            >>> argosy.enable_static()
            >>> x = argosy.static.data("x", [-1, 1], "float32")
            >>> y = x * 2
            >>> exe = argosy.static.Executor()
            >>> exe.infer_from_dataset(dataset=[{"x": np.ones([2, 1], "float32")}])
        """
        from .train import run_dataset

        run_dataset(self, program, dataset, scope, thread, debug, fetch_list, fetch_info,
                    print_period, fetch_handler, infer=True)  # fmt: skip


def _one_dict(feed):
    if feed is None:
        return {}
    if isinstance(feed, (list, tuple)):
        if len(feed) != 1:
            raise ValueError(
                f"[Executor.run] feed: expected one dict for the one device, got a list of"
                f" {len(feed)}."
                " Do this: pass the dict."
            )
        feed = feed[0]
    if isinstance(feed, dict) and any(isinstance(v, DenseTensor) for v in feed.values()):
        feed = _with_lengths(feed)
    if not isinstance(feed, dict):
        raise TypeError(f"feed requires dict as its Parameter. But you passed in {type(feed)}")
    return feed


def _with_lengths(feed):
    """feed, and the lengths of the sequences that come with it."""
    found = dict(feed)
    for name, value in feed.items():
        if isinstance(value, DenseTensor) and value._lengths is not None:
            found[f"{name}@LENGTHS"] = value._lengths
    return found


def _lengths_of_rows(program, feed, fetch_list):
    """For each fetched value the value that has the lengths of its sequences, or None. Empty where no
    sequences are fed."""
    if not any(name.endswith("@LENGTHS") for name in feed):
        return []
    from .nn.sequence import lengths_of

    values = [program._find(v) if isinstance(v, str) else v for v in fetch_list]
    return [lengths_of(program, v) if is_symbolic(v) else None for v in values]


def _as_batches(values, lengths):
    """What was fetched, as DenseTensors; at the end of values are the `lengths` of those that have some."""
    made = [
        DenseTensor(v) for v in values[: len(values) - len([v for v in lengths if v is not None])]
    ]
    rest = iter(values[len(made) :])
    for one, of_rows in zip(made, lengths):
        if of_rows is None:
            continue
        own = next(rest).tolist()
        if one.shape()[:1] == [sum(own)]:  # else it was not computed row by row
            one.set_recursive_sequence_lengths([own])
    return made


def _flat(fetch_list):
    if fetch_list is None:
        return []
    if isinstance(fetch_list, (str, Tensor)):
        return [fetch_list]
    found = []
    for item in fetch_list:
        if isinstance(item, (list, tuple)):
            found += _flat(item)
        elif isinstance(item, (str, Tensor)):
            found.append(item)
        elif item is not None and type(item).__name__ != "Operator":
            raise TypeError(
                f"Require fetch_list[{len(found)}] 's type shall be one of (Variable, str), but"
                f" received {type(item).__name__}."
            )
    return found


def _plan(program, feed, fetch_list, prune):
    version = _core.program_version(program._handle)
    names = tuple(v if isinstance(v, str) else id(v) for v in fetch_list)
    key = (version, tuple(feed), names, prune)
    plan = program._plans.get(key)
    if plan is None:
        if len(program._plans) >= _PLANS:
            program._plans.clear()
        plan = program._plans[key] = _make_plan(program, feed, fetch_list, prune)
    return plan


def _make_plan(program, feed, fetch_list, prune):
    handle = program._handle
    fetches = [resolve(program, v) for v in fetch_list]
    inputs = _core.program_inputs(handle)
    names = [v.name for v in inputs]
    if prune:
        found = [_core.program_find(handle, name) for name in feed if isinstance(name, str)]
        kinds = ("input", "result")
        inputs = [v for v in found if v is not None and _core.program_about(v)[0] in kinds]
        names += [v.name for v in inputs if v.name not in names]
    unknown = [name for name in feed if name not in names]
    if unknown:
        warnings.warn(
            f"The variable {unknown[0]} is not found in program. It is not declared or is pruned.",
            stacklevel=4,
        )
    again = {name for name in names if names.count(name) > 1}  # declared twice, see static.data
    if prune or again or any(name not in feed for name in names):
        whole, fed = handle, [v for v in inputs if v.name in feed and v.name not in again]
        handle, missing = _core.program_extract(whole, fed, fetches, not prune)
        if again:
            declared = _core.program_inputs(whole)
            fed += [declared[i] for i in missing if declared[i].name in feed]
            handle, missing = _core.program_extract(whole, fed, fetches, not prune)
        if missing:
            raise _missing(program, _core.program_inputs(whole)[missing[0]].name, names, feed)
        described = _core.program_describe(handle)["outputs"]
        fetches = [value for _, value in described]
        inputs = fed
    forms = [(v.name, [int(s) for s in v.shape], v.dtype) for v in inputs]
    return _Plan(handle, forms, fetches, list(fetch_list))


def _missing(program, name, names, feed):
    v = _core.program_first(program._handle, name)
    if name.endswith("@LENGTHS"):
        base = name[: -len("@LENGTHS")]
        return MissingFeedError(
            f"[Executor.run] '{base}' is a batch of sequences, fed without their lengths. Do this:"
            " feed base.create_lod_tensor(data, [lengths], place)."
        )
    return MissingFeedError(
        f"[Executor.run] input '{name}' is not fed: expected {dtype_name(v.dtype)} of shape"
        f" {list(v.shape)}, got nothing. The Program has the inputs {names}, fed are"
        f" {[k for k in feed if isinstance(k, str)]}. Do this: add '{name}' to feed."
    )


def resolve(program, value):
    """The handle in `program` of what a fetch list names: a variable of it or of a relative."""
    if isinstance(value, str):
        found = program._find(value)
        if found is None or (not found._symbolic and value in program._variables):
            raise RuntimeError(
                f"[Executor.run] {value} is no variable of this Program. Do this: fetch one of its"
                f" variables; str(program) lists them."
            )
        return found
    owner = _core.program_id_of_value(value)
    if owner is None or owner == _core.program_id(program._handle):
        return value

    kind, number, _, _ = _core.program_about(value)
    relative = program_by_id(owner)
    if kind != "state" and relative is not None and relative._family is program._family:
        if number < program._common_ids:
            found = _core.program_counterpart(program._handle, value)
            if found is not None:
                return found
    found = program._find(value.name)
    if found is None:
        raise RuntimeError(
            f"[Executor.run] {value.name} is a variable of another Program. Do this: fetch one of"
            " this Program's variables, by name if it is a copy."
        )
    return found


def _with_ranks(plan, ranks):
    """A plan of the Program as if its inputs had been declared with so many dimensions; None where an
    operation does not take that."""
    try:
        handle = _core.program_with_ranks(plan.handle, list(ranks))
    except (ValueError, TypeError, RuntimeError, IndexError):
        return None
    forms = [(name, shape[:rank], dtype) for (name, shape, dtype), rank in zip(plan.inputs, ranks)]
    fetches = [
        v if _core.program_about(v)[0] == "state" else _core.program_counterpart(handle, v)
        for v in plan.fetches
    ]
    return _Plan(handle, forms, fetches, plan.kept)


def _filled(tensor, name, shape, dtype):
    """tensor with the sizes of 1 that `shape` has beyond."""
    found = list(tensor.shape)
    missing = shape[len(found) :]
    if any(size not in (1, -1) for size in missing):
        raise _misfit(name, shape, found)
    return _core.ops.reshape(tensor, found + [1] * len(missing)) if missing else tensor


def _misfit(name, shape, found):
    return ValueError(
        f"The fed Variable '{name}' should have dimensions = {len(shape)}, shape ="
        f" {tuple(shape)}, but received fed shape {list(found)} on each device. Do this: reshape"
        " the array, or give static.data -1 where sizes vary."
    )


def _fed(value, name, shape, dtype, cut):
    """A tensor that input `name` can take. The name of one that lacks dimensions goes to `cut`."""
    if isinstance(value, DenseTensor):
        value = value._known()
    if isinstance(value, Tensor):
        if value._symbolic:
            raise TypeError(
                f"[Executor.run] '{name}' is fed a variable of a Program, which has no value. Do"
                " this: feed an array."
            )
        tensor = _brought(value)
    elif hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        tensor = _core.to_tensor(value, None, False)
        if dtype == "uint16" and tensor.dtype == "bfloat16":  # the same array in NumPy
            tensor = _core.ops.view_dtype(tensor, dtype)
    else:
        tensor = _listed(value, name, shape, dtype)
    if tensor.dtype != dtype:
        if dtype == "bfloat16" and tensor.dtype == "uint16":
            return _core.ops.view_dtype(tensor, dtype)
        raise ValueError(
            f"The data type of fed Variable '{name}' must be '{dtype_name(dtype)}', but received"
            f" '{dtype_name(tensor.dtype)}'. Do this: feed array.astype('{dtype_name(dtype)}')."
        )
    found = tensor.shape
    fits = len(found) == len(shape)
    if 0 < len(found) < len(shape):
        cut.append(name)
        fits = True
    for wanted, given in zip(shape, found):
        if wanted != given and wanted != -1:
            fits = False
    if not fits:
        raise _misfit(name, shape, found)
    return tensor


def as_numpy(tensor, copy=False):
    """The values of what a run gave without return_numpy.

    Args:
        tensor (DenseTensor | list): One, or a nest of lists of them.
        copy (bool): Whether the array gets memory of its own.

    Returns:
        numpy.ndarray | list | None: None for a tensor that holds nothing.

    Raises:
        AssertionError: It is something else.
        RuntimeError: Rows have lengths of their own, which an array cannot hold.

    Example:
        >>> scope = argosy.static.Scope()
        >>> held = scope.var("x").get_tensor()
        >>> held.set(np.float32([1, 2]), argosy.CPUPlace())
        >>> argosy.base.executor.as_numpy(held).tolist()
        [1.0, 2.0]
    """
    if isinstance(tensor, list):
        return [as_numpy(item, copy) for item in tensor]
    need_type("as_numpy", "tensor", tensor, DenseTensor, "pass a tensor of a scope or of a run")
    if tensor.recursive_sequence_lengths():
        raise RuntimeError(
            "[as_numpy] tensor: expected rows of one length, got a tensor with LoD. Do this: take it as it"
            " is, with return_numpy=False."
        )
    return None if tensor._tensor is None else _core.to_numpy(tensor._tensor, copy)


def _fetch_var(name, scope=None, return_numpy=True):
    """The value of a variable of a scope.

    Args:
        name (str): Its name.
        scope (Scope, optional): The global scope if None.
        return_numpy (bool): As an array, else as a tensor.

    Raises:
        AssertionError: name is no str, or there is no such variable.
    """
    need_type("_fetch_var", "name", name, str, "pass the name of a variable")
    found = (global_scope() if scope is None else scope).find_var(name)
    if found is None:
        raise AssertionError(
            f"[_fetch_var] cannot find '{name}' in the scope: it may not be persistable. Do this: make it so"
            " before the Program is run."
        )
    held = found.get_tensor()
    return as_numpy(held, copy=True) if return_numpy else held


def _brought(tensor):
    """The tensor on the device of the run, which is the current one."""
    place, here = tensor.place, current.place
    if place._kind == here._kind and place._index == here._index:
        return tensor
    if "null" in (place._kind, here._kind) or (
        place.is_cuda_pinned_place() and here.is_cpu_place()
    ):
        return tensor
    return tensor.to(here)


def _listed(value, name, shape, dtype):
    try:
        return _core.to_tensor(value, dtype, True)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"[Executor.run] '{name}' cannot be fed {type(value).__name__}: expected an array of"
            f" {dtype_name(dtype)} {shape}; {error}"
        ) from None


def _seeded(executor, seed, plan, feeds, scope):
    """A run that draws the numbers of `seed` and leaves the generator as it was."""
    from argosy.tensor import random

    before = random.get_rng_state()
    random.seed(seed)
    try:
        return _execute(executor, plan, feeds, scope)
    finally:
        random.set_rng_state(before)
