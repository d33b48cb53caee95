"""Passes over graphs of old Programs: each name is there and says what quantizes instead."""

import importlib

import pytest

import argosy

quantization = importlib.import_module("argosy.static.quantization")


@pytest.mark.parametrize("name", quantization.__all__)
def test_each_says_what_to_do(name):
    remedy = (
        r"Do this: (train the Layer|run samples through the Layer|use nn\.quant\.weight_quantize)"
    )
    with pytest.raises(NotImplementedError, match=rf"static\.quantization\.{name}\].*{remedy}"):
        getattr(quantization, name)()
    with pytest.raises(NotImplementedError):
        getattr(quantization, name)("model", executor=None)


def test_the_names_that_programs_import():
    from argosy.static.quantization import (  # noqa: F401
        PostTrainingQuantization,
        Quant2Int8MkldnnPass,
        QuantizationTransformPass,
        QuantWeightPass,
        WeightQuantization,
    )

    assert argosy.static.quantization is quantization and len(quantization.__all__) == 21
    assert argosy.nn.quant.weight_quantize and argosy.quantization.PTQ and argosy.quantization.QAT
