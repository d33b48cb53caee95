"""Loggers of modules."""

import logging

__all__ = ["get_logger"]


def get_logger(name, level, fmt=None):
    """A logger that writes to the standard error stream by itself, not through the root logger.

    Args:
        name (str): Its name; the same name gives the same logger.
        level (int | str): The least level that is written, such as logging.INFO.
        fmt (str, optional): The form of its lines, as of logging.Formatter.

    Returns:
        logging.Logger: It.

    Example:
        >>> import logging
        >>> argosy.base.log_helper.get_logger("mine", logging.INFO).level == logging.INFO
        True
    """
    logger = logging.getLogger(name)
    logger.setLevel(level)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler()
        if fmt:
            handler.setFormatter(logging.Formatter(fmt=fmt))
        logger.addHandler(handler)
    return logger
