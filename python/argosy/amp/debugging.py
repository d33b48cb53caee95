"""Finding where numbers go wrong: NaN and infinity by op, dtypes of ops, two runs side by side."""

import contextlib
import csv
import functools
import os
import random
import re
from enum import Enum

from argosy import _core
from argosy import tensor as _tensor
from argosy._core import Tensor
from argosy._op_names import PADDLE_NAMES
from argosy._support import no_effect, unsupported

__all__ = [
    "DebugMode",
    "TensorCheckerConfig",
    "check_numerics",
    "enable_operator_stats_collection",
    "disable_operator_stats_collection",
    "collect_operator_stats",
    "enable_tensor_checker",
    "disable_tensor_checker",
    "compare_accuracy",
    "check_layer_numerics",
]


class DebugMode(Enum):
    """What a check does. The values are levels of ``FLAGS_check_nan_inf_level``."""

    CHECK_NAN_INF_AND_ABORT = 0  # raise at the first NaN or infinity
    CHECK_NAN_INF = 1  # print a line for each tensor that has them
    CHECK_ALL_FOR_OVERFLOW = 2  # also for those that float16 cannot hold
    CHECK_ALL = 3  # a line for each tensor


def _names(what, value):
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        raise ValueError(
            f"[TensorCheckerConfig] {what} must be list or tuple, got {type(value).__name__}."
            " Do this: pass a list of names."
        )
    return list(value)


class TensorCheckerConfig:
    """What :func:`enable_tensor_checker` looks for.

    So that two runs can be compared, an enabled configuration seeds Paddle's, NumPy's and Python's
    random generators with :attr:`seed`.

    Args:
        enable (bool): Whether to check at all.
        debug_mode (DebugMode): What a check does.
        output_dir (str, optional): Folder of the file ``worker_cpu`` that lines are added to; by
            default they are printed.
        checked_op_list (list, optional): Check these ops only, by name (gradients: ``log_grad``).
        skipped_op_list (list, optional): Check all but these.
        debug_step (list, optional): ``[first, end]``: check from the first call of
            :func:`enable_tensor_checker` with this number (they count from 0) until before the
            last. By default always.
        stack_height_limit (int): Has no effect; another one than the default gives a warning. Errors are raised
            at the line of the program anyway.

    Raises:
        ValueError: A list is not one.
        AssertionError: debug_step is not a pair of rising numbers.

    Example:
        >>> debugging = argosy.amp.debugging
        >>> config = debugging.TensorCheckerConfig(enable=True)
        >>> config.update_and_check_step_id()
        True
        >>> config.start_check_nan_inf()
        >>> argosy.log(argosy.to_tensor([-1.0]))
        Traceback (most recent call last):
        RuntimeError
        >>> config.stop_check_nan_inf()
    """

    current_step_id = 0

    def __init__(
        self,
        enable,
        debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT,
        output_dir=None,
        checked_op_list=None,
        skipped_op_list=None,
        debug_step=None,
        stack_height_limit=1,
    ):
        if not isinstance(debug_mode, DebugMode):
            raise AttributeError(
                f"[TensorCheckerConfig] debug_mode: expected a DebugMode, got {debug_mode!r}."
            )
        self.enable = enable
        self.debug_mode = debug_mode
        self.output_dir = output_dir
        self.checked_op_list = checked_op_list
        self.skipped_op_list = skipped_op_list
        self.debug_step = debug_step
        no_effect(
            "TensorCheckerConfig",
            "errors are raised at the line of the program anyway",
            stack_height_limit=(stack_height_limit, 1),
        )
        self.stack_height_limit = stack_height_limit
        self._checked = _names("checked_op_list", checked_op_list)
        self._skipped = _names("skipped_op_list", skipped_op_list)
        self.start_step = self.end_step = None
        if steps := _names("debug_step", debug_step):
            if len(steps) != 2 or not 0 <= steps[0] < steps[1]:
                raise AssertionError(
                    "[TensorCheckerConfig] debug_step: expected [first, end] with 0 <= first < "
                    f"end, got {debug_step}."
                    " Do this: correct it."
                )
            self.start_step, self.end_step = steps
        self.initial_seed = _core.initial_seed()
        # What NumPy takes as a seed.
        self.seed = self.initial_seed if self.initial_seed < 2**32 else 123
        if enable:
            self._set_seed()

    def _set_seed(self):
        import numpy

        _tensor.seed(self.seed)
        numpy.random.seed(self.seed)
        random.seed(self.seed)

    def update_and_check_step_id(self):
        """Counts a step.

        Returns:
            bool: Whether it is to be checked.
        """
        if not self.enable:
            return False
        if self.start_step is None:
            return True
        step = TensorCheckerConfig.current_step_id
        TensorCheckerConfig.current_step_id += 1
        return self.start_step <= step < self.end_step

    def start_check_nan_inf(self):
        """Begins to check."""
        _core.set_checked_ops(self._checked, self._skipped)
        _core.set_numbers_reporter(_file_writer(self.output_dir) if self.output_dir else None)
        _core.set_flag("FLAGS_check_nan_inf_level", self.debug_mode.value)
        _core.set_flag("FLAGS_check_nan_inf", True)

    def stop_check_nan_inf(self):
        """Ends it."""
        _core.set_flag("FLAGS_check_nan_inf", False)
        _core.set_checked_ops([], [])
        _core.set_numbers_reporter(None)


