"""Thresholds of numbers that are to be rounded, from samples of them."""

from __future__ import annotations

import abc
import math

import numpy as np

from argosy import nn, tensor

from .utils import SECOND_AXIS


def _largest(x):
    return float(tensor.max(tensor.abs(x)))


def _merged(old, new):
    """The larger of two numbers at each place of two (nested) lists."""
    if not old:
        return new
    if len(old) != len(new):
        raise AssertionError(
            f"[sample_data] tensors: expected {len(old)} as before, got {len(new)}. Do this: give one"
            " quantizer the tensors of one layer."
        )
    return [
        _merged(a, b) if isinstance(a, list) else max(a, b) for a, b in zip(old, new, strict=True)
    ]


def _check_tensors(tensors):
    if not isinstance(tensors, tuple):
        raise AssertionError(
            f"[sample_data] tensors: expected a tuple of Tensors, got {type(tensors).__name__}. Do"
            " this: pass (x,)."
        )


class BaseQuantizer(abc.ABC):
    """Sees samples of tensors, and tells at which size their numbers are cut off.

    Args:
        quant_bits (int): bits of the integers, 1 to 16.

    Attributes: ``abs_max_vals``, what was seen; ``thresholds``, one for each tensor of a sample, there
    after ``cal_thresholds``.

    Raises:
        AssertionError: ``quant_bits`` is none of these.

    Example:
        >>> class Middle(argosy.quantization.imperative.BaseQuantizer):
        ...     def sample_data(self, layer, tensors):
        ...         self.abs_max_vals = [float(x.abs().mean()) for x in tensors]
        ...
        ...     def cal_thresholds(self):
        ...         self.thresholds = self.abs_max_vals
        >>> quantizer = Middle()
        >>> quantizer.sample_data(None, (argosy.to_tensor([1.0, -3.0]),))
        >>> quantizer.cal_thresholds()
        >>> quantizer.thresholds
        [2.0]
    """

    def __init__(self, quant_bits=8):
        if not isinstance(quant_bits, int) or not 0 < quant_bits <= 16:
            raise AssertionError(
                f"[{type(self).__name__}] quant_bits: expected an int of 1 to 16, got {quant_bits}. Do"
                " this: pass 8."
            )
        self.quant_bits = quant_bits
        self.abs_max_vals = []
        self.thresholds = []

    @abc.abstractmethod
    def sample_data(self, layer, tensors):
        """Takes a sample.

        Args:
            layer (Layer): whose tensors they are.
            tensors (tuple of Tensor): float, of any shapes.
        """

    @abc.abstractmethod
    def cal_thresholds(self):
        """Sets ``thresholds`` from what was seen."""


class AbsmaxQuantizer(BaseQuantizer):
    """The threshold is the largest absolute value of a tensor.

    Args:
        quant_bits (int): bits of the integers.

    Raises:
        AssertionError: ``quant_bits`` is not 1 to 16.

    Example:
        >>> quantizer = argosy.quantization.imperative.AbsmaxQuantizer()
        >>> quantizer.sample_data(None, (argosy.to_tensor([1.0, -3.0]),))
        >>> quantizer.cal_thresholds()
        >>> quantizer.thresholds
        [3.0]
    """

    def sample_data(self, layer, tensors):
        """Takes a sample; see BaseQuantizer."""
        _check_tensors(tensors)
        self.abs_max_vals = _merged(self.abs_max_vals, [_largest(x) for x in tensors])

    def cal_thresholds(self):
        """Sets ``thresholds`` from what was seen."""
        self.thresholds = self.abs_max_vals


