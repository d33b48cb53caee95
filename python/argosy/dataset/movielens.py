"""Readers of MovieLens, ratings of movies. New programs use ``text.Movielens``."""

import functools

from ..text.datasets.movielens import MovieInfo, Movielens, UserInfo  # noqa: F401
from ._over import as_lists, reader_over

__all__ = [
    "age_table",
    "get_movie_title_dict",
    "max_job_id",
    "max_movie_id",
    "max_user_id",
    "movie_categories",
    "movie_info",
    "test",
    "train",
    "user_info",
]

# The youngest of each group of ages.
age_table = [1, 18, 25, 35, 45, 50, 56]


@functools.lru_cache(maxsize=2)
def _all(data_file):
    return Movielens(data_file, "train", test_ratio=0.0)


def get_movie_title_dict(data_file=None):
    """Numbers of the words in titles.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        dict: From words to numbers.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.get_movie_title_dict("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return _all(data_file).movie_title_dict


def movie_categories(data_file=None):
    """Numbers of the categories.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        dict: From categories to numbers.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.movie_categories("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return _all(data_file).categories_dict


def user_info(data_file=None):
    """What is known of the users.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        dict: UserInfo by the number of a user.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.user_info("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return _all(data_file).user_info


def movie_info(data_file=None):
    """What is known of the movies.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        dict: MovieInfo by the number of a movie.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.movie_info("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return _all(data_file).movie_info


def max_movie_id(data_file=None):
    """The largest number of a movie.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        int: It.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.max_movie_id("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return max(_all(data_file).movie_info)


def max_user_id(data_file=None):
    """The largest number of a user.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        int: It.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.max_user_id("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return max(_all(data_file).user_info)


def max_job_id(data_file=None):
    """The largest number of a job.

    Args:
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        int: It.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.max_job_id("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return max(user.job_id for user in _all(data_file).user_info.values())


def train(rand_seed=0, test_ratio=0.1, data_file=None):
    """A reader of the ratings for training.

    Args:
        rand_seed (int): which ratings are for testing follows from it.
        test_ratio (float): the part of them.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives lists of numbers: of the user, the movie and the rating, as ``text.Movielens``.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.train(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: Movielens(data_file, "train", test_ratio, rand_seed), as_lists)


def test(rand_seed=0, test_ratio=0.1, data_file=None):
    """A reader of the ratings for testing.

    Args:
        rand_seed (int): which ratings are for testing follows from it.
        test_ratio (float): the part of them.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives lists of numbers: of the user, the movie and the rating, as ``text.Movielens``.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.movielens.test(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: Movielens(data_file, "test", test_ratio, rand_seed), as_lists)
