"""Parts of fleet by their old addresses: role_maker, distributed_strategy, util_factory."""

from . import distributed_strategy, role_maker, util_factory

__all__ = ["distributed_strategy", "role_maker", "util_factory"]
