"""Invertible functions of random numbers."""

from __future__ import annotations

import enum
import functools
import math
import operator

from argosy import tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import sizes_of
from argosy.nn import functional as F

from . import variable
from .distribution import Distribution, check, sum_rightmost

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ChainTransform",
    "ExpTransform",
    "IndependentTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
]


class Type(enum.Enum):
    """What a transform maps to what."""

    BIJECTION = "bijection"
    INJECTION = "injection"
    SURJECTION = "surjection"
    OTHER = "other"

    @classmethod
    def is_injective(cls, kind):
        """Whether different numbers are mapped to different ones."""
        return kind in (cls.BIJECTION, cls.INJECTION)


class Transform:
    """A differentiable function of random numbers, with its inverse and Jacobian.

    A subclass defines ``_forward``, ``_inverse``, one of ``_forward_log_det_jacobian`` and
    ``_inverse_log_det_jacobian``, and where it changes shapes ``_forward_shape`` and
    ``_inverse_shape``. ``_domain_rank`` and ``_codomain_rank`` are the numbers of dimensions that it
    maps as a whole, from and to; 0 for elementwise functions.

    Examples:
        >>> double = argosy.distribution.AffineTransform(argosy.to_tensor(1.0), argosy.to_tensor(2.0))
        >>> x = argosy.to_tensor([3.0])
        >>> y = double.forward(x)
        >>> y.tolist(), double.inverse(y).tolist()
        ([7.0], [3.0])
        >>> double.forward_log_det_jacobian(x).item(), double.inverse_log_det_jacobian(y).item()
        (0.6931, -0.6931)
        >>> double.forward_shape([4]), double.inverse_shape([4])
        ((4,), (4,))
    """

    _type = Type.INJECTION
    _domain_rank = 0
    _codomain_rank = 0

    def __init_subclass__(cls, **options):
        """A subclass may say what it maps from and to by ``_domain`` and ``_codomain`` as well."""
        super().__init_subclass__(**options)
        if "_domain" in vars(cls):
            cls._domain_rank = property(lambda self: self._domain.event_rank)
        if "_codomain" in vars(cls):
            cls._codomain_rank = property(lambda self: self._codomain.event_rank)

    @property
    def _domain(self):
        """The Variable that it maps from."""
        return variable.Real(self._domain_rank)

    @property
    def _codomain(self):
        """The Variable that it maps to."""
        return variable.Real(self._codomain_rank)

    def _is_injective(self):
        return Type.is_injective(self._type)

    def __call__(self, input):  # noqa: A002
        """The transform of a tensor, of a distribution, or after another transform."""
        if isinstance(input, Distribution):
            from .transformed_distribution import TransformedDistribution

            return TransformedDistribution(input, [self])
        if isinstance(input, Transform):
            return ChainTransform([self, input])
        return self.forward(input)

    def _checked(self, value, name, rank):
        check(
            isinstance(value, Tensor), TypeError, type(self).__name__,
            f"{name} must be a Tensor, got {type(value).__name__}", "use argosy.to_tensor",
        )  # fmt: skip
        check(
            value.ndim >= rank, ValueError, type(self).__name__,
            f"{name} must have {rank} dimensions or more, got {value.ndim}", "reshape it",
        )  # fmt: skip
        return value

    def forward(self, x):
        """The function at x.

        Args:
            x (Tensor): with ``_domain_rank`` dimensions or more.

        Returns:
            Tensor of :meth:`forward_shape`.
        """
        return self._forward(self._checked(x, "x", self._domain_rank))

    def inverse(self, y):
        """The x that is mapped to y (AbsTransform: both).

        Args:
            y (Tensor): with ``_codomain_rank`` dimensions or more.

        Returns:
            Tensor of :meth:`inverse_shape`.
        """
        return self._inverse(self._checked(y, "y", self._codomain_rank))

    def _check_injective(self):
        check(
            self._is_injective(), NotImplementedError, type(self).__name__,
            "maps several numbers to one, so it has no Jacobian determinant",
            "use an injective transform",
        )  # fmt: skip

    def forward_log_det_jacobian(self, x):
        """Logarithm of the absolute Jacobian determinant at x.

        Args:
            x (Tensor): with ``_domain_rank`` dimensions or more.

        Returns:
            Tensor without the dimensions that are mapped as a whole (of an affine map its own shape).

        Raises:
            NotImplementedError: the transform maps several numbers to one.
        """
        self._checked(x, "x", self._domain_rank)
        self._check_injective()
        return self._call_forward_log_det_jacobian(x)

    def inverse_log_det_jacobian(self, y):
        """Logarithm of the absolute Jacobian determinant of the inverse at y.

        Args:
            y (Tensor): with ``_codomain_rank`` dimensions or more.

        Returns:
            Tensor without the dimensions that are mapped as a whole (of an affine map its own shape).
        """
        self._checked(y, "y", self._codomain_rank)
        return self._call_inverse_log_det_jacobian(y)

    def _call_forward_log_det_jacobian(self, x):
        if hasattr(self, "_forward_log_det_jacobian"):
            return self._forward_log_det_jacobian(x)
        if hasattr(self, "_inverse_log_det_jacobian"):
            return -self._inverse_log_det_jacobian(self.forward(x))
        return self._missing("_forward_log_det_jacobian")

    def _call_inverse_log_det_jacobian(self, y):
        if hasattr(self, "_inverse_log_det_jacobian"):
            return self._inverse_log_det_jacobian(y)
        if hasattr(self, "_forward_log_det_jacobian"):
            return -self._forward_log_det_jacobian(self._inverse(y))
        return self._missing("_inverse_log_det_jacobian")

    def _missing(self, name):
        raise NotImplementedError(
            f"[{type(self).__name__}] {name} is not defined. Do this: define it in the class."
        )

    def _forward(self, x):
        return self._missing("_forward")

    def _inverse(self, y):
        return self._missing("_inverse")

    def forward_shape(self, shape):
        """Shape of the result for an argument of a shape.

        Args:
            shape (list | tuple): the argument's.

        Returns:
            tuple: Or ``shape`` itself, where it stays as it is.

        Raises:
            TypeError: ``shape`` is neither a list nor a tuple.
        """
        given = self._checked_shape(shape)
        found = self._forward_shape(given)
        return shape if found is given else found

    def inverse_shape(self, shape):
        """Shape of the argument for a result of a shape.

        Args:
            shape (list | tuple): the result's.

        Returns:
            tuple: Or ``shape`` itself, where it stays as it is.

        Raises:
            TypeError: ``shape`` is neither a list nor a tuple.
        """
        given = self._checked_shape(shape)
        found = self._inverse_shape(given)
        return shape if found is given else found

    def _checked_shape(self, shape):
        check(
            isinstance(shape, (list, tuple)), TypeError, type(self).__name__,
            f"a shape must be a list or tuple of ints, got {type(shape).__name__}", "pass one",
        )  # fmt: skip
        return tuple(shape)

    def _forward_shape(self, shape):
        return shape

    def _inverse_shape(self, shape):
        return shape


