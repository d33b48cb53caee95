"""Checks of arguments that programs call."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy._framework import in_dynamic_mode
from argosy._programs.mode import default_main_program
from argosy._support import need_type, no_effect
from argosy.io.dataloader.generated import GeneratorLoader

from .dtype_tables import (  # noqa: F401
    _PADDLE_DTYPE_2_NUMPY_DTYPE,
    _PADDLE_PIR_DTYPE_2_NUMPY_DTYPE,
)

__all__ = ["DataFeeder"]


def convert_dtype(dtype):
    """The name of a dtype.

    Args:
        dtype (dtype | numpy.dtype | str): It.

    Returns:
        str: Such as ``'float32'``.

    Raises:
        TypeError: there is no such dtype.

    Examples:
        >>> argosy.base.data_feeder.convert_dtype(argosy.float32)
        'float32'
    """
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype).rsplit(".", 1)[-1]
    if not isinstance(getattr(_core, name, None), _core.dtype):
        raise TypeError(
            f"[convert_dtype] expected a dtype of the package or its name, got {dtype!r}. "
            "Do this: use e.g. 'float32'."
        )
    return name


def check_type(input, input_name, expected_type, op_name, extra_message=""):
    """Checks the type of an argument while a Program is built. In dynamic mode nothing is checked, as in Paddle.

    Args:
        input (object): The argument.
        input_name (str): Its name, for the message.
        expected_type (type | tuple[type]): What it may be.
        op_name (str): Whose argument it is, for the message.
        extra_message (str): Ends the message.

    Raises:
        TypeError: It is something else.

    Example:
        >>> argosy.base.data_feeder.check_type(3, "axis", int, "sum")
    """
    if in_dynamic_mode():
        return
    if not isinstance(input, expected_type):
        raise TypeError(
            f"[{op_name}] {input_name}: expected {expected_type}, got {type(input)}. Do "
            f"this: convert it. {extra_message}"
        )


def check_dtype(input_dtype, input_name, expected_dtype, op_name, extra_message=""):
    """Checks a dtype while a Program is built, as check_type does.

    Args:
        input_dtype (dtype | str): It.
        input_name (str): Whose it is, for the message.
        expected_dtype (str | list[str]): Names of what it may be.
        op_name (str): Who asks, for the message.
        extra_message (str): Ends the message.

    Raises:
        TypeError: It is another one.

    Example:
        >>> argosy.base.data_feeder.check_dtype("float32", "x", ["float32", "float64"], "sum")
    """
    if in_dynamic_mode():
        return
    name = convert_dtype(input_dtype)
    expected = [expected_dtype] if isinstance(expected_dtype, str) else expected_dtype
    if name not in expected:
        raise TypeError(
            f"[{op_name}] {input_name}: expected one of the dtypes {expected}, got {name}. "
            f"Do this: cast it with .astype(..). {extra_message}"
        )


def check_variable_and_dtype(input, input_name, expected_dtype, op_name, extra_message=""):
    """Checks that an argument is a tensor of certain dtypes while a Program is built, as check_type does.

    Args:
        input (Tensor): The argument.
        input_name (str): Its name, for the message.
        expected_dtype (str | list[str]): Names of the dtypes.
        op_name (str): Whose argument it is, for the message.
        extra_message (str): Ends the message.

    Raises:
        TypeError: It is something else.

    Example:
        >>> argosy.base.data_feeder.check_variable_and_dtype(argosy.ones([2]), "x", ["float32"], "sum")
    """
    check_type(input, input_name, Tensor, op_name, extra_message)
    check_dtype(getattr(input, "dtype", None), input_name, expected_dtype, op_name, extra_message)


class DataFeeder:
    """Makes what a run is fed of samples: one DenseTensor for each input, of its dtype and shape.

    Args:
        feed_list (list[Variable | str]): The inputs, or their names, in the order of the parts of a sample.
        place (Place): The CPU, where batches are made.
        program (Program, optional): Where names are looked up; the default main Program if None.

    Raises:
        ValueError: The Program has no input of such a name.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 2])
        >>> y = argosy.static.data("y", [None, 1], "int64")
        >>> feeder = argosy.base.DataFeeder([x, y], argosy.CPUPlace())
        >>> feed = feeder.feed([([1.0, 2.0], 0), ([3.0, 4.0], 1)])
        >>> {name: value.shape() for name, value in feed.items()}
        {'x': [2, 2], 'y': [2, 1]}
        >>> batches = feeder.decorate_reader(lambda: iter([[([1.0, 2.0], 0)]]), multi_devices=False)
        >>> [sorted(feed) for feed in batches()]
        [['x', 'y']]
    """

    def __init__(self, feed_list, place, program=None):
        need_type("DataFeeder", "feed_list", feed_list, (list, tuple), "pass a list of inputs")
        block = (default_main_program() if program is None else program).global_block()
        self._inputs = [block.var(v) if isinstance(v, str) else v for v in feed_list]
        self._loader = GeneratorLoader(self._inputs)
        self._loader.set_sample_list_generator(lambda: iter(()), place)

    def feed(self, iterable):
        """The feed of one batch.

        Args:
            iterable (Iterable[tuple]): Samples: the parts of each, one for every input.

        Returns:
            dict[str, DenseTensor]: By the names of the inputs.

        Raises:
            ValueError: A sample has more or fewer parts than there are inputs.
        """
        values = self._loader._of_samples(iterable)
        return dict(zip((v.name for v in self._inputs), values))

    def decorate_reader(self, reader, multi_devices, num_places=None, drop_last=True):
        """A reader of feeds, made of a reader of batches.

        Args:
            reader (callable): Returns an iterator of lists of samples.
            multi_devices (bool): False: batches are for one device.
            num_places (int, optional): Has no effect with one device.
            drop_last (bool): Has no effect with one device.

        Returns:
            callable: Returns an iterator of what `feed` makes of the batches.

        Raises:
            NotImplementedError: multi_devices is True.
        """
        if multi_devices:
            raise NotImplementedError(
                "[DataFeeder.decorate_reader] multi_devices=True: batches for several devices are not"
                " made here. Do this: run one process for each device (distributed.launch)."
            )
        no_effect(
            "DataFeeder.decorate_reader", "there is one device",
            num_places=(num_places, None), drop_last=(drop_last, True),
        )  # fmt: skip
        return lambda: map(self.feed, reader())
