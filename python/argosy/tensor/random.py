"""Random tensors. For one seed the values are those of Paddle on the CPU."""

from argosy import _core
from argosy._core import Tensor
from argosy._core import ops as _ops
from argosy._programs import mode
from argosy._support import alias, overwrite, place, plain, sizes, sizes_of
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
    """Numbers drawn evenly from [min, max). seed: 0 for the global generator."""
    return place(_ops.uniform(shape, min, max, seed, dtype), out, device, requires_grad)


@sizes
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
    """Numbers drawn evenly from [0, 1)."""
    drawn = _ops.uniform(shape, 0.0, 1.0, 0, dtype)
    return place(drawn, out, device, requires_grad, pin_memory)


@sizes
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
    """Numbers drawn from the standard normal distribution."""
    drawn = _ops.gaussian(shape, 0.0, 1.0, 0, dtype)
    return place(drawn, out, device, requires_grad, pin_memory)


standard_normal = randn


def gaussian(shape, mean=0.0, std=1.0, seed=0, dtype=None, name=None):
    """Numbers drawn from the normal distribution. seed: 0 for the global generator."""
    return _ops.gaussian(shape, mean, std, seed, dtype)


@alias(size="shape")
def normal(mean=0.0, std=1.0, shape=None, name=None, *, out=None):
    """Numbers drawn from normal distributions; mean and std may be tensors, whose form the result
    then has."""
    if out is not None:
        return place(normal(mean, std, shape), out)
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        like = mean if isinstance(mean, Tensor) else std
        if isinstance(mean, Tensor) and isinstance(std, Tensor):
            like = mean + std
        drawn = _ops.gaussian(sizes_of(like), 0.0, 1.0, 0, like.dtype)
        return drawn * std + mean
    return _ops.gaussian([1] if shape is None else shape, mean, std, 0, None)


def log_normal(mean=1.0, std=2.0, shape=None, dtype=None, name=None):
    """exp of numbers drawn from the normal distribution of mean and std; dtype: None for that of mean
    or std, if one is a tensor, else the default dtype."""
    if dtype is None:
        return _ops.exp(normal(mean, std, shape))
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        mean, std = (v.astype(dtype) if isinstance(v, Tensor) else v for v in (mean, std))
        return _ops.exp(normal(mean, std, shape))
    return _ops.exp(_ops.gaussian([1] if shape is None else shape, mean, std, 0, dtype))


def randint(low=0, high=None, shape=(1,), dtype=None, name=None):
    """Integers drawn evenly from [low, high), or from [0, low) without high."""
    low, high = (0, low) if high is None else (low, high)
    return _ops.randint(low, high, plain(shape), dtype)


def randint_like(x, low=0, high=None, dtype=None, name=None):
    """Integers drawn evenly from [low, high), in x's form."""
    low, high = (0, low) if high is None else (low, high)
    drawn = _ops.randint(low, high, sizes_of(x), "int64")
    return drawn.astype(x.dtype if dtype is None else dtype)


def rand_like(input, name=None, *, dtype=None, device=None, requires_grad=False):  # noqa: A002
    """Numbers drawn evenly from [0, 1), in input's form."""
    drawn = _ops.uniform(sizes_of(input), 0.0, 1.0, 0, dtype or input.dtype)
    return place(drawn, None, device, requires_grad)


@alias(input="x")
def randn_like(x, dtype=None, name=None, *, device=None, requires_grad=False):
    """Numbers drawn from the standard normal distribution, in x's form."""
    drawn = _ops.gaussian(sizes_of(x), 0.0, 1.0, 0, dtype or x.dtype)
    return place(drawn, None, device, requires_grad)


@method
def uniform_(x, min=0, max=1.0, seed=0, name=None, **other_names):  # noqa: A002
    """Fills x with numbers drawn evenly from [min, max), which are also called from and to."""
    min, max = other_names.pop("from", min), other_names.pop("to", max)
    if other_names:
        raise TypeError(
            f"[uniform_] takes min (from), max (to), seed and name, got {', '.join(other_names)}."
            " Do this: check the spelling."
        )
    return _ops.uniform_(x, min, max, seed)


@method
def normal_(x, mean=0.0, std=1.0, name=None):
    """Fills x with numbers drawn from the normal distribution."""
    return _ops.normal_(x, mean, std)


@method
def exponential_(x, lam=1.0, name=None):
    """Fills x with numbers drawn from the exponential distribution of rate lam."""
    return _ops.exponential_(x, lam)


@method
def bernoulli_(x, p=0.5, name=None):
    """Fills x with 1 with probability p, else 0."""
    probability = p if isinstance(p, Tensor) else _ops.full_like(x, p)
    return overwrite(x, _ops.bernoulli(_ops.expand_as(probability, x).astype(x.dtype)))


def seed(seed):
    """Restarts the generators from seed; returns the default one."""
    _core.seed(int(seed))
    return Generator()


def _manual_program_seed(seed):
    """Sets the seed of the default main and start-up Programs; nothing in eager mode."""
    if not mode.static_mode():
        return
    mode.default_main_program().random_seed = seed
    mode.default_startup_program().random_seed = seed


class Generator:
    """The default generator of the CPU, which all random ops draw from.

    Args:
        device (str | Place, optional): Where; every device draws from this one.
    """

    def __init__(self, device=None):
        self._device = device

    def manual_seed(self, seed):
        """Restarts the stream from seed."""
        _core.seed(int(seed))
        return self

    def initial_seed(self):
        """The seed that the stream began with."""
        return _core.initial_seed()

    def seed(self):
        """Restarts the stream from a seed drawn anew, and returns it."""
        import secrets

        drawn = secrets.randbits(53)
        self.manual_seed(drawn)
        return drawn

    def random(self):
        """The next number of the stream, of 62 bits."""
        return int(_ops.randint(0, 1 << 62, [], "int64"))

    def get_state(self):
        """Seed and position as bytes."""
        return _core.random_state()

    def set_state(self, state):
        """Continues from a state that get_state gave."""
        _core.set_random_state(state)


def is_default_generator(function, generator):
    """Checks that `generator`, an argument of a function, is the one that there is, or None.

    Raises:
        TypeError: another object.
    """
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(
            f"[{function}] generator: expected a Generator (all draw from the default stream) or None,"
            f" got {type(generator).__name__}. Do this: leave it out, and call seed(..) before."
        )


def get_rng_state(device=None):
    """States of the generators, as a list. device: one that there is; all share one generator."""
    _check_device("get_rng_state", device)
    return [_core.random_state()]


def set_rng_state(state_list, device=None):
    """Continues from states that get_rng_state gave."""
    _check_device("set_rng_state", device)
    _core.set_random_state(state_list[0])


def _check_device(function, device):
    if device is not None and not isinstance(device, int):
        checked_place(device, function)


def get_cuda_rng_state():
    """get_rng_state of all GPUs: there is one generator for all devices."""
    return get_rng_state()


def set_cuda_rng_state(state_list):
    """Continues from states that get_cuda_rng_state gave."""
    set_rng_state(state_list)
