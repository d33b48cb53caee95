"""What the model files share: channel rounding, initial value ranges and the refusal of `pretrained=True`."""

from argosy import nn
from argosy.base.param_attr import ParamAttr

__all__ = ["make_divisible", "refuse_pretrained", "uniform_attr"]


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
