"""The categorical distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import sizes_of as sizes_of_tensor
from argosy.autograd import no_grad
from argosy.nn import functional as F

from .distribution import Distribution, as_parameter, check, sizes_of


class Categorical(Distribution):
    """Distribution over the indices 0 to K - 1.

    Paddle reads ``logits`` [..., K] in two ways, which agree only where the exponentials of the
    logits are proportional to them: probs and log_prob take them as weights, which they divide by
    their sum; sample, entropy and kl_divergence take their softmax.

    Args:
        logits (array | Tensor): [.., K], see above.

    Raises:
        ValueError: ``logits`` is 0-d.

    Examples:
        >>> dist = argosy.distribution.Categorical(argosy.to_tensor([1.0, 3.0]))
        >>> dist.probs(argosy.to_tensor([0, 1])).tolist()
        [0.25, 0.75]
        >>> dist.sample([5]).shape
        paddle.Size([5])
    """

    def __init__(self, logits, name=None):
        self.name = name or "Categorical"
        self.logits = as_parameter(logits)
        check(
            self.logits.ndim >= 1, ValueError, "Categorical",
            "logits must have a dimension or more, got a 0-d tensor", "pass a vector",
        )  # fmt: skip
        self._prob = self.logits / self.logits.sum(-1, keepdim=True)
        super().__init__(self.logits.shape[:-1], like=self.logits)

    def sample(self, shape=()):
        """Draws int64 indices."""
        shape = sizes_of(shape)
        count = 1
        for size in shape:
            count *= size
        with no_grad():
            rows = self.logits.flatten(0, -2) if self.logits.ndim > 1 else self.logits.unsqueeze(0)
            drawn = tensor.multinomial(F.softmax(rows, -1), count, True)
            return drawn.transpose([1, 0]).reshape(self._extend_shape(shape))

    def entropy(self):
        """Expected -log softmax(logits), in nats."""
        return -(F.softmax(self.logits, -1) * F.log_softmax(self.logits, -1)).sum(-1)

    def kl_divergence(self, other):
        """KL of the softmaxes of the logits, with a last dimension of 1."""
        difference = F.log_softmax(self.logits, -1) - F.log_softmax(other.logits, -1)
        return (F.softmax(self.logits, -1) * difference).sum(-1, keepdim=True)

    @beside
    def probs(self, value):
        """Probabilities of the indices value: [n] for a vector of logits, or for each row of them;
        otherwise value has the batch's leading dimensions."""
        value = value.astype("int64") if isinstance(value, Tensor) else tensor.to_tensor(value)
        if self._prob.ndim == 1:
            return tensor.gather(self._prob, value.reshape([-1])).reshape(sizes_of_tensor(value))
        if value.ndim == 1:
            value = value.expand([*self._extend_shape([]), *sizes_of_tensor(value)])
        return tensor.take_along_axis(self._prob, value, -1)

    def prob(self, value):
        """Another name of probs."""
        return self.probs(value)

    def log_prob(self, value):
        """Logarithm of probs(value)."""
        return tensor.log(self.probs(value))
