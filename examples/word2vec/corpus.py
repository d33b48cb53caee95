"""A corpus with planted meaning: words of one topic occur together, so their vectors must be near."""

import numpy as np


def make(words=10_000, topics=100, sentences=40_000, length=25, noise=0.3, seed=0):
    """Sentences over `words` words.

    Each word belongs to one of `topics` topics, and frequencies within a topic follow Zipf's law. A
    sentence has one topic; each of its words is drawn from it, or with probability `noise` from
    anywhere.

    Returns:
        tokens int64 [sentences, length] and the topic of each word, int64 [words].
    """
    random = np.random.default_rng(seed)
    per_topic = words // topics
    topic_of = np.arange(words) % topics
    rank_weight = 1 / np.arange(1, per_topic + 1)
    rank_weight /= rank_weight.sum()
    shape = (sentences, length)
    rank = random.choice(per_topic, size=shape, p=rank_weight)
    topic = np.broadcast_to(random.integers(topics, size=(sentences, 1)), shape)
    anywhere = random.random(shape) < noise
    topic = np.where(anywhere, random.integers(topics, size=shape), topic)
    return rank * topics + topic, topic_of


def separation(vectors, topic_of, counts, pairs=200_000, seed=1):
    """How well cosines tell words of one topic from others: the probability that a pair of one topic
    is nearer than a pair of two (1 is perfect, 0.5 is chance), over words seen at least 20 times."""
    random = np.random.default_rng(seed)
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    known = np.flatnonzero(counts >= 20)
    a = random.choice(known, pairs)
    b = random.choice(known, pairs)
    # Half of the pairs are looked for within the topic of a.
    within = known[np.argsort(topic_of[known], kind="stable")]
    start = np.searchsorted(topic_of[within], topic_of[a])
    size = np.searchsorted(topic_of[within], topic_of[a], side="right") - start
    same = within[start + random.integers(0, 1 << 62, pairs) % size]
    b = np.where(np.arange(pairs) % 2 == 0, same, b)
    distinct = a != b
    a, b = a[distinct], b[distinct]
    cosine = np.einsum("nd,nd->n", vectors[a], vectors[b])
    near = topic_of[a] == topic_of[b]
    rank = np.empty(len(cosine))
    rank[np.argsort(cosine, kind="stable")] = np.arange(1, len(cosine) + 1)
    positive = near.sum()
    wins = rank[near].sum() - positive * (positive + 1) / 2
    return wins / (positive * (~near).sum())
