"""Random tensors. For one seed the values are those of Paddle on the CPU."""

import warnings

from argosy import _core
from argosy._beside import beside
from argosy._capturing import capturing, reads_of_thread
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._programs import mode
from argosy._support import alias, need_tensor, overwrite, place, sizes, sizes_of, tells
from argosy.device.place import checked_place
from argosy.tensor.registry import method


def uniform(
    shape,
    dtype=None,
    min=0,  # noqa: A002
    max=1.0,  # noqa: A002
    seed=0,
    name=None,
    *,
    out=None,
    device=None,
    requires_grad=False,
):
    """A tensor of numbers drawn evenly from [min, max).

    Args:
        shape (list | tuple | Tensor): Its shape; entries may be 0-d integer tensors.
        dtype (dtype | str, optional): A floating dtype; default: the default dtype.
        min (float): The lower bound.
        max (float): The upper bound.
        seed (int): 0 draws from the default generator, another number from a stream of its own.
        out (Tensor, optional): A tensor of that dtype that becomes the result.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.

    Returns:
        Tensor: Of that shape and dtype.

    Raises:
        TypeError: The dtype is not floating, or not that of out.

    Example:
        >>> x = argosy.uniform([2, 3], min=-1.0, max=1.0)
        >>> x.shape, bool((x >= -1).all()), bool((x < 1).all())
        (paddle.Size([2, 3]), True, True)
    """
    return place(_ops.uniform(shape, min, max, seed, dtype), out, device, requires_grad)