class AbsTransform(Transform):
    """``|x|``; its inverse is the pair ``-y, y``.

    Examples:
        >>> both = argosy.distribution.AbsTransform().inverse(argosy.to_tensor(2.0))
        >>> [x.item() for x in both]
        [-2.0, 2.0]
    """

    _type = Type.SURJECTION

    def _forward(self, x):
        return x.abs()

    def _inverse(self, y):
        return -y, y

    @beside
    def _inverse_log_det_jacobian(self, y):
        zero = tensor.zeros([], dtype=y.dtype)
        return zero, zero


class AffineTransform(Transform):
    """``loc + scale * x``.

    Args:
        loc, scale (Tensor): see above.

    Raises:
        TypeError: one is no Tensor.

    Examples:
        >>> loc, scale = argosy.to_tensor(1.0), argosy.to_tensor(2.0)
        >>> affine = argosy.distribution.AffineTransform(loc, scale)
        >>> affine.forward(argosy.to_tensor([3.0])).tolist()
        [7.0]
    """

    _type = Type.BIJECTION

    def __init__(self, loc, scale):
        for name, value in (("loc", loc), ("scale", scale)):
            check(
                isinstance(value, Tensor), TypeError, "AffineTransform",
                f"{name} must be a Tensor, got {type(value).__name__}", "use argosy.to_tensor",
            )  # fmt: skip
        self._loc, self._scale = loc, scale

    @property
    def loc(self):
        """What is added."""
        return self._loc

    @property
    def scale(self):
        """What is multiplied with."""
        return self._scale

    def _forward(self, x):
        return self._loc + self._scale * x

    def _inverse(self, y):
        return (y - self._loc) / self._scale

    def _forward_log_det_jacobian(self, x):
        return tensor.log(tensor.abs(self._scale))

    def _forward_shape(self, shape):
        both = tensor.broadcast_shape(list(self._loc.shape), list(self._scale.shape))
        return tuple(tensor.broadcast_shape(list(shape), both))

    def _inverse_shape(self, shape):
        return self._forward_shape(shape)


