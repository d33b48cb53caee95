"""The layers, by family."""

from __future__ import annotations

from . import (  # noqa: F401
    activation,
    common,
    container,
    conv,
    distance,
    layers,
    loss,
    norm,
    pooling,
    rnn,
    transformer,
    vision,
)
