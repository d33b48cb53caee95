"""A way of our own to exchange gradients: only the largest ones travel.

Of each bucket a process sends the `share` of values that are largest, with their places; what it keeps back
is added to its next gradients, so nothing is lost, only late (error feedback: Stich, Cordonnier and Jaggi,
arXiv:1809.07599). With a share of 1/32, a value of 4 bytes and a place of 8, that is 3/32 of the bytes.
"""

import argosy as paddle
import argosy.distributed as dist


class TopK:
    """A communication hook of DataParallel.

    Args:
        share (float): Of the values of a bucket, how many are sent.
    """

    def __init__(self, share):
        self.share = share
        self.kept_back = {}  # by the number of the bucket's first parameter

    def __call__(self, bucket):
        flat = paddle.concat([gradient.flatten() for gradient in bucket.gradients])
        key = id(bucket.parameters[0])
        if key in self.kept_back:
            flat = flat + self.kept_back[key]
        count = max(1, int(flat.shape[0] * self.share))
        places = flat.abs().topk(count)[1]
        values = flat[places]
        self.kept_back[key] = flat.put_along_axis(places, paddle.zeros_like(values), 0)
        return _Exchange(bucket, places, values)


class _Exchange:
    """What a hook returns: begun in the middle of backward, waited for at its end."""

    def __init__(self, bucket, places, values):
        self.bucket = bucket
        self.all_places, self.all_values = [], []
        self.tasks = [
            dist.all_gather(self.all_places, places, group=bucket.group, sync_op=False),
            dist.all_gather(self.all_values, values, group=bucket.group, sync_op=False),
        ]

    def wait(self):
        for task in self.tasks:
            task.wait()
        bucket = self.bucket
        sizes = [gradient.size for gradient in bucket.gradients]
        with paddle.no_grad():
            total = paddle.zeros([sum(sizes)], bucket.gradients[0].dtype)
            for places, values in zip(self.all_places, self.all_values):
                total = total.put_along_axis(places, values, 0, reduce="add")
            parts = (total / bucket.group.nranks).split(sizes)
            for gradient, part in zip(bucket.gradients, parts):
                paddle.assign(part.reshape(gradient.shape), gradient)


# What a strategy names: strategy.communication_hook = "top_k:largest".
largest = TopK(1 / 32)
