"""multiprocessing of the standard library, under Paddle's name. Tensors that go through its queues and
pipes are copied."""

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__  # noqa: F401
