"""Names of readers (kept for old programs)."""

from .dataloader.collate import default_collate_fn, default_convert_fn  # noqa: F401
from .dataloader.grouping import batch  # noqa: F401
from .dataloader.loader import DataLoader  # noqa: F401