class ExpTransform(Transform):
    """``exp(x)``.

    Examples:
        >>> argosy.distribution.ExpTransform().inverse(argosy.to_tensor([1.0])).tolist()
        [0.0]
    """

    _type = Type.BIJECTION

    def _forward(self, x):
        return tensor.exp(x)

    def _inverse(self, y):
        return tensor.log(y)

    def _forward_log_det_jacobian(self, x):
        return x


class PowerTransform(Transform):
    """``x ** power`` of x > 0.

    Args:
        power (Tensor): the exponent.

    Raises:
        TypeError: it is no Tensor.

    Examples:
        >>> square = argosy.distribution.PowerTransform(argosy.to_tensor(2.0))
        >>> square.forward(argosy.to_tensor([3.0])).tolist()
        [9.0]
    """

    _type = Type.BIJECTION

    def __init__(self, power):
        check(
            isinstance(power, Tensor), TypeError, "PowerTransform",
            f"power must be a Tensor, got {type(power).__name__}", "use argosy.to_tensor",
        )  # fmt: skip
        self._power = power

    @property
    def power(self):
        """The exponent."""
        return self._power

    def _forward(self, x):
        return tensor.pow(x, self._power)

    def _inverse(self, y):
        return tensor.pow(y, 1 / self._power)

    def _forward_log_det_jacobian(self, x):
        return tensor.log(tensor.abs(self._power * tensor.pow(x, self._power - 1)))

    def _forward_shape(self, shape):
        return tuple(tensor.broadcast_shape(list(shape), list(self._power.shape)))

    def _inverse_shape(self, shape):
        return self._forward_shape(shape)


class SigmoidTransform(Transform):
    """``1 / (1 + exp(-x))``.

    Examples:
        >>> argosy.distribution.SigmoidTransform().forward(argosy.to_tensor([0.0])).tolist()
        [0.5]
    """

    _type = Type.BIJECTION

    def _forward(self, x):
        return F.sigmoid(x)

    def _inverse(self, y):
        return tensor.log(y) - tensor.log1p(-y)

    def _forward_log_det_jacobian(self, x):
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(Transform):
    """Hyperbolic tangent.

    Examples:
        >>> argosy.distribution.TanhTransform().forward(argosy.to_tensor([0.0])).tolist()
        [0.0]
    """

    _type = Type.BIJECTION

    def _forward(self, x):
        return tensor.tanh(x)

    def _inverse(self, y):
        return tensor.atanh(y)

    def _forward_log_det_jacobian(self, x):
        # log(1 - tanh(x)^2) without its loss of digits for large x
        return 2 * (math.log(2) - x - F.softplus(-2 * x))


