"""Samples of a reader, a function that returns an iterator, as batches."""


def batch(reader, batch_size, drop_last=False):
    """Groups the samples of a reader.

    Args:
        reader (callable): Returns an iterator of samples.
        batch_size (int): Samples of a group.
        drop_last (bool): Whether to leave out a smaller last group.

    Returns:
        callable: Returns an iterator of lists of samples.

    Raises:
        ValueError: batch_size is not positive.

    Example:
        >>> list(argosy.batch(lambda: iter(range(5)), 2)())
        [[0, 1], [2, 3], [4]]
    """
    if batch_size <= 0:
        raise ValueError(
            f"[batch] batch_size must be 1 or more, got {batch_size}. Do this: pass a positive int."
        )

    def batches():
        samples = []
        for sample in reader():
            samples.append(sample)
            if len(samples) == batch_size:
                yield samples
                samples = []
        if samples and not drop_last:
            yield samples

    return batches
