"""Samples of a reader, a function that returns an iterator, as batches."""


def batch(reader, batch_size, drop_last=False):
    """A reader of lists of batch_size samples; the last one may be shorter unless drop_last."""
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
