"""Predictors on a GPU beside PyTorch: eager and as a CUDA graph, with the same weights in bfloat16. A call takes
an input of the host and gives an output there. Used by gpu.py."""

import tempfile

import gpu_models
import inference_nets
import numpy as np
import torch

import argosy as p
from argosy import inference

TF = torch.nn.functional


class TheirLayer(torch.nn.Module):
    def __init__(self, size, heads, inner):
        super().__init__()
        self.heads = heads
        self.self_attn = torch.nn.ModuleDict(
            {name + "_proj": torch.nn.Linear(size, size) for name in ("q", "k", "v", "out")}
        )
        self.linear1, self.linear2 = torch.nn.Linear(size, inner), torch.nn.Linear(inner, size)
        self.norm1, self.norm2 = torch.nn.LayerNorm(size), torch.nn.LayerNorm(size)

    def forward(self, x):
        b, s, size = x.shape
        q, k, v = (
            self.self_attn[name + "_proj"](x).view(b, s, self.heads, -1).transpose(1, 2)
            for name in ("q", "k", "v")
        )
        y = TF.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, size)
        x = self.norm1(x + self.self_attn["out_proj"](y))
        return self.norm2(x + self.linear2(TF.gelu(self.linear1(x))))


class TheirBert(torch.nn.Module):
    """Under the names of inference_nets.Bert."""

    def __init__(self, size=768, heads=12, inner=3072, layers=12, words=30522):
        super().__init__()
        self.words, self.norm = torch.nn.Embedding(words, size), torch.nn.LayerNorm(size)
        self.encoder = torch.nn.Module()
        self.encoder.layers = torch.nn.ModuleList(
            [TheirLayer(size, heads, inner) for _ in range(layers)]
        )
        self.pooler = torch.nn.Linear(size, size)

    def forward(self, ids):
        x = self.norm(self.words(ids))
        for layer in self.encoder.layers:
            x = layer(x)
        return torch.tanh(self.pooler(x[:, 0]))


def our_call(net, spec, array):
    with tempfile.TemporaryDirectory() as folder:
        p.jit.save(net, folder + "/net", input_spec=[p.static.InputSpec(*spec, "x")])
        config = inference.Config(folder + "/net")
        config.enable_use_gpu(100, 0, inference.PrecisionType.Bfloat16)
        predictor = inference.create_predictor(config)
    into = predictor.get_input_handle("x")
    out = predictor.get_output_handle(predictor.get_output_names()[0])

    def call():
        into.copy_from_cpu(array)
        predictor.run()
        return out.copy_to_cpu()

    return call


def their_calls(net, array):
    """(eager, as a CUDA graph)"""
    net = net.cuda().eval().to(torch.bfloat16)
    images = array.dtype == np.float32
    if images:
        net = net.to(memory_format=torch.channels_last)
    host = torch.from_numpy(array).pin_memory()
    there = host.cuda()

    def compute():
        x = there
        if images:
            x = x.to(torch.bfloat16, memory_format=torch.channels_last)
        return net(x).float()

    def eager():
        with torch.inference_mode():
            there.copy_(host, non_blocking=True)
            return compute().cpu().numpy()

    side = torch.cuda.Stream()
    with torch.inference_mode():
        with torch.cuda.stream(side):
            for _ in range(3):
                compute()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = compute()

    def replayed():
        there.copy_(host, non_blocking=True)
        graph.replay()
        return result.cpu().numpy()

    return eager, replayed


def compare(name, net, theirs, spec, array, compare_times):
    net.eval()
    gpu_models.copy_weights(net, theirs)
    ours = our_call(net, spec, array)
    eager, replayed = their_calls(theirs, array)
    for call in (eager, replayed):
        a, b = ours(), call()
        apart = np.abs(a - b).max() / np.abs(b).max()
        assert a.shape == b.shape and apart < 0.1, f"results are apart by {apart:.3g}"
    options = {"rounds": 5, "seconds": 0.05}
    compare_times(f"{name}, beside eager", ours, eager, 0.5, **options)
    compare_times(f"{name}, beside a CUDA graph", ours, replayed, 1.0, **options)


def images(batch, compare_times):
    np.random.seed(1)
    net = p.vision.models.resnet50()
    inference_nets.spread_statistics(net)
    x = np.random.randn(batch, 3, 224, 224).astype("float32")
    spec = ([None, 3, 224, 224], "float32")
    compare(f"predictor, ResNet-50 b{batch}", net, gpu_models.ResNet50(), spec, x, compare_times)


def sentences(compare_times):
    ids = np.random.default_rng(1).integers(0, 30522, [1, 128])
    net = inference_nets.Bert()
    spec = ([None, 128], "int64")
    compare("predictor, BERT-base, 128 words", net, TheirBert(), spec, ids, compare_times)