class PerChannelAbsmaxQuantizer(BaseQuantizer):
    """A threshold for each channel of the layer's results: its largest absolute value.

    Args:
        quant_bits (int): bits of the integers.

    Raises:
        AssertionError: ``quant_bits`` is not 1 to 16.

    Example:
        >>> quantizer = argosy.quantization.imperative.PerChannelAbsmaxQuantizer()
        >>> weight = argosy.to_tensor([[1.0, -3.0], [2.0, 0.5]])
        >>> quantizer.sample_data(argosy.nn.Linear(2, 2), (weight,))
        >>> quantizer.cal_thresholds()
        >>> quantizer.thresholds
        [[2.0, 3.0]]
    """

    def sample_data(self, layer, tensors):
        """Takes a sample; see BaseQuantizer.

        Raises:
            AssertionError: ``layer`` is no Layer.
        """
        if not isinstance(layer, nn.Layer):
            raise AssertionError(
                f"[PerChannelAbsmaxQuantizer] layer: expected a Layer, got {type(layer).__name__}. Do"
                " this: pass the layer, which says where its channels are."
            )
        _check_tensors(tensors)
        axis = 1 if isinstance(layer, SECOND_AXIS) else 0
        seen = []
        for x in tensors:
            rest = [i for i in range(len(x.shape)) if i != axis]
            seen.append(tensor.max(tensor.abs(x), rest).tolist())
        self.abs_max_vals = _merged(self.abs_max_vals, seen)

    def cal_thresholds(self):
        """Sets ``thresholds`` from what was seen."""
        self.thresholds = self.abs_max_vals


class BaseHistQuantizer(BaseQuantizer):
    """Counts absolute values in bins between zero and the largest one.

    Args:
        quant_bits (int): bits of the integers.
        bins (int): how many bins.
        upsample_bins (int): into how many parts a bin is cut when a later sample is wider.
    """

    def __init__(self, quant_bits=8, bins=1024, upsample_bins=64):
        super().__init__(quant_bits)
        self.bins, self.upsample_bins = bins, upsample_bins
        self.hists = []

    def _counts(self, sizes, largest):
        return np.histogram(sizes, range=(0.0, largest), bins=self.bins)[0].astype(np.float32)

    def _wider(self, counts, largest, wanted):
        """Counts up to `largest` as counts in bins that reach `wanted` or a bit further."""
        width = largest / (self.bins * self.upsample_bins)
        parts = math.ceil(wanted / (self.bins * width))
        fine = np.zeros(self.bins * parts)
        fine[: self.bins * self.upsample_bins] = np.repeat(counts, self.upsample_bins)
        together = fine.reshape(self.bins, parts).sum(1) / self.upsample_bins
        return together.astype(np.float32), self.bins * width * parts

    def sample_data(self, layer, tensors):
        """Takes a sample; see BaseQuantizer."""
        _check_tensors(tensors)
        if not self.abs_max_vals:
            self.abs_max_vals = [0.0] * len(tensors)
            self.hists = [None] * len(tensors)
        _merged(self.abs_max_vals, [0.0] * len(tensors))
        for i, x in enumerate(tensors):
            sizes = tensor.abs(x).numpy()
            largest = float(sizes.max())
            if largest == 0.0:
                continue
            if self.hists[i] is None:
                self.abs_max_vals[i], self.hists[i] = largest, self._counts(sizes, largest)
                continue
            if largest > self.abs_max_vals[i]:
                self.hists[i], self.abs_max_vals[i] = self._wider(
                    self.hists[i], self.abs_max_vals[i], largest
                )
            self.hists[i] = self.hists[i] + self._counts(sizes, self.abs_max_vals[i])

    @abc.abstractmethod
    def _threshold(self, counts, largest):
        """The threshold of counts in bins up to `largest`."""

    def cal_thresholds(self):
        """Sets ``thresholds`` from what was seen."""
        self.thresholds = [
            largest if counts is None else self._threshold(counts, largest)
            for counts, largest in zip(self.hists, self.abs_max_vals, strict=True)
        ]


