"""Metrics over all workers: each gives its counts, every worker gets the job's value."""

from .metric import acc, auc, mae, max, min, mse, rmse, sum

__all__ = ["acc", "auc", "mae", "max", "min", "mse", "rmse", "sum"]
