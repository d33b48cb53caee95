"""Quantization by layer types: ImperativeQuantAware and ImperativePTQ."""

import numpy as np
import pytest

import argosy as paddle
from argosy import nn
from argosy.quantization import (
    SUPPORT_ACT_QUANTIZERS,
    AbsmaxQuantizer,
    HistQuantizer,
    ImperativePTQ,
    ImperativeQuantAware,
    KLQuantizer,
    PerChannelAbsmaxQuantizer,
    PTQConfig,
    PTQRegistry,
)
from argosy.quantization.imperative import fuse_utils
from argosy.quantization.imperative.ptq_quantizer import kl_threshold


def kinds(model):
    return [type(layer).__name__ for layer in model.sublayers()]


def rounded(x, scale):
    return np.round(np.clip(x, -scale, scale) / scale * 127) / 127 * scale


class TestQuantAware:
    def test_layers_are_replaced_by_type(self):
        model = nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
        model[3].skip_quant = True
        assert ImperativeQuantAware().quantize(model) is model
        assert type(model[0]._layer).__name__ == "QuantizedConv2D"
        assert type(model[1]).__name__ == "MAOutputScaleLayer"
        assert isinstance(model[3]._layer, nn.Linear)
        only = nn.Sequential(nn.Conv2D(1, 2, 3), nn.Linear(8, 3))
        ImperativeQuantAware(quantizable_layer_type=[nn.Linear]).quantize(only)
        assert isinstance(only[0]._layer, nn.Conv2D)
        assert type(only[1]._layer).__name__ == "QuantizedLinear"

    @pytest.mark.parametrize("kind", ["abs_max", "channel_wise_abs_max"])
    def test_operands_are_rounded_and_trained(self, kind):
        model = nn.Sequential(nn.Linear(4, 3, bias_attr=False))
        weight = model[0].weight
        ImperativeQuantAware(weight_quantize_type=kind).quantize(model)
        x = np.random.RandomState(0).randn(5, 4).astype("float32")
        y = model(paddle.to_tensor(x))
        w = weight.numpy()
        scale = np.abs(w).max(0 if kind == "channel_wise_abs_max" else None)
        # The first average: state and sum begin at 1 and fade at 0.9.
        size = (0.9 + np.abs(x).max()) / 1.9
        np.testing.assert_allclose(
            y.numpy(), rounded(x, size) @ rounded(w, scale), rtol=1e-4, atol=1e-5
        )
        y.sum().backward()
        assert float(weight.grad.abs().sum()) > 0

    def test_saved_model_computes_as_in_evaluation(self, tmp_path):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        aware = ImperativeQuantAware()
        aware.quantize(model)
        x = paddle.randn([6, 4])
        model(x)
        aware.save_quantized_model(model, str(tmp_path / "q"), [paddle.static.InputSpec([None, 4])])
        assert model.training
        loaded = paddle.jit.load(str(tmp_path / "q"))
        model.eval()
        np.testing.assert_allclose(loaded(x).numpy(), model(x).numpy(), rtol=1e-5, atol=1e-6)

    def test_bits_and_preprocessing(self):
        class Half(nn.Layer):
            def forward(self, x):
                return x * 0.5

        model = nn.Sequential(nn.Linear(4, 3, bias_attr=False))
        w = model[0].weight.numpy()
        ImperativeQuantAware(weight_bits=2, act_preprocess_layer=Half).quantize(model)
        x = paddle.ones([1, 4])
        scale = np.abs(w).max()
        codes = np.sign(w) * (np.abs(w) >= scale / 2)
        size = (0.9 + 0.5) / 1.9
        expected = rounded(np.full([1, 4], 0.5), size) @ (codes * scale)
        np.testing.assert_allclose(model(x).numpy(), expected, rtol=1e-4, atol=1e-5)

    def test_fusing_first(self):
        model = nn.Sequential(nn.Conv2D(1, 2, 3), nn.BatchNorm2D(2))
        ImperativeQuantAware(fuse_conv_bn=True).quantize(model)
        assert "Identity" in kinds(model) and "BatchNorm2D" not in kinds(model)

    def test_onnx_format_watches_quantized_layers_alone_and_is_not_saved(self, tmp_path):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        aware = ImperativeQuantAware(onnx_format=True)
        aware.quantize(model)
        assert isinstance(model[1], nn.ReLU)
        with pytest.raises(NotImplementedError, match=r"onnx_format=True.*use quantization\.QAT"):
            aware.save_quantized_model(model, str(tmp_path / "q"))

    @pytest.mark.parametrize(
        ("arguments", "what"),
        [
            ({"weight_quantize_type": "moving_average_abs_max"}, "weight_quantize_type"),
            ({"activation_quantize_type": "abs_max"}, "activation_quantize_type"),
            ({"quantizable_layer_type": ["Softmax"]}, "quantizable_layer_type"),
            ({"weight_bits": 17}, "weight_bits"),
            ({"act_quantize_layer": 3}, "act_quantize_layer"),
            ({"weight_preprocess_layer": nn.ReLU()}, "weight_preprocess_layer"),
        ],
    )
    def test_wrong_arguments(self, arguments, what):
        with pytest.raises(AssertionError, match=rf"\[ImperativeQuantAware\] {what}: expected"):
            ImperativeQuantAware(**arguments)

    def test_layers_that_cannot_be(self):
        class ColumnParallelLinear(nn.Layer):
            pass

        with pytest.raises(NotImplementedError, match="'0' is a ColumnParallelLinear"):
            ImperativeQuantAware().quantize(nn.Sequential(ColumnParallelLinear()))
        with pytest.raises(AssertionError, match="expected a Layer, got int"):
            ImperativeQuantAware().quantize(3)