class HistQuantizer(BaseHistQuantizer):
    """The threshold leaves all but a small part of the numbers below it.

    Args:
        quant_bits (int): bits of the integers.
        bins (int): how many bins.
        upsample_bins (int): see BaseHistQuantizer.
        hist_percent (float): the part of the numbers, below 1.

    Raises:
        AssertionError: ``quant_bits`` is not 1 to 16, or ``hist_percent`` not below 1.

    Example:
        >>> quantizer = argosy.quantization.imperative.HistQuantizer(bins=10, hist_percent=0.5)
        >>> quantizer.sample_data(None, (argosy.arange(11).astype("float32"),))
        >>> quantizer.cal_thresholds()
        >>> quantizer.thresholds
        [4.5]
    """

    def __init__(self, quant_bits=8, bins=1024, upsample_bins=64, hist_percent=0.99999):
        super().__init__(quant_bits, bins, upsample_bins)
        if not hist_percent < 1.0:
            raise AssertionError(
                f"[HistQuantizer] hist_percent: expected a number below 1, got {hist_percent}. Do this:"
                " pass 0.99999, or use AbsmaxQuantizer."
            )
        self.hist_percent = hist_percent

    def _threshold(self, counts, largest):
        part = np.cumsum(counts / np.sum(counts, dtype=np.float64))
        first = int(np.argmax(part >= self.hist_percent))
        return float((first - 0.5) * (largest / len(counts)))


class KLQuantizer(BaseHistQuantizer):
    """The threshold whose rounding keeps the distribution of the numbers best (Kullback-Leibler divergence).

    Args:
        quant_bits (int): bits of the integers.
        bins (int): how many bins.
        upsample_bins (int): see BaseHistQuantizer.

    Example:
        >>> quantizer = argosy.quantization.imperative.KLQuantizer(bins=512)
        >>> quantizer.sample_data(None, (argosy.linspace(0, 1, 2000),))
        >>> quantizer.cal_thresholds()
        >>> 0.5 < quantizer.thresholds[0] <= 1.01
        True
    """

    def _threshold(self, counts, largest):
        return kl_threshold(counts, largest / len(counts), self.quant_bits)


def _rounded(counts, reference, levels):
    """A distribution over bins after rounding to `levels` numbers: what is in the bins of a number, spread
    evenly over those of them in which there is something."""
    length = len(counts)
    width = length // levels
    bounds = [i * width for i in range(levels)] + [length]
    filled = reference != 0
    result = np.zeros(length)
    for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
        there = np.count_nonzero(filled[begin:end])
        if there:
            result[begin:end][filled[begin:end]] = counts[begin:end].sum() / there
    return result


def kl_threshold(counts, width, bits):
    """The threshold of numbers in bins that loses least to rounding.

    Of all cuts in the upper half of the bins, what is above is added to the last bin below; the divergence
    of that distribution from its rounding to 2^(bits - 1) - 1 numbers is to be least.

    Args:
        counts (numpy.ndarray): how many numbers are in each bin.
        width (float): of a bin.
        bits (int): of the integers.

    Returns:
        float.

    Raises:
        ValueError: there are too few bins for the bits, or there is one bit.
    """
    levels = 2 ** (bits - 1) - 1
    if levels == 0:
        raise ValueError(
            "[KLQuantizer] quant_bits: expected 2 or more, got 1: rounding to no number but 0 loses all. Do"
            " this: pass 8."
        )
    start = (len(counts) - 1) // 2
    if start < levels:
        raise ValueError(
            f"[KLQuantizer] bins: expected {2 * levels + 1} or more for {bits} bits, got {len(counts)}. Do"
            " this: take more bins."
        )
    counts = counts.astype(np.float64)
    total = counts.sum()
    best, found = None, 0
    for cut in range(start, len(counts)):
        reference = counts[:cut].copy()
        if reference[-1] == 0:
            continue
        reference[-1] += counts[cut:].sum()
        candidate = _rounded(counts[:cut], reference, levels)
        at = reference != 0
        p, q = reference[at], candidate[at]
        divergence = (p * np.log(candidate.sum() * p / (total * q))).sum() / total
        if best is None or divergence < best:
            best, found = divergence, cut
    if best is None:
        filled = np.flatnonzero(counts[: start + 1])
        found = int(filled[-1]) if len(filled) else 0
    return float((found + 0.5) * width)


SUPPORT_ACT_QUANTIZERS = [AbsmaxQuantizer, HistQuantizer, KLQuantizer]
SUPPORT_WT_QUANTIZERS = [AbsmaxQuantizer, PerChannelAbsmaxQuantizer]