class SoftmaxTransform(Transform):
    """Softmax over the last dimension; its inverse is the logarithm, one of many.

    Examples:
        >>> argosy.distribution.SoftmaxTransform().forward(argosy.to_tensor([0.0, 0.0])).tolist()
        [0.5, 0.5]
    """

    _type = Type.OTHER
    _domain_rank = 1
    _codomain_rank = 1

    def _forward(self, x):
        return F.softmax(x, -1)

    def _inverse(self, y):
        return tensor.log(y)

    def _forward_shape(self, shape):
        check(
            len(shape) >= 1, ValueError, "SoftmaxTransform",
            "a shape must have a dimension or more, got none", "pass one",
        )  # fmt: skip
        return shape

    def _inverse_shape(self, shape):
        return self._forward_shape(shape)


class StickBreakingTransform(Transform):
    """From [..., K] to points [..., K + 1] of a simplex, by breaking parts off a stick.

    Examples:
        >>> argosy.distribution.StickBreakingTransform().forward(argosy.to_tensor([0.0, 0.0])).tolist()
        [0.3333, 0.3333, 0.3333]
    """

    _type = Type.BIJECTION
    _domain_rank = 1
    _codomain_rank = 1

    @staticmethod
    def _log_rest(count, dtype):
        """log of how many parts are still to come: K, .., 1."""
        return tensor.log(tensor.arange(count, 0, -1, dtype=dtype))

    @beside
    def _forward(self, x):
        part = F.sigmoid(x - self._log_rest(sizes_of(x)[-1], x.dtype))
        rest = tensor.cumprod(1 - part, -1)
        one = tensor.ones_like(part[..., :1])
        return tensor.concat([part, one], -1) * tensor.concat([one, rest], -1)

    @beside
    def _inverse(self, y):
        head = y[..., :-1]
        rest = 1 - tensor.cumsum(head, -1)
        return tensor.log(head) - tensor.log(rest) + self._log_rest(sizes_of(head)[-1], y.dtype)

    @beside
    def _forward_log_det_jacobian(self, x):
        y = self._forward(x)
        moved = x - self._log_rest(sizes_of(x)[-1], x.dtype)
        return (-moved + F.log_sigmoid(moved) + tensor.log(y[..., :-1])).sum(-1)

    def _forward_shape(self, shape):
        self._check_rank(shape)
        return (*shape[:-1], -1 if shape[-1] < 0 else shape[-1] + 1)

    def _inverse_shape(self, shape):
        self._check_rank(shape)
        return (*shape[:-1], -1 if shape[-1] < 0 else shape[-1] - 1)

    def _check_rank(self, shape):
        check(
            len(shape) >= 1, ValueError, "StickBreakingTransform",
            "a shape must have a dimension or more, got none", "pass one",
        )  # fmt: skip