class TestQuantizers:
    def test_largest_values_are_kept_over_samples(self):
        quantizer = AbsmaxQuantizer()
        quantizer.sample_data(None, (paddle.to_tensor([1.0, -3.0]), paddle.to_tensor([2.0])))
        quantizer.sample_data(None, (paddle.to_tensor([2.0]), paddle.to_tensor([-5.0])))
        quantizer.cal_thresholds()
        assert quantizer.thresholds == [3.0, 5.0]
        with pytest.raises(AssertionError, match="expected 2 as before, got 1"):
            quantizer.sample_data(None, (paddle.ones([1]),))
        with pytest.raises(AssertionError, match="expected a tuple of Tensors, got Tensor"):
            quantizer.sample_data(None, paddle.ones([1]))

    def test_channels_are_those_of_the_results(self):
        x = paddle.to_tensor(np.arange(6, dtype="float32").reshape(2, 3))
        of_linear, of_conv = PerChannelAbsmaxQuantizer(), PerChannelAbsmaxQuantizer()
        of_linear.sample_data(nn.Linear(2, 3), (x,))
        of_conv.sample_data(nn.Conv2D(1, 1, 1), (x,))
        assert of_linear.abs_max_vals == [[3.0, 4.0, 5.0]]
        assert of_conv.abs_max_vals == [[2.0, 5.0]]

    def test_counts_follow_a_wider_sample(self):
        quantizer = HistQuantizer(bins=8, upsample_bins=4, hist_percent=0.5)
        quantizer.sample_data(None, (paddle.full([80], 1.0),))
        quantizer.sample_data(None, (paddle.full([10], 3.9),))
        assert quantizer.hists[0].sum() == pytest.approx(90)
        assert quantizer.abs_max_vals[0] >= 3.9
        quantizer.cal_thresholds()
        quantizer.cal_thresholds()  # the same again, not a second threshold
        assert len(quantizer.thresholds) == 1
        width = quantizer.abs_max_vals[0] / 8
        assert abs(quantizer.thresholds[0] - 1.0) <= 1.5 * width

    def test_zeros_have_no_counts(self):
        quantizer = KLQuantizer()
        quantizer.sample_data(None, (paddle.zeros([4]),))
        quantizer.cal_thresholds()
        assert quantizer.thresholds == [0.0]

    def test_divergence_is_least_at_the_threshold(self):
        counts = np.histogram(np.abs(np.random.RandomState(0).laplace(size=20000)), bins=512)[0]
        counts = counts.astype("float64")
        cut = round(kl_threshold(counts, 1.0, 8) - 0.5)

        def divergence(cut):
            p = counts[:cut].copy()
            p[-1] += counts[cut:].sum()
            q, width = np.zeros(cut), cut // 127
            for i in range(127):
                part = slice(i * width, cut if i == 126 else (i + 1) * width)
                there = p[part] != 0
                if there.any():
                    q[part][there] = counts[:cut][part].sum() / there.sum()
            at = p != 0
            return (p[at] / p.sum() * np.log(p[at] / p.sum() / (q[at] / q.sum()))).sum()

        cuts = [c for c in range(255, 512) if counts[c - 1] != 0]
        assert divergence(cut) == pytest.approx(min(divergence(c) for c in cuts))

    def test_wrong_arguments(self):
        for bits in (0, 17, 8.0):
            with pytest.raises(AssertionError, match="quant_bits: expected an int of 1 to 16"):
                AbsmaxQuantizer(quant_bits=bits)
        with pytest.raises(AssertionError, match="hist_percent: expected a number below 1"):
            HistQuantizer(hist_percent=1.0)
        one = KLQuantizer(quant_bits=1)
        one.sample_data(None, (paddle.ones([4]),))
        with pytest.raises(ValueError, match="quant_bits: expected 2 or more, got 1"):
            one.cal_thresholds()
        few = KLQuantizer(bins=16)
        few.sample_data(None, (paddle.ones([4]),))
        with pytest.raises(ValueError, match="bins: expected 255 or more for 8 bits, got 16"):
            few.cal_thresholds()


