"""Helpers of training at scale: file systems, recomputation, inference on servers' tables."""

from . import fs
from .fs import HDFSClient, LocalFS
from .ps_util import DistributedInfer
from .recomputation import recompute

__all__ = ["DistributedInfer", "HDFSClient", "LocalFS", "recompute"]
