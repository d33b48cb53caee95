"""Entries: which keys of a sparse table get a row."""

__all__ = ["CountFilterEntry", "ProbabilityEntry", "ShowClickEntry"]


class EntryAttr:
    """Base of the entries that static.nn.sparse_embedding(entry=) takes."""

    def _to_attr(self):
        raise NotImplementedError


class ProbabilityEntry(EntryAttr):
    """A new key is admitted with this probability, decided once and for all.

    Args:
        probability (float): in (0, 1).

    Raises:
        ValueError: probability is out of range.

    Example:
        >>> entry = argosy.distributed.ProbabilityEntry(0.1)
        >>> argosy.enable_static()
        >>> ids = argosy.static.data("ids", [-1, 1], "int64")
        >>> list(argosy.static.nn.sparse_embedding(ids, [100, 8], entry=entry).shape)
        [-1, 8]
    """

    def __init__(self, probability):
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise ValueError(
                f"probability must be a float in (0,1) ([ProbabilityEntry] got {probability!r})"
            )
        self._probability = probability

    def _to_attr(self):
        return f"probability_entry:{self._probability}"


class CountFilterEntry(EntryAttr):
    """A key is admitted when it is seen for the count_filter-th time.

    Args:
        count_filter (int): at least 0.

    Raises:
        ValueError: count_filter is no int, or negative.

    Example:
        >>> argosy.distributed.CountFilterEntry(-1)
        Traceback (most recent call last):
        ValueError
    """

    def __init__(self, count_filter):
        if not isinstance(count_filter, int) or isinstance(count_filter, bool):
            raise ValueError(
                "count_filter must be a valid integer greater than 0 "
                f"([CountFilterEntry] got {count_filter!r})"
            )
        if count_filter < 0:
            raise ValueError(
                "count_filter must be a valid integer greater or equal than 0 "
                f"([CountFilterEntry] got {count_filter})"
            )
        self._count_filter = count_filter

    def _to_attr(self):
        return f"count_filter_entry:{self._count_filter}"


class ShowClickEntry(EntryAttr):
    """Names of the inputs that say how often a sample was shown and clicked.

    Args:
        show_name (str): name of the show variable.
        click_name (str): name of the click variable.

    Raises:
        ValueError: A name is no str.

    Example:
        >>> entry = argosy.distributed.ShowClickEntry("show", "click")
    """

    def __init__(self, show_name, click_name):
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise ValueError(
                f"show_name click_name must be a str ([ShowClickEntry] got {show_name!r}, "
                f"{click_name!r})"
            )
        self._show_name = show_name
        self._click_name = click_name

    def _to_attr(self):
        return f"show_click_entry:{self._show_name}:{self._click_name}"
