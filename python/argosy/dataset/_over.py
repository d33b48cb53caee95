"""Readers over data sets of samples."""


def reader_over(make, sample=tuple):
    """A reader: a function without arguments whose calls go through the samples of a data set.

    Args:
        make (callable): makes the data set, which happens at once.
        sample (callable): what is given for each of its samples.
    """
    data = make()

    def reader():
        for i in range(len(data)):
            yield sample(data[i])

    return reader


def as_lists(sample):
    """The arrays of a sample as lists."""
    return tuple(part.tolist() for part in sample)