def _file_writer(folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "worker_cpu")

    def write(line):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")

    return write


_config = None  # of the checks that are on


def enable_tensor_checker(checker_config):
    """Checks the results of ops, forward and backward, for NaN and infinity from now on.

    Args:
        checker_config (TensorCheckerConfig): What to check, and what to do. With `debug_step`, call
            this at the beginning of each step.

    Example:
        >>> debugging = argosy.amp.debugging
        >>> debugging.enable_tensor_checker(debugging.TensorCheckerConfig(enable=True))
        >>> argosy.log(argosy.to_tensor([-1.0]))
        Traceback (most recent call last):
        RuntimeError
        >>> debugging.disable_tensor_checker()
    """
    global _config
    if checker_config.update_and_check_step_id():
        checker_config.start_check_nan_inf()
        _config = checker_config
    elif _config is not None:
        disable_tensor_checker()


def disable_tensor_checker():
    """Undoes :func:`enable_tensor_checker`.

    Example:
        >>> argosy.amp.debugging.disable_tensor_checker()
    """
    global _config
    if _config is not None:
        _config.stop_check_nan_inf()
        _config = None
    else:
        _core.set_flag("FLAGS_check_nan_inf", False)


def check_numerics(tensor, op_type, var_name, debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT):
    """Counts NaN, infinity and zero in a tensor of floating or complex numbers.

    Args:
        tensor (Tensor): What to look at.
        op_type, var_name (str): Named in errors and lines.
        debug_mode (DebugMode): What to do; see there.

    Returns:
        (Tensor, Tensor): int64 ``[NaN, infinities, zeros]``, and float32 ``[max, min, mean]``;
        minimum and maximum leave NaN out.

    Raises:
        RuntimeError: There is NaN or infinity, and `debug_mode` is CHECK_NAN_INF_AND_ABORT.
        TypeError: Not a tensor, or of another dtype.

    Example:
        >>> x = argosy.to_tensor([0.0, 1.0])
        >>> counts, values = argosy.amp.debugging.check_numerics(x, "exp", "x")
        >>> counts.tolist(), values.tolist()
        ([0, 0, 1], [1.0, 0.0, 0.5])
    """
    nans, infs, zeros, *values = _core.check_numbers(tensor, op_type, var_name, debug_mode.value)
    return (
        _tensor.to_tensor([nans, infs, zeros], dtype="int64"),
        _tensor.to_tensor(values, dtype="float32"),
    )