class ReshapeTransform(Transform):
    """Reshapes the last dimensions.

    Args:
        in_event_shape, out_event_shape (list | tuple): their sizes before and after, of as many elements.

    Raises:
        TypeError: a shape is neither a list nor a tuple.
        ValueError: the shapes have not as many elements.

    Examples:
        >>> argosy.distribution.ReshapeTransform([6], [2, 3]).forward(argosy.ones([4, 6])).shape
        paddle.Size([4, 2, 3])
    """

    _type = Type.BIJECTION

    def __init__(self, in_event_shape, out_event_shape):
        for name, shape in (
            ("in_event_shape", in_event_shape),
            ("out_event_shape", out_event_shape),
        ):
            check(
                isinstance(shape, (list, tuple)), TypeError, "ReshapeTransform",
                f"{name} must be a list or tuple, got {type(shape).__name__}", "pass one",
            )  # fmt: skip
        sizes = [functools.reduce(operator.mul, s, 1) for s in (in_event_shape, out_event_shape)]
        check(
            sizes[0] == sizes[1], ValueError, "ReshapeTransform",
            f"the shapes must have as many elements: {in_event_shape} has {sizes[0]}, "
            f"{out_event_shape} has {sizes[1]}", "correct one of them",
        )  # fmt: skip
        self._in, self._out = tuple(in_event_shape), tuple(out_event_shape)
        self._domain_rank, self._codomain_rank = len(self._in), len(self._out)

    @property
    def in_event_shape(self):
        """Shape of an argument."""
        return self._in

    @property
    def out_event_shape(self):
        """Shape of a result."""
        return self._out

    def _forward(self, x):
        return x.reshape([*sizes_of(x)[: x.ndim - len(self._in)], *self._out])

    def _inverse(self, y):
        return y.reshape([*sizes_of(y)[: y.ndim - len(self._out)], *self._in])

    def _replaced(self, shape, old, new):
        split = len(shape) - len(old)
        check(
            split >= 0 and all(-1 in p or p[0] == p[1] for p in zip(shape[split:], old)), ValueError, "ReshapeTransform",
            f"a shape must end with {list(old)}, got {list(shape)}", "correct it",
        )  # fmt: skip
        return (*shape[:split], *new)

    def _forward_shape(self, shape):
        return self._replaced(shape, self._in, self._out)

    def _inverse_shape(self, shape):
        return self._replaced(shape, self._out, self._in)

    @beside
    def _forward_log_det_jacobian(self, x):
        return tensor.zeros(sizes_of(x)[: x.ndim - len(self._in)], dtype=x.dtype)


class IndependentTransform(Transform):
    """A transform with more dimensions as one event: the logarithms of its Jacobian determinant are summed
    over them.

    Args:
        base (Transform): the transform.
        reinterpreted_batch_rank (int): how many dimensions, 1 or more.

    Raises:
        TypeError: ``base`` is no Transform.
        ValueError: ``reinterpreted_batch_rank`` is not positive.

    Examples:
        >>> exp = argosy.distribution.IndependentTransform(argosy.distribution.ExpTransform(), 1)
        >>> exp.forward_log_det_jacobian(argosy.to_tensor([1.0, 2.0])).item()
        3.0
    """

    def __init__(self, base, reinterpreted_batch_rank):
        check(
            isinstance(base, Transform), TypeError, "IndependentTransform",
            f"base must be a Transform, got {type(base).__name__}", "pass one",
        )  # fmt: skip
        check(
            reinterpreted_batch_rank > 0, ValueError, "IndependentTransform",
            f"reinterpreted_batch_rank must be 1 or more, got {reinterpreted_batch_rank}",
            "use base itself",
        )  # fmt: skip
        self._base, self._rank = base, reinterpreted_batch_rank
        self._domain_rank = base._domain_rank + reinterpreted_batch_rank
        self._codomain_rank = base._codomain_rank + reinterpreted_batch_rank

    def _is_injective(self):
        return self._base._is_injective()

    def _forward(self, x):
        return self._base.forward(x)

    def _inverse(self, y):
        return self._base.inverse(y)

    def _forward_log_det_jacobian(self, x):
        inner = self._base.forward_log_det_jacobian(x)
        # An affine map gives the determinant of its own shape.
        leading = x.ndim - self._base._domain_rank
        if -1 in x.shape[:leading] or list(inner.shape) != list(x.shape[:leading]):
            inner = inner.expand(sizes_of(x)[:leading])
        return sum_rightmost(inner, self._rank)

    def _forward_shape(self, shape):
        return self._base.forward_shape(shape)

    def _inverse_shape(self, shape):
        return self._base.inverse_shape(shape)


