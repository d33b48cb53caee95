"""The convolution that layers for quantization do."""

from .. import functional as F


class ConvolutionOf:
    """Mixed into a layer with a ``bias``: the convolution of an nn.Conv2D with another input and weight."""

    def _take_options(self, layer):
        self._stride, self._dilation = layer._stride, layer._dilation
        self._padding, self._padding_mode = layer._padding, layer._padding_mode
        self._groups, self._data_format = layer._groups, layer._data_format
        if self._padding_mode != "zeros":
            self._reversed_padding_repeated_twice = layer._reversed_padding_repeated_twice

    def _convolve(self, input, weight):
        padding = self._padding
        if self._padding_mode != "zeros":
            input = F.pad(
                input, self._reversed_padding_repeated_twice, self._padding_mode, data_format=self._data_format
            )  # fmt: skip
            padding = 0
        return F.conv2d(
            input, weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )  # fmt: skip
