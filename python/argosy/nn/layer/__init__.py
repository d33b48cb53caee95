"""The layers, by family; each module names its own in ``__all__``."""

from __future__ import annotations

from . import (
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
from .activation import *  # noqa: F403
from .common import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .distance import *  # noqa: F403
from .layers import *  # noqa: F403
from .loss import *  # noqa: F403
from .norm import *  # noqa: F403
from .pooling import *  # noqa: F403
from .rnn import *  # noqa: F403
from .transformer import *  # noqa: F403
from .vision import *  # noqa: F403

__all__ = []
__all__ += activation.__all__
__all__ += common.__all__
__all__ += container.__all__
__all__ += conv.__all__
__all__ += distance.__all__
__all__ += layers.__all__
__all__ += loss.__all__
__all__ += norm.__all__
__all__ += pooling.__all__
__all__ += rnn.__all__
__all__ += transformer.__all__
__all__ += vision.__all__