class ChainTransform(Transform):
    """Transforms one after the other, the first one first.

    Args:
        transforms (list[Transform]): the transforms.

    Raises:
        TypeError: it is no list of Transforms.

    Examples:
        >>> square = argosy.distribution.PowerTransform(argosy.to_tensor(2.0))
        >>> chain = argosy.distribution.ChainTransform([square, argosy.distribution.ExpTransform()])
        >>> chain.forward(argosy.to_tensor([2.0])).tolist()
        [54.5982]
    """

    def __init__(self, transforms):
        check(
            isinstance(transforms, (list, tuple))
            and all(isinstance(t, Transform) for t in transforms),
            TypeError, "ChainTransform", "transforms must be a list of Transforms", "pass one",
        )  # fmt: skip
        self.transforms = list(transforms)
        need = 0
        for transform in reversed(self.transforms):
            need = transform._domain_rank + max(need - transform._codomain_rank, 0)
        self._domain_rank = need
        have = 0
        for transform in self.transforms:
            have = transform._codomain_rank + max(have - transform._domain_rank, 0)
        self._codomain_rank = have

    def _is_injective(self):
        return all(transform._is_injective() for transform in self.transforms)

    def _forward(self, x):
        for transform in self.transforms:
            x = transform.forward(x)
        return x

    def _inverse(self, y):
        for transform in reversed(self.transforms):
            y = transform.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x):
        total, rank = 0.0, self._domain_rank
        for transform in self.transforms:
            part = transform.forward_log_det_jacobian(x)
            total = total + sum_rightmost(part, rank - transform._domain_rank)
            x = transform.forward(x)
            rank += transform._codomain_rank - transform._domain_rank
        return total

    def _forward_shape(self, shape):
        for transform in self.transforms:
            shape = transform.forward_shape(shape)
        return shape

    def _inverse_shape(self, shape):
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        return shape


class StackTransform(Transform):
    """``transforms[i]`` for the i-th entry along an axis.

    Args:
        transforms (list[Transform]): the transforms.
        axis (int): the axis.

    Raises:
        TypeError: an argument has the wrong type.

    Examples:
        >>> kinds = [argosy.distribution.ExpTransform(), argosy.distribution.TanhTransform()]
        >>> argosy.distribution.StackTransform(kinds).forward(argosy.to_tensor([0.0, 0.0])).tolist()
        [1.0, 0.0]
    """

    def __init__(self, transforms, axis=0):
        check(
            bool(transforms) and all(isinstance(t, Transform) for t in transforms), TypeError,
            "StackTransform", "transforms must be a list of Transforms, not empty", "pass one",
        )  # fmt: skip
        check(
            isinstance(axis, int), TypeError, "StackTransform",
            f"axis must be an int, got {type(axis).__name__}", "pass one",
        )  # fmt: skip
        self._transforms, self._axis = list(transforms), axis
        self._domain_rank = max(t._domain_rank for t in self._transforms)
        self._codomain_rank = max(t._codomain_rank for t in self._transforms)

    @property
    def transforms(self):
        """The transforms, in order."""
        return self._transforms

    @property
    def axis(self):
        """The axis along which they lie."""
        return self._axis

    def _is_injective(self):
        return all(transform._is_injective() for transform in self._transforms)

    def _each(self, method, value):
        check(
            -value.ndim <= self._axis < value.ndim
            and value.shape[self._axis] in (-1, len(self._transforms)),
            ValueError, "StackTransform",
            f"expected size {len(self._transforms)} along axis {self._axis}, got a tensor of shape "
            f"{list(value.shape)}", "give an entry to each transform",
        )  # fmt: skip
        parts = tensor.unstack(value, self._axis, len(self._transforms))
        done = [getattr(t, method)(part) for t, part in zip(self._transforms, parts)]
        return tensor.stack(done, self._axis)

    def _forward(self, x):
        return self._each("forward", x)

    def _inverse(self, y):
        return self._each("inverse", y)

    def _forward_log_det_jacobian(self, x):
        return self._each("forward_log_det_jacobian", x)