@sizes
@tells("uniform")
def rand(
    shape,
    dtype=None,
    name=None,
    *,
    out=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """A tensor of numbers drawn evenly from [0, 1).

    Args:
        shape (list | tuple | Tensor): Its shape; the sizes may also come one by one.
        dtype (dtype | str, optional): A floating dtype; default: the default dtype.
        out (Tensor, optional): A tensor of that dtype that becomes the result.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.

    Returns:
        Tensor: Of that shape and dtype.

    Raises:
        TypeError: The dtype is not floating, or not that of out.
        RuntimeError: pin_memory is true, and it is made on the CPU.

    Example:
        >>> argosy.rand([2, 3]).shape, argosy.rand(4, 5).shape
        (paddle.Size([2, 3]), paddle.Size([4, 5]))
    """
    drawn = _ops.uniform(shape, 0.0, 1.0, 0, dtype)
    return place(drawn, out, device, requires_grad, pin_memory)


@sizes
@tells("gaussian")
def randn(
    shape,
    dtype=None,
    name=None,
    *,
    out=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """A tensor of numbers drawn from the standard normal distribution. Also called standard_normal.

    Args:
        shape (list | tuple | Tensor): Its shape; the sizes may also come one by one.
        dtype (dtype | str, optional): A floating or complex dtype; default: the default dtype.
        out (Tensor, optional): A tensor of that dtype that becomes the result.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.

    Returns:
        Tensor: Of that shape and dtype.

    Raises:
        TypeError: The dtype is neither floating nor complex, or not that of out.
        RuntimeError: pin_memory is true, and it is made on the CPU.

    Example:
        >>> argosy.randn([2, 3]).shape
        paddle.Size([2, 3])
    """
    drawn = _ops.gaussian(shape, 0.0, 1.0, 0, dtype)
    return place(drawn, out, device, requires_grad, pin_memory)


standard_normal = randn


def gaussian(shape, mean=0.0, std=1.0, seed=0, dtype=None, name=None):
    """A tensor of numbers drawn from a normal distribution.

    Args:
        shape (list | tuple | Tensor): Its shape.
        mean (float): The mean.
        std (float): The standard deviation.
        seed (int): 0 draws from the default generator, another number from a stream of its own.
        dtype (dtype | str, optional): A floating or complex dtype; default: the default dtype.

    Returns:
        Tensor: Of that shape and dtype.

    Example:
        >>> x = argosy.tensor.random.gaussian([1000], mean=5.0)
        >>> bool((x.mean() - 5).abs() < 0.5)
        True
    """
    return _ops.gaussian(shape, mean, std, seed, dtype)


@alias(size="shape")
@tells("gaussian")
@beside
def normal(mean=0.0, std=1.0, shape=None, name=None, *, out=None):
    """A tensor of numbers drawn from normal distributions.

    Args:
        mean (float | Tensor): The mean, of all numbers or of each.
        std (float | Tensor): The standard deviation, of all numbers or of each.
        shape (list | tuple | Tensor, optional): The shape where mean and std are numbers; default: [1].
            Tensors give theirs, broadcast.
        out (Tensor, optional): A tensor of the result's dtype that becomes the result.

    Returns:
        Tensor: Of the dtype of mean or std if they are tensors, else of the default dtype.

    Example:
        >>> argosy.normal(argosy.zeros([2, 3]), 0.1).shape
        paddle.Size([2, 3])
    """
    if out is not None:
        return place(normal(mean, std, shape), out)
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        like = mean if isinstance(mean, Tensor) else std
        if isinstance(mean, Tensor) and isinstance(std, Tensor):
            like = mean + std
        drawn = _ops.gaussian(sizes_of(like), 0.0, 1.0, 0, like.dtype)
        return drawn * std + mean
    return _ops.gaussian([1] if shape is None else shape, mean, std, 0, None)


@beside
def log_normal(mean=1.0, std=2.0, shape=None, dtype=None, name=None):
    """A tensor of exp of numbers drawn from normal distributions.

    Args:
        mean (float | Tensor): The mean of the normal distribution.
        std (float | Tensor): Its standard deviation.
        shape (list | tuple | Tensor, optional): The shape where mean and std are numbers; default: [1].
            Tensors give theirs, broadcast.
        dtype (dtype | str, optional): Of the result; default: that of mean or std if one is a tensor, else
            the default dtype.

    Returns:
        Tensor: Positive numbers.

    Example:
        >>> bool((argosy.log_normal(shape=[4]) > 0).all())
        True
    """
    if dtype is None:
        return _ops.exp(normal(mean, std, shape))
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        mean, std = (v.astype(dtype) if isinstance(v, Tensor) else v for v in (mean, std))
        return _ops.exp(normal(mean, std, shape))
    return _ops.exp(_ops.gaussian([1] if shape is None else shape, mean, std, 0, dtype))


def randint(low=0, high=None, shape=(1,), dtype=None, name=None):
    """A tensor of integers drawn evenly from [low, high), or from [0, low) without high.

    Args:
        low (int): The lower bound, or the upper one if it is alone.
        high (int, optional): The upper bound.
        shape (list | tuple | Tensor): Its shape.
        dtype (dtype | str, optional): Default: int64.

    Returns:
        Tensor: Of that shape and dtype.

    Raises:
        ValueError: low is not less than high.

    Example:
        >>> x = argosy.randint(3, shape=[100])
        >>> x.dtype, int(x.min()), int(x.max())
        (paddle.int64, 0, 2)
    """
    low, high = (0, low) if high is None else (low, high)
    return _ops.randint(low, high, shape, dtype)


def randint_like(x, low=0, high=None, dtype=None, name=None):
    """A tensor of x's shape, of integers drawn evenly from [low, high), or from [0, low) without high.

    Args:
        x (Tensor): Gives shape and dtype.
        low (int): The lower bound, or the upper one if it is alone.
        high (int, optional): The upper bound.
        dtype (dtype | str, optional): Of the result; default: x's.

    Returns:
        Tensor: Whole numbers of x's shape.

    Raises:
        ValueError: low is not less than high.

    Example:
        >>> argosy.randint_like(argosy.zeros([2, 3]), 5).shape
        paddle.Size([2, 3])
    """
    need_tensor("randint_like", "x", x)
    low, high = (0, low) if high is None else (low, high)
    drawn = _ops.randint(low, high, sizes_of(x), "int64")
    return drawn.astype(x.dtype if dtype is None else dtype)


def rand_like(input, name=None, *, dtype=None, device=None, requires_grad=False):  # noqa: A002
    """A tensor of input's shape, of numbers drawn evenly from [0, 1).

    Args:
        input (Tensor): Gives shape and dtype.
        dtype (dtype | str, optional): A floating dtype; default: input's.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.

    Returns:
        Tensor: Of input's shape.

    Raises:
        TypeError: The dtype is not floating.

    Example:
        >>> argosy.rand_like(argosy.zeros([2, 3])).shape
        paddle.Size([2, 3])
    """
    drawn = _ops.uniform(sizes_of(input), 0.0, 1.0, 0, dtype or input.dtype)
    return place(drawn, None, device, requires_grad)


@alias(input="x")
def randn_like(x, dtype=None, name=None, *, device=None, requires_grad=False):
    """A tensor of x's shape, of numbers drawn from the standard normal distribution.

    Args:
        x (Tensor): Gives shape and dtype.
        dtype (dtype | str, optional): A floating or complex dtype; default: x's.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.

    Returns:
        Tensor: Of x's shape.

    Raises:
        TypeError: The dtype is neither floating nor complex.

    Example:
        >>> argosy.randn_like(argosy.zeros([2, 3]), "float64").dtype
        paddle.float64
    """
    drawn = _ops.gaussian(sizes_of(x), 0.0, 1.0, 0, dtype or x.dtype)
    return place(drawn, None, device, requires_grad)


@method
def uniform_(x, min=0, max=1.0, seed=0, name=None, **other_names):  # noqa: A002
    """Fills x with numbers drawn evenly from [min, max).

    Args:
        x (Tensor): A floating tensor.
        min (float): The lower bound, also called from.
        max (float): The upper bound, also called to.
        seed (int): 0 draws from the default generator, another number from a stream of its own.
        other_names: from and to.

    Returns:
        Tensor: x.

    Raises:
        TypeError: A keyword is unknown.

    Example:
        >>> x = argosy.zeros([3])
        >>> bool((x.uniform_(1.0, 2.0) >= 1).all())
        True
    """
    min, max = other_names.pop("from", min), other_names.pop("to", max)
    if other_names:
        raise TypeError(
            f"[uniform_] takes min (from), max (to), seed and name, got {', '.join(other_names)}."
            " Do this: check the spelling."
        )
    return _ops.uniform_(x, min, max, seed)


@method
def normal_(x, mean=0.0, std=1.0, name=None):
    """Fills x with numbers drawn from a normal distribution.

    Args:
        x (Tensor): A floating tensor.
        mean (float): The mean.
        std (float): The standard deviation.

    Returns:
        Tensor: x.

    Example:
        >>> argosy.zeros([3]).normal_(5.0, 0.0).tolist()
        [5.0, 5.0, 5.0]
    """
    return _ops.normal_(x, mean, std)


@method
@alias(lambd="lam")
def exponential_(x, lam=1.0, name=None):
    """Fills x with numbers drawn from the exponential distribution.

    Args:
        x (Tensor): A floating tensor.
        lam (float): The rate, 1 / mean.

    Returns:
        Tensor: x.

    Example:
        >>> bool((argosy.zeros([3]).exponential_(2.0) >= 0).all())
        True
    """
    return _ops.exponential_(x, lam)


@method
def bernoulli_(x, p=0.5, name=None):
    """Fills x with 1 with probability p, and 0 elsewhere.

    Args:
        x (Tensor): A floating tensor.
        p (float | Tensor): The probability, of all elements or of each (its shape broadcasts to x's).

    Returns:
        Tensor: x.

    Example:
        >>> argosy.zeros([3]).bernoulli_(1.0).tolist()
        [1.0, 1.0, 1.0]
    """
    probability = p if isinstance(p, Tensor) else _ops.full_like(x, p)
    return overwrite(x, _ops.bernoulli(_ops.expand_as(probability, x).astype(x.dtype)))


def seed(seed):
    """Restarts the generator that all random ops draw from. (A Program has a seed of its own, its
    random_seed.)

    Args:
        seed (int): Where the stream begins.

    Returns:
        Generator: The default one.

    Raises:
        NotImplementedError: A function is being captured, and can be run as Python instead, as
            jit.to_static does unless full_graph is True: then it counts once, with a warning.

    Example:
        >>> _ = argosy.seed(7)
        >>> a = argosy.rand([3])
        >>> _ = argosy.seed(7)
        >>> bool((a == argosy.rand([3])).all())
        True
    """
    _once_in_captures("seed")
    _core.seed(int(seed))
    return Generator()


def _once_in_captures(what):
    if not capturing():
        return
    text = f"[{what}] is called in a function that is captured, whose Program draws on from where the generator is"
    reads = reads_of_thread()
    if reads is not None and not reads.full_graph:
        raise NotImplementedError(f"{text}. Do this: call it outside of the function.")
    warnings.warn(f"{text}: it counts now, and not in later calls.", stacklevel=3)


def _manual_program_seed(seed):
    """Sets the seed of the default main and start-up Programs; nothing in eager mode."""
    if not mode.static_mode():
        return
    mode.default_main_program().random_seed = seed
    mode.default_startup_program().random_seed = seed


class Generator:
    """The default generator, which all random ops draw from.

    Args:
        device (str | Place, optional): Where; every device draws from this one.

    Example:
        >>> generator = argosy.Generator().manual_seed(7)
        >>> state = generator.get_state()
        >>> drawn = generator.random()
        >>> generator.set_state(state)
        >>> generator.random() == drawn, generator.initial_seed()
        (True, 7)
    """

    def __init__(self, device=None):
        self._device = device

    def manual_seed(self, seed):
        """Restarts the stream.

        Args:
            seed (int): Where it begins.

        Returns:
            Generator: This one.
        """
        _once_in_captures("manual_seed")
        _core.seed(int(seed))
        return self

    def initial_seed(self):
        """The seed that the stream began with.

        Returns:
            int: What manual_seed or seed set.
        """
        return _core.initial_seed()

    def seed(self):
        """Restarts the stream from a seed that the operating system draws.

        Returns:
            int: That seed.

        Example:
            >>> argosy.Generator().seed() == argosy.Generator().initial_seed()
            True
        """
        import secrets

        drawn = secrets.randbits(53)
        self.manual_seed(drawn)
        return drawn

    def random(self):
        """Draws the next number of the stream.

        Returns:
            int: From 0 to 2**62 - 1.
        """
        return int(_ops.randint(0, 1 << 62, [], "int64"))

    def get_state(self):
        """The state of the stream, to continue from later.

        Returns:
            bytes: Seed and position.
        """
        return _core.random_state()

    def set_state(self, state):
        """Continues the stream from a state.

        Args:
            state (bytes): What get_state gave.

        Raises:
            ValueError: These are not the bytes of a state.
        """
        _core.set_random_state(state)


def is_default_generator(function, generator):
    """Checks an argument `generator` of a function: there is one generator, which all draw from.

    Args:
        function (str): The function's name, for the message.
        generator (Generator | None): What was passed.

    Raises:
        TypeError: It is neither a Generator nor None.

    Example:
        >>> argosy.tensor.random.is_default_generator("rand", argosy.Generator())
    """
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(
            f"[{function}] generator: expected a Generator (all draw from the default stream) or None,"
            f" got {type(generator).__name__}. Do this: leave it out, and call seed(..) before."
        )


def get_rng_state(device=None):
    """States of the generators.

    Args:
        device (str | Place | int, optional): Whose; all devices share one generator.

    Returns:
        list[bytes]: One state.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> states = argosy.get_rng_state()
        >>> a = argosy.rand([3])
        >>> argosy.set_rng_state(states)
        >>> bool((a == argosy.rand([3])).all())
        True
    """
    _check_device("get_rng_state", device)
    return [_core.random_state()]


def set_rng_state(state_list, device=None):
    """Continues from states of the generators.

    Args:
        state_list (list[bytes]): What get_rng_state gave.
        device (str | Place | int, optional): Whose; all devices share one generator.

    Raises:
        ValueError: There is no such device, or these are not the bytes of a state.

    Example:
        >>> argosy.set_rng_state(argosy.get_rng_state())
    """
    _check_device("set_rng_state", device)
    if not isinstance(state_list, (list, tuple)) or len(state_list) != 1:
        raise ValueError(
            f"[set_rng_state] state_list: expected a list of one state, as get_rng_state gives, got"
            f" {str(state_list)[:80]}. Do this: pass such a list."
        )
    _core.set_random_state(state_list[0])


def _check_device(function, device):
    if device is not None and not isinstance(device, int):
        checked_place(device, function)


def get_cuda_rng_state():
    """States of the generators of GPUs, which share the one of the CPU.

    Returns:
        list[bytes]: One state.

    Example:
        >>> argosy.get_cuda_rng_state() == argosy.get_rng_state()
        True
    """
    return get_rng_state()


def set_cuda_rng_state(state_list):
    """Continues from states of the generators of GPUs, which share the one of the CPU.

    Args:
        state_list (list[bytes]): What get_cuda_rng_state gave.

    Raises:
        ValueError: These are not the bytes of a state.

    Example:
        >>> argosy.set_cuda_rng_state(argosy.get_cuda_rng_state())
    """
    set_rng_state(state_list)
