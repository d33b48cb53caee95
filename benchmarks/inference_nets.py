"""The networks of benchmarks/inference.py, for Argosy and as ONNX files: `inference_nets.py FOLDER`."""

import pathlib
import sys

import numpy as np

import argosy as paddle


class Bert(paddle.nn.Layer):
    """BERT-base on token ids."""

    def __init__(self, hidden=768, heads=12, inner=3072, layers=12, words=30522):
        super().__init__()
        self.words = paddle.nn.Embedding(words, hidden)
        self.norm = paddle.nn.LayerNorm(hidden)
        layer = paddle.nn.TransformerEncoderLayer(hidden, heads, inner, activation="gelu")
        self.encoder = paddle.nn.TransformerEncoder(layer, layers)
        self.pooler = paddle.nn.Linear(hidden, hidden)

    def forward(self, ids):
        return paddle.tanh(self.pooler(self.encoder(self.norm(self.words(ids)))[:, 0]))


def mlp():
    nn = paddle.nn
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    )


IMAGES = ([None, 3, 224, 224], "float32")
NETS = {
    "mlp": (mlp, ([None, 784], "float32")),
    "mobilenet_v2": (paddle.vision.models.mobilenet_v2, IMAGES),
    "resnet50": (paddle.vision.models.resnet50, IMAGES),
    "bert": (Bert, ([None, 128], "int64")),
}


def spread_statistics(net):
    """Running statistics as those of a trained net, rather than 0 and 1."""
    for name, buffer in net.named_buffers():
        if name.endswith(("_mean", "_variance")):
            low, high = (-0.2, 0.2) if name.endswith("_mean") else (0.5, 1.5)
            buffer.set_value(np.random.uniform(low, high, buffer.shape).astype("float32"))


def main():
    folder = pathlib.Path(sys.argv[1])
    for key, (make, (shape, dtype)) in NETS.items():
        paddle.seed(1)
        np.random.seed(1)
        net = make()
        net.eval()
        spread_statistics(net)
        spec = [paddle.static.InputSpec(shape, dtype, "x")]
        paddle.jit.save(net, str(folder / key), input_spec=spec)
        paddle.onnx.export(net, str(folder / key), input_spec=spec, opset_version=17)


if __name__ == "__main__":
    main()