def check_layer_numerics(func):
    """Decorator of a Layer's ``forward``: raises where an op inside makes NaN or infinity.

    Args:
        func (callable): The forward.

    Returns:
        callable: What checks.

    Raises:
        RuntimeError: The first argument is not a Tensor; or as FLAGS_check_nan_inf does.

    Example:
        >>> class Log(argosy.nn.Layer):
        ...     @argosy.amp.debugging.check_layer_numerics
        ...     def forward(self, x):
        ...         return argosy.log(x)
        >>> Log()(argosy.to_tensor([1.0])).tolist()
        [0.0]
        >>> Log()(argosy.to_tensor([-1.0]))
        Traceback (most recent call last):
        RuntimeError
    """

    @functools.wraps(func)
    def checked(self, *args, **kwargs):
        if not args or not isinstance(args[0], Tensor):
            raise RuntimeError(
                "[check_layer_numerics] the first input of this layer must be a Tensor, got "
                f"{type(args[0]).__name__ if args else 'nothing'}."
                " Do this: call the layer with a Tensor first."
            )
        names = ("FLAGS_check_nan_inf", "FLAGS_check_nan_inf_level")
        saved = [_core.get_flag(name) for name in names]
        try:
            _core.set_flag(names[1], DebugMode.CHECK_NAN_INF_AND_ABORT.value)
            _core.set_flag(names[0], True)
            return func(self, *args, **kwargs)
        finally:
            for name, value in zip(names, saved):
                _core.set_flag(name, value)

    return checked


# The calls that were counted last, as Paddle gives them to programs: its name of the op -> numbers in FP16,
# BF16, FP32 and others, with commas between them.
_counted = {}


def enable_operator_stats_collection():
    """Counts calls of ops by the dtype that they compute in, until
    :func:`disable_operator_stats_collection` prints them.

    Example:
        >>> import contextlib, io
        >>> argosy.amp.debugging.enable_operator_stats_collection()
        >>> x = argosy.ones([2])
        >>> with contextlib.redirect_stdout(io.StringIO()) as text:
        ...     argosy.amp.debugging.disable_operator_stats_collection()
        >>> "ones" in text.getvalue()
        True
    """
    _counted.clear()
    _core.start_dtype_counts()


def disable_operator_stats_collection():
    """Prints the table of calls since :func:`enable_operator_stats_collection`.

    Example:
        >>> import contextlib, io
        >>> argosy.amp.debugging.enable_operator_stats_collection()
        >>> with contextlib.redirect_stdout(io.StringIO()) as text:
        ...     argosy.amp.debugging.disable_operator_stats_collection()
        >>> "op count: 0" in text.getvalue()
        True
    """
    counts = _core.stop_dtype_counts()
    for name, *calls in counts:
        _counted[PADDLE_NAMES.get(name.rstrip("_"), name)] = ",".join(map(str, calls))
    heads = ("FP16 Calls", "BF16 Calls", "FP32 Calls", "Other Calls")
    width = max([40, *(len(name) for name, *_ in counts)])
    lines = [" op list ".center(width + 72, "-")]
    lines.append("  " + " | ".join(["Op Name".ljust(width), *(head.ljust(15) for head in heads)]))
    for name, *calls in counts:
        lines.append("  " + " | ".join([name.ljust(width), *(str(n).ljust(15) for n in calls)]))
    lines.append(f" op count: {len(counts)} ".center(width + 72, "-"))
    print("\n".join(lines))


def get_low_precision_op_list():
    """The calls that were counted last.

    Returns:
        dict[str, str]: Paddle's name of the op -> its calls in FP16, BF16, FP32 and others: "0,0,2,0".
    """
    return dict(_counted)


def clear_low_precision_op_list():
    """Forgets them."""
    _counted.clear()


