"""Movielens 1-M: ratings of films by users."""

import re

import numpy as np

from . import _read
from ._rows import Rows

__all__ = []

_AGES = (1, 18, 25, 35, 45, 50, 56)  # the youngest of each group


class MovieInfo:
    """Number, title and categories of a film."""

    def __init__(self, index, categories, title):
        self.index = int(index)
        self.categories = categories
        self.title = title

    def value(self, categories_dict, movie_title_dict):
        """[[number], numbers of the categories, numbers of the words of the title]."""
        words = [movie_title_dict[word.lower()] for word in self.title.split()]
        return [[self.index], [categories_dict[c] for c in self.categories], words]

    def __repr__(self):
        return f"<MovieInfo id({self.index}), title({self.title}), categories({self.categories})>"


class UserInfo:
    """Number, sex, age group and job of a user."""

    def __init__(self, index, gender, age, job_id):
        self.index = int(index)
        self.is_male = gender == "M"
        self.age = _AGES.index(int(age))
        self.job_id = int(job_id)

    def value(self):
        """[[number], [0 male, 1 female], [age group], [job]]."""
        return [[self.index], [0 if self.is_male else 1], [self.age], [self.job_id]]

    def __repr__(self):
        gender = "M" if self.is_male else "F"
        age = _AGES[self.age]
        return f"<UserInfo id({self.index}), gender({gender}), age({age}), job({self.job_id})>"


class Movielens(Rows):
    """Movielens 1-M: a million ratings of 3,900 films by 6,040 users.

    A sample is 8 arrays: user, sex, age group, job, film, categories, words of the title, and the
    rating, scaled to 2 * stars - 5. Each rating falls into the test part with probability
    `test_ratio`, drawn from NumPy's generator seeded with `rand_seed`.

    Args:
        data_file (str|None): archive; None looks for ``ml-1m.zip`` in the usual folders.
        mode (str): "train" or "test". Default "train".
        test_ratio (float): share of the test part. Default 0.1.
        rand_seed (int): seed of the division. Default 0.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.

    Raises:
        FileNotFoundError: there is no such file; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ValueError: the archive is damaged.

    Examples:
        >>> argosy.text.Movielens(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Movielens] no such file: data_file='no-such-file'
    """

    def __init__(self, data_file=None, mode="train", test_ratio=0.1, rand_seed=0, download=True):
        self.mode = _read.check_mode("Movielens", mode, ("train", "test"))
        self.data_file = _read.locate("Movielens", data_file, "movielens", "ml-1m.zip", download)
        self.test_ratio = test_ratio
        self.rand_seed = rand_seed
        with _read.Archive("Movielens", self.data_file) as archive:

            def records(name):
                with archive.open(f"ml-1m/{name}.dat") as file:
                    for line in file:
                        yield line.decode("latin").strip().split("::")

            self.movie_info = {}
            for number, title, categories in records("movies"):
                title = re.sub(r"\(\d+\)$", "", title)  # without the year
                self.movie_info[int(number)] = MovieInfo(number, categories.split("|"), title)
            self.user_info = {int(r[0]): UserInfo(*r[:4]) for r in records("users")}
            movies = self.movie_info.values()
            self.movie_title_dict = _numbered(w.lower() for m in movies for w in m.title.split())
            self.categories_dict = _numbered(c for m in movies for c in m.categories)
            draw = np.random.RandomState(rand_seed).random_sample
            is_test = self.mode == "test"
            self.data = [
                self._sample(*record)
                for record in records("ratings")
                if (draw() < test_ratio) == is_test
            ]

    def _sample(self, user, movie, stars, _time):
        movie = self.movie_info[int(movie)].value(self.categories_dict, self.movie_title_dict)
        return self.user_info[int(user)].value() + movie + [[2.0 * float(stars) - 5.0]]


def _numbered(words):
    return {word: i for i, word in enumerate(sorted(set(words)))}
