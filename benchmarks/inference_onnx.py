"""ONNX graphs of the networks that inference_nets.py described: `inference_onnx.py FOLDER`, in an
interpreter with the package onnx."""

import ast
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LENGTH = 128  # tokens


class Graph:
    """The graph of one net."""

    def __init__(self, described, weights):
        self.nodes = []
        self.weights = [numpy_helper.from_array(w, name) for name, w in weights.items()]
        for op, inputs, results, attrs in described["operations"]:
            values = {key: ast.literal_eval(value) for key, value in attrs.items()}
            getattr(self, op)(inputs, results[0], values)

    def node(self, kind, inputs, output, **attrs):
        self.nodes.append(helper.make_node(kind, inputs, [output], **attrs))
        return output

    def constant(self, output, values, dtype=np.int64):
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), output))
        return output

    def conv2d(self, i, out, a):
        top, bottom, left, right = a["padding"]
        inputs = [*i["x"], *i["weight"], *i.get("bias", [])]
        self.node(
            "Conv", inputs, out, strides=a["stride"], dilations=a["dilation"], group=a["groups"],
            pads=[top, left, bottom, right],
        )  # fmt: skip

    def batch_norm(self, i, out, a):
        inputs = [i[key][0] for key in ("x", "weight", "bias", "mean", "variance")]
        self.node("BatchNormalization", inputs, out, epsilon=a["epsilon"])

    def max_pool2d(self, i, out, a):
        top, bottom, left, right = a["padding"]
        pads = [top, left, bottom, right]
        self.node("MaxPool", i["x"], out, kernel_shape=a["kernel"], strides=a["stride"], pads=pads)

    def adaptive_avg_pool2d(self, i, out, a):
        self.node("GlobalAveragePool", i["x"], out)

    def flatten(self, i, out, a):
        self.node("Flatten", i["x"], out)

    def linear(self, i, out, a):
        product = self.node("MatMul", [*i["x"], *i["weight"]], out + "_product")
        self.node("Add", [product, *i["bias"]], out)

    def relu(self, i, out, a):
        self.node("Relu", i["x"], out)

    def relu6(self, i, out, a):
        low = self.constant(out + "_low", 0, np.float32)
        high = self.constant(out + "_high", 6, np.float32)
        self.node("Clip", [*i["x"], low, high], out)

    def gelu(self, i, out, a):
        self.node("Gelu", i["x"], out)

    def tanh(self, i, out, a):
        self.node("Tanh", i["x"], out)

    def assign(self, i, out, a):
        self.node("Identity", i["x"], out)

    def add(self, i, out, a):
        self.node("Add", [*i["x"], *i["y"]], out)

    def embedding(self, i, out, a):
        self.node("Gather", [*i["weight"], *i["x"]], out)

    def layer_norm(self, i, out, a):
        inputs = [i[key][0] for key in ("x", "weight", "bias")]
        self.node("LayerNormalization", inputs, out, axis=-1, epsilon=a["epsilon"])

    def reshape(self, i, out, a):
        self.node("Reshape", [*i["x"], self.constant(out + "_shape", a["shape"])], out)

    def slice(self, i, out, a):
        assert a["starts"] == [0] and a["axes"] == [1]
        self.node("Gather", [*i["x"], self.constant(out + "_at", 0)], out, axis=1)

    def tiled_attention(self, i, out, a):
        query, key, value = (i[name][0] for name in ("q", "k", "v"))
        q = self.node("Transpose", [query], out + "_q", perm=[0, 2, 1, 3])
        k = self.node("Transpose", [key], out + "_k", perm=[0, 2, 3, 1])
        v = self.node("Transpose", [value], out + "_v", perm=[0, 2, 1, 3])
        scores = self.node("MatMul", [q, k], out + "_scores")
        root = self.constant(out + "_root", 8, np.float32)  # of 64 elements a head
        weights = self.node(
            "Softmax", [self.node("Div", [scores, root], out + "_scaled")], out + "_p"
        )
        mixed = self.node("MatMul", [weights, v], out + "_mixed")
        self.node("Transpose", [mixed], out, perm=[0, 2, 1, 3])


def main():
    folder = pathlib.Path(sys.argv[1])
    for path in sorted(folder.glob("*.json")):
        described = json.loads(path.read_text())
        graph = Graph(described, np.load(path.with_suffix(".npz")))
        kind, shape = TensorProto.FLOAT, ["n", 3, 224, 224]
        if path.stem == "bert":
            kind, shape = TensorProto.INT64, ["n", LENGTH]
        elif path.stem == "mlp":
            shape = ["n", 784]
        inputs = [helper.make_tensor_value_info(described["inputs"][0], kind, shape)]
        outputs = [helper.make_tensor_value_info(described["outputs"][0], TensorProto.FLOAT, None)]
        built = helper.make_graph(graph.nodes, path.stem, inputs, outputs, graph.weights)
        model = helper.make_model(built, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.save(model, path.with_suffix(".onnx"))


if __name__ == "__main__":
    main()