class TestPTQ:
    def test_converted_model_rounds_by_what_was_seen(self, tmp_path):
        model = nn.Sequential(nn.Linear(4, 3, bias_attr=False), nn.ReLU()).eval()
        w = model[0].weight.numpy()
        ptq = ImperativePTQ(PTQConfig(AbsmaxQuantizer(), PerChannelAbsmaxQuantizer()))
        watched = ptq.quantize(model)
        assert watched is not model
        x = np.random.RandomState(1).randn(5, 4).astype("float32")
        watched(paddle.to_tensor(x))
        ptq.save_quantized_model(watched, str(tmp_path / "q"), [paddle.static.InputSpec([None, 4])])
        expected = np.maximum(rounded(x, np.abs(x).max()) @ rounded(w, np.abs(w).max(0)), 0)
        for made in (watched, paddle.jit.load(str(tmp_path / "q"))):
            np.testing.assert_allclose(
                made(paddle.to_tensor(x)).numpy(), expected, rtol=1e-4, atol=1e-5
            )
        # Later values are cut off at the thresholds: hooks no longer look at them.
        np.testing.assert_allclose(
            watched(paddle.to_tensor(x * 100)).numpy().max(),
            watched(paddle.to_tensor(x * 1000)).numpy().max(),
        )

    def test_a_model_can_be_saved_again(self, tmp_path):
        ptq = ImperativePTQ(PTQConfig(AbsmaxQuantizer(), PerChannelAbsmaxQuantizer()))
        model = ptq.quantize(nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval())
        x = paddle.randn([5, 4])
        model(x)
        for name in ("a", "b"):
            ptq.save_quantized_model(model, str(tmp_path / name), [paddle.static.InputSpec([5, 4])])
        first, second = (paddle.jit.load(str(tmp_path / name))(x).numpy() for name in ("a", "b"))
        np.testing.assert_array_equal(first, second)

    def test_after_a_refusal_a_model_is_observed_still(self, tmp_path):
        ptq = ImperativePTQ(PTQConfig(AbsmaxQuantizer(), AbsmaxQuantizer()))
        model = ptq.quantize(nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval())
        spec = [paddle.static.InputSpec([1, 2])]
        model[0](paddle.ones([1, 2]))
        with pytest.raises(RuntimeError, match="layer '1' has computed nothing"):
            ptq.save_quantized_model(model, str(tmp_path / "q"), spec)
        model(paddle.ones([1, 2]) * 3)
        ptq.save_quantized_model(model, str(tmp_path / "q"), spec)
        assert type(model[0]).__name__ == "QuantizedLinear"
        assert float(model[0]._fake_quant_input._scale) == 3.0

    def test_a_model_that_computed_nothing(self, tmp_path):
        ptq = ImperativePTQ()
        with pytest.raises(RuntimeError, match="layer '0' has computed nothing"):
            ptq.save_quantized_model(
                ptq.quantize(nn.Sequential(nn.Linear(2, 2))), str(tmp_path / "q")
            )

    def test_layers_get_configs_of_their_own(self):
        config = PTQConfig(AbsmaxQuantizer(), AbsmaxQuantizer())
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout())
        model[1].skip_quant = True
        watched = ImperativePTQ(config).quantize(model, inplace=True)
        assert watched is model
        watched(paddle.ones([1, 2]))
        assert watched[0]._quant_config.enable_in_act_quantizer
        assert config.in_act_quantizer.abs_max_vals == []
        assert not hasattr(watched[1], "_quant_config") and not hasattr(watched[2], "_quant_config")

    def test_wrong_arguments(self):
        with pytest.raises(
            AssertionError, match="weight_quantizer: expected one of AbsmaxQuantizer, Per"
        ):
            PTQConfig(AbsmaxQuantizer(), KLQuantizer())
        with pytest.raises(AssertionError, match="quant_config: expected a PTQConfig, got int"):
            ImperativePTQ(3)
        with pytest.raises(TypeError, match="fuse_list is missing"):
            ImperativePTQ().quantize(nn.Sequential(), fuse=True)

    def test_registry(self):
        assert PTQRegistry.is_supported_layer(nn.ReLU())
        assert not PTQRegistry.is_supported_layer(nn.GELU)
        assert PTQRegistry.is_registered_layer(nn.quant.quant_layers.QuantizedLinear)
        assert not PTQRegistry.is_supported_layer(nn.quant.quant_layers.QuantizedLinear)
        assert PTQRegistry.layer_info(nn.Conv2D).weight_names == ["Filter"]
        with pytest.raises(AssertionError, match="expected one that is registered"):
            PTQRegistry.layer_info(nn.GELU)
        assert AbsmaxQuantizer in SUPPORT_ACT_QUANTIZERS


