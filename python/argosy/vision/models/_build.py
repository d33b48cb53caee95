"""What the model files share: channel rounding, initial value ranges and the refusal of `pretrained=True`."""

from argosy import nn
from argosy.base.param_attr import ParamAttr

__all__ = ["SCALE", "builds", "make_divisible", "refuse_pretrained", "uniform_attr"]

# Of builds(): the argument that several have.
SCALE = " (float): multiplies the number of channels everywhere."

_TEXT = """{summary}

Args:
    pretrained (bool): must be False: no weights are downloaded.
{options}    kwargs: further arguments of :class:`{model}`.

Returns:
    {model}.

Raises:
    NotImplementedError: ``pretrained`` is True; the message says how to load weights.

Examples:
    >>> with argosy.LazyGuard():
    ...     model = argosy.vision.models.{name}()
    >>> sum(parameter.size for parameter in model.parameters() if parameter.trainable)
    {count}
"""


def builds(model, summary, count, **options):
    """Decorator of a function that makes a model: its docstring.

    Args:
        model (str): name of the class.
        summary (str): the first sentence.
        count (int): how many numbers the model learns.
        options: texts on arguments that it has beside ``pretrained`` and ``kwargs``.
    """

    def describe(function):
        lines = "".join(f"    {name}{text}\n" for name, text in options.items())
        function.__doc__ = _TEXT.format(
            summary=summary, options=lines, model=model, name=function.__name__, count=count
        )
        return function

    return describe


def refuse_pretrained(pretrained, name):
    """Raise if weights were asked for: Argosy never downloads, so the caller has to bring the file."""
    if pretrained:
        raise NotImplementedError(
            f"[vision.models.{name}] pretrained=True asks for downloaded weights: expected "
            "pretrained=False, because Argosy downloads nothing at run time. Do this: fetch the "
            f"{name} .pdparams file yourself, then model = {name}(); "
            "model.set_state_dict(argosy.load('path/to/file.pdparams'))."
        )


def make_divisible(value, divisor=8, min_value=None):
    """Round `value` channels to a multiple of `divisor`, never losing more than a tenth of them."""
    rounded = max(min_value or divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


def uniform_attr(bound):
    """A ParamAttr that fills with uniform values in [-bound, bound]."""
    return ParamAttr(initializer=nn.initializer.Uniform(-bound, bound))