@contextlib.contextmanager
def collect_operator_stats():
    """Counts calls of ops by the dtype that they compute in within a ``with`` block, and prints them at its end.

    Returns:
        A context manager.

    Example:
        >>> import contextlib, io
        >>> text = io.StringIO()
        >>> with contextlib.redirect_stdout(text), argosy.amp.debugging.collect_operator_stats():
        ...     x = argosy.ones([2]) + argosy.ones([2])
        >>> "op count: 2" in text.getvalue()
        True
    """
    enable_operator_stats_collection()
    try:
        yield
    finally:
        disable_operator_stats_collection()


_LINE = re.compile(
    r"\[device=(?P<device>[^,]*), op=(?P<op>[^,]*), tensor=(?P<tensor>[^,]*), "
    r"dtype=(?P<dtype>[^\]]*)\], numel=(?P<numel>\d+),(?: num_nan=(?P<num_nan>\d+), "
    r"num_inf=(?P<num_inf>\d+),)? num_zero=(?P<num_zero>\d+), max=(?P<max>[^,]*), "
    r"min=(?P<min>[^,]*), mean=(?P<mean>\S*)"
)
_COLUMNS = ("dtype", "numel", "num_nan", "num_inf", "num_zero", "max", "min", "mean")


def _read_dump(folder):
    """The lines of a run: (op, which call of it) -> columns, in their order."""
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"[compare_accuracy] there is no folder {folder!r}."
            " Do this: pass the folder that a TensorCheckerConfig wrote to."
        )
    found, calls = {}, {}
    for name in sorted(os.listdir(folder)):
        if not name.startswith("worker_"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for match in filter(None, map(_LINE.search, file)):
                op = match["op"]
                calls[op] = calls.get(op, -1) + 1
                found[op, calls[op]] = {key: match[key] or 0 for key in _COLUMNS}
    return found


def compare_accuracy(
    dump_path, another_dump_path, output_filename, loss_scale=1, dump_all_tensors=False
):
    """Sets two runs of one program side by side, from the lines that ``TensorCheckerConfig(...,
    debug_mode=DebugMode.CHECK_ALL, output_dir=..)`` wrote.

    Args:
        dump_path, another_dump_path (str): Folders of the runs, say in float32 and in float16.
        output_filename (str): The table to write: a row for each call of an op with the columns of
            both runs and whether only one of them has NaN or infinity. It is CSV.
        loss_scale (float): By which the means of gradients of the second run are divided.
        dump_all_tensors (bool): Not supported: there are no dumps of tensors.

    Raises:
        FileNotFoundError: A folder is missing.
        NotImplementedError: dump_all_tensors.

    Example:
        >>> argosy.amp.debugging.compare_accuracy("/no/such", "/folder", "table.csv")
        Traceback (most recent call last):
        FileNotFoundError
    """
    unsupported("compare_accuracy", "leave it out", dump_all_tensors=(dump_all_tensors, False))
    first, second = _read_dump(dump_path), _read_dump(another_dump_path)
    head = ["op", "call", *(f"{c}_1" for c in _COLUMNS), *(f"{c}_2" for c in _COLUMNS)]
    with open(output_filename, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([*head, "difference"])
        for key in dict.fromkeys([*first, *second]):
            rows = [first.get(key), second.get(key)]
            cells = [row[c] if row else "" for row in rows for c in _COLUMNS]
            table.writerow([*key, *cells, _difference(key[0], *rows, loss_scale)])


def _difference(op, a, b, loss_scale):
    if a is None or b is None:
        return "only in the " + ("second" if a is None else "first")
    bad = [int(row["num_nan"]) + int(row["num_inf"]) > 0 for row in (a, b)]
    if bad[0] != bad[1]:
        return "not finite in the " + ("first" if bad[0] else "second")
    mean = float(b["mean"]) / (loss_scale if op.endswith("_grad") else 1)
    return f"{mean - float(a['mean']):e}"