class TestFusing:
    @pytest.mark.parametrize("bias", [None, False])
    def test_the_fused_model_computes_the_same(self, bias):
        conv = nn.Sequential(nn.Conv2D(2, 3, 3, bias_attr=bias), nn.BatchNorm2D(3))
        linear = nn.Sequential(nn.Linear(4, 3, bias_attr=bias), nn.BatchNorm1D(3))
        for model, shape in ((conv, [2, 2, 5, 5]), (linear, [6, 4])):
            for value in model[1].state_dict().values():
                value.set_value(paddle.rand(value.shape) + 0.5)
            model.eval()
            x = paddle.randn(shape)
            fused = fuse_utils.fuse_layers(model, [["0", "1"]])
            assert fused is not model and isinstance(model[1], (nn.BatchNorm2D, nn.BatchNorm1D))
            np.testing.assert_allclose(fused(x).numpy(), model(x).numpy(), rtol=1e-4, atol=1e-5)

    def test_each_layer_stays_in_its_mode(self, tmp_path):
        model = nn.Sequential(nn.Conv2D(1, 2, 1), nn.BatchNorm2D(2), nn.Dropout(), nn.Linear(2, 2))
        model[2].eval()
        before = [layer.training for layer in model.sublayers(include_self=True)]
        fuse_utils.fuse_conv_bn(model)
        assert [layer.training for layer in model.sublayers(include_self=True)] == before
        aware = ImperativeQuantAware()
        aware.quantize(model)
        before = [layer.training for layer in model.sublayers(include_self=True)]
        assert True in before and False in before
        spec = [paddle.static.InputSpec([1, 1, 2, 2])]
        aware.save_quantized_model(model, str(tmp_path / "q"), spec)
        assert [layer.training for layer in model.sublayers(include_self=True)] == before
        with pytest.raises(TypeError):
            aware.save_quantized_model(model, 3, spec)
        assert [layer.training for layer in model.sublayers(include_self=True)] == before

    def test_what_cannot_be_fused(self):
        with pytest.raises(
            ValueError, match="expected a Conv2D and its BatchNorm2D.*got ReLU, ReLU"
        ):
            fuse_utils.fuse_layers(nn.Sequential(nn.ReLU(), nn.ReLU()), [["0", "1"]])
        with pytest.raises(NotImplementedError, match="are in training"):
            fuse_utils.fuse_layers(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2)), [["0", "1"]])
