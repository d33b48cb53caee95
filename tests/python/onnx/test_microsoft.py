"""Operators of com.microsoft, which ONNX Runtime's optimizer writes, against NumPy and, where it is
installed, ONNX Runtime itself."""

import importlib.util
import math

import numpy as np
import pytest

import argosy as paddle

from .files import field, graph, node, tensor, value

RUNTIME = importlib.util.find_spec("onnxruntime") is not None
RNG = np.random.default_rng(7)


def model(nodes, inputs, outputs, constants=()):
    text = field(1, 8) + field(7, graph(nodes, inputs, outputs, constants))
    text += field(8, field(1, "") + field(2, 17))
    return text + field(8, field(1, "com.microsoft") + field(2, 1))


def floats(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape).astype("float32")


def codes(*shape, dtype="uint8"):
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def f32(number):
    return np.float32(number)


def erf_gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer_norm(x, gamma, beta, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * gamma
    return y if beta is None else y + beta


def rms_norm(x, gamma, epsilon):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * gamma


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def attended(q, k, v, bias=0.0, scale=None):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    y = softmax(q @ k.swapaxes(-1, -2) * scale + bias) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)


def numbers(x, scale, zero):
    return (x.astype("float64") - np.float64(zero)) * np.float64(scale)


def rounded(x, scale, zero):
    limits = np.iinfo(zero.dtype)
    return np.clip(np.round(x / float(scale)) + float(zero), limits.min, limits.max).astype(
        zero.dtype
    )


def in_words(x, lengths):
    """[batch, 1, 1, keys]: 0 where a key counts, -10000 where not."""
    return np.where(np.arange(x) < np.asarray(lengths)[:, None], 0.0, -10000.0)[:, None, None]


def causal(queries, keys):
    rows, columns = np.arange(queries)[:, None] + keys - queries, np.arange(keys)
    return np.where(columns <= rows, 0.0, -np.inf)


CASES = {}


def case(op, inputs, outputs, /, name=None, **attributes):
    """Inputs are arrays, None where one is missing; outputs a list of arrays, None for what nobody asks."""
    name = name or op
    assert name not in CASES
    CASES[name] = op, inputs, outputs, attributes


def make_products():
    a, b = floats(2, 3, 4), floats(2, 5, 4)
    case("FusedMatMul", [a, b], [0.5 * a @ b.swapaxes(1, 2)], transB=1, alpha=0.5)
    c, d = floats(3, 2, 4), floats(3, 2, 5)
    case(
        "FusedMatMul",
        [c, d],
        [c.transpose(1, 2, 0) @ d.transpose(1, 0, 2)],
        name="FusedMatMul of batches in between",
        transBatchA=1,
        transA=1,
        transBatchB=1,
    )
    x, w, bias = floats(3, 4), floats(4, 5), floats(5)
    case("FusedGemm", [x, w, bias], [np.maximum(x @ w + bias, 0)], activation="Relu")
    case(
        "FusedGemm",
        [x, w, bias],
        [np.where((y := x @ w + bias) < 0, 0.2 * y, y)],
        name="FusedGemm LeakyRelu",
        activation="LeakyRelu",
        activation_alpha=0.2,
    )
    image, weight, extra = floats(1, 2, 4, 4), floats(3, 2, 1, 1), floats(1, 3, 4, 4)
    conv = np.einsum("nchw,oc->nohw", image, weight[:, :, 0, 0])
    case("FusedConv", [image, weight], [np.clip(conv, 0, 0.5)],
         activation="Clip", activation_params=[0.0, 0.5])  # fmt: skip
    case("FusedConv", [image, weight, bias[:3], extra],
         [np.maximum(conv + bias[:3, None, None] + extra, 0)], name="FusedConv of a sum",
         activation="Relu")  # fmt: skip


def make_activations():
    x, bias = floats(2, 3, 6, low=-3, high=3), floats(6)
    case("Gelu", [x], [erf_gelu(x)])
    case("BiasGelu", [x, bias], [erf_gelu(x + bias)])
    case("FastGelu", [x, bias], [tanh_gelu(x + bias)])
    case("FastGelu", [x], [tanh_gelu(x)], name="FastGelu alone")
    case("QuickGelu", [x], [x * sigmoid(1.702 * x)])
    case("BiasSoftmax", [x, x[:1]], [softmax(x + x[:1])], axis=2, is_inner_broadcast=0)


def make_norms():
    x, skip, gamma, beta, bias = (floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8))
    for words, more in ("", []), (" with bias", [bias]):
        total = x + skip + (more[0] if more else 0)
        case("SkipLayerNormalization", [x, skip, gamma, beta, *more],
             [layer_norm(total, gamma, beta, 1e-5), None, None, total],
             name="SkipLayerNormalization" + words, epsilon=1e-5)  # fmt: skip
        case("SkipSimplifiedLayerNormalization", [x, skip, gamma, *more],
             [rms_norm(total, gamma, 1e-5), None, None, total],
             name="SkipSimplifiedLayerNormalization" + words, epsilon=1e-5)  # fmt: skip
    ids, sentence = RNG.integers(0, 9, (2, 5)).astype("int32"), np.int32([[0, 0, 1, 1, 1]] * 2)
    words, places, sentences = floats(9, 8), floats(6, 8), floats(2, 8)
    mask = np.int32([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    total = words[ids] + places[:5] + sentences[sentence]
    case("EmbedLayerNormalization", [ids, sentence, words, places, sentences, gamma, beta, mask],
         [layer_norm(total, gamma, beta, 1e-12), mask.sum(1, dtype="int32"), total])  # fmt: skip


def make_attention():
    x, w, b = floats(2, 4, 6), floats(6, 24), floats(24)
    q, k, v = (heads(t, 2) for t in np.split(x @ w + b, 3, -1))
    case("Attention", [x, w, b], [attended(q, k, v)], num_heads=2)
    lengths = np.int32([3, 4])
    case("Attention", [x, w, b, lengths], [attended(q, k, v, in_words(4, lengths))],
         name="Attention of lengths", num_heads=2)  # fmt: skip
    mask = np.int32([[1, 1, 1, 0], [1, 1, 1, 1]])
    case("Attention", [x, w, b, mask],
         [attended(q, k, v, in_words(4, lengths) + causal(4, 4))],
         name="Attention, causal and masked", num_heads=2, unidirectional=1)  # fmt: skip
    past = floats(2, 2, 2, 3, 4)
    k2, v2 = (np.concatenate([past[i], t], 2) for i, t in enumerate((k, v)))
    case("Attention", [x, w, b, None, past],
         [attended(q, k2, v2, causal(4, 7)), np.stack([k2, v2])],
         name="Attention with a past", num_heads=2, unidirectional=1)  # fmt: skip

    q3, k3, v3, bias = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8), floats(24)
    split = [heads(t + bias[8 * i : 8 * i + 8], 2) for i, t in enumerate((q3, k3, v3))]
    case("MultiHeadAttention", [q3, k3, v3, bias], [attended(*split)], num_heads=2)
    shift = floats(2, 2, 3, 5)
    plain = [heads(t, 2) for t in (q3, k3, v3)]
    case("MultiHeadAttention", [q3, k3, v3, None, np.int32([5, 2]), shift],
         [attended(*plain, shift + in_words(5, [5, 2]), 0.3)],
         name="MultiHeadAttention of lengths", num_heads=2, scale=0.3)  # fmt: skip
    packed = floats(2, 3, 2, 3, 4)
    three = [packed[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3)]
    case("MultiHeadAttention", [packed], [attended(*three)], name="MultiHeadAttention, packed",
         num_heads=2)  # fmt: skip


def turned(x, cosine, sine, places, interleaved=False):
    """x [batch, heads, length, size] by rows of the tables [positions, size / 2]."""
    c, s = cosine[places][:, None], sine[places][:, None]
    half = x.shape[-1] // 2
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    y = [c * a - s * b, s * a + c * b]
    return np.stack(y, -1).reshape(x.shape) if interleaved else np.concatenate(y, -1)


def make_language_models():
    angle = np.arange(10)[:, None] * 100.0 ** (-np.arange(4) / 4)
    cosine, sine = np.cos(angle).astype("float32"), np.sin(angle).astype("float32")
    x = floats(2, 3, 16)
    for interleaved in (0, 1):
        places = np.array([[2, 3, 4], [0, 1, 2]])
        y = turned(heads(x, 2), cosine, sine, places, interleaved)
        case("RotaryEmbedding", [x, places, cosine, sine],
             [y.transpose(0, 2, 1, 3).reshape(2, 3, 16)],
             name=f"RotaryEmbedding {interleaved}", interleaved=interleaved)  # fmt: skip

    def grouped(q, k, v, past, lengths, turn):
        """Row by row of the batch, as a loop over words would have it."""
        outs, keys, values = [], [], []
        for i, length in enumerate(lengths):
            before = max(length - q.shape[1], 0)
            places = before + np.arange(q.shape[1])[None]
            row = [heads(t[i : i + 1], c) for t, c in ((q, 4), (k, 2), (v, 2))]
            if turn:
                row[:2] = [turned(t, cosine, sine, places) for t in row[:2]]
            if past is not None:
                row[1:] = [np.concatenate([p[i : i + 1, :, :before], t], 2)
                           for p, t in zip(past, row[1:])]  # fmt: skip
            keys.append(row[1])
            values.append(row[2])
            q_, k_, v_ = row[0], *(np.repeat(t, 2, 1) for t in row[1:])
            outs.append(attended(q_, k_, v_, causal(q.shape[1], k_.shape[2])))
        return np.concatenate(outs), np.concatenate(keys), np.concatenate(values)

    # Heads of 16, which ONNX Runtime asks for.
    angle = np.arange(10)[:, None] * 100.0 ** (-np.arange(8) / 8)
    cosine, sine = np.cos(angle).astype("float32"), np.sin(angle).astype("float32")
    q, k, v = floats(2, 3, 64), floats(2, 3, 32), floats(2, 3, 32)
    attributes = {"num_heads": 4, "kv_num_heads": 2}
    for turn in (0, 1):
        tables = [cosine, sine] if turn else []
        case("GroupQueryAttention",
             [q, k, v, None, None, np.int32([2, 2]), np.array(3, "int32"), *tables],
             list(grouped(q, k, v, None, [3, 3], turn)),
             name=f"GroupQueryAttention {turn}", do_rotary=turn, **attributes)  # fmt: skip
    past = floats(2, 2, 4, 16), floats(2, 2, 4, 16)
    step = [t[:, :1] for t in (q, k, v)]
    case("GroupQueryAttention", [*step, *past, np.int32([4, 4]), np.array(5, "int32"), cosine, sine],
         list(grouped(*step, past, [5, 5], True)),
         name="GroupQueryAttention, one word more", do_rotary=1, **attributes)  # fmt: skip

    a, bits = floats(3, 70), RNG.integers(0, 16, (5, 96)).astype("uint8")
    packed = (bits[:, ::2] | bits[:, 1::2] << 4).reshape(5, 3, 16)
    scales, zeros = floats(5, 3, low=0.01, high=0.1), RNG.integers(0, 16, (5, 4)).astype("uint8")
    for words, zero, more in (
        ("", np.full((5, 3), 8.0), []),
        (" with zero points", zeros[:, :3].astype(float), [zeros[:, ::2] | zeros[:, 1::2] << 4]),
    ):
        wide = (bits.reshape(5, 3, 32) - zero[..., None]) * scales[..., None]
        case("MatMulNBits", [a, packed, scales.reshape(-1), *more],
             [a @ wide.reshape(5, 96)[:, :70].T], name="MatMulNBits" + words,
             K=70, N=5, bits=4, block_size=32)  # fmt: skip


def make_quantized():
    a, b = codes(2, 5), codes(2, 5)
    sa, sb, sc = f32(0.03), f32(0.02), f32(0.04)
    za, zb, zc = np.uint8(120), np.uint8(100), np.uint8(130)
    x, y = numbers(a, sa, za), numbers(b, sb, zb)
    case("QLinearAdd", [a, sa, za, b, sb, zb, sc, zc], [rounded(x + y, sc, zc)])
    case("QLinearMul", [a, sa, za, b, sb, zb, sc, zc], [rounded(x * y, sc, zc)])
    case("QLinearSigmoid", [a, sa, za, f32(1 / 256), np.uint8(0)],
         [rounded(sigmoid(x), 1 / 256, np.uint8(0))])  # fmt: skip
    case("QLinearLeakyRelu", [a, sa, za, sc, zc],
         [rounded(np.where(x < 0, 0.1 * x, x), sc, zc)], alpha=0.1)  # fmt: skip
    image = codes(1, 3, 4, 4)
    wide = numbers(image, sa, za)
    case("QLinearGlobalAveragePool", [image, sa, za, sc, zc],
         [rounded(wide.mean((2, 3), keepdims=True), sc, zc)], channels_last=0)  # fmt: skip
    pooled = wide.reshape(1, 3, 2, 2, 2, 2).mean((3, 5))
    case("QLinearAveragePool", [image, sa, za, sc, zc], [rounded(pooled, sc, zc)],
         kernel_shape=[2, 2], strides=[2, 2])  # fmt: skip
    case("QLinearConcat", [sc, zc, a, sa, za, b, sb, zb],
         [rounded(np.concatenate([x, y], 1), sc, zc)], axis=1)  # fmt: skip
    w, bias = codes(5, 3, dtype="int8"), RNG.integers(-99, 99, 3).astype("int32")
    product = x @ numbers(w, sb, np.int8(0)) + bias * float(sa) * float(sb)
    case("QGemm", [a, sa, za, w, sb, np.int8(0), bias, f32(0.2), zc], [rounded(product, 0.2, zc)])
    each, zeros = floats(3, low=0.01, high=0.03), codes(3, dtype="int8")
    product = x @ numbers(w, each, zeros) + bias * float(sa) * each
    case("QGemm", [a, sa, za, w.T, each, zeros, bias, f32(0.2), zc],
         [rounded(product, 0.2, zc)], "QGemm of columns", transB=1)  # fmt: skip
    case("MatMulIntegerToFloat", [a, w, sa, sb, za, np.int8(0)], [x @ numbers(w, sb, np.int8(0))])
    z = floats(4, 5)
    high, low = max(z.max(), 0), min(z.min(), 0)
    scale = (high - low) / 255
    code = np.clip(np.round(z / scale) + np.round(-low / scale), 0, 255)
    case("DynamicQuantizeMatMul", [z, w, sb],
         [((code - np.round(-low / scale)) * scale) @ numbers(w, sb, 0)])  # fmt: skip


def as_codes(x):
    """What is left of x as codes of 8 bits between the least and the largest."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = np.float32((high - low) / 255)
    zero = np.round(-low / scale)
    return ((np.clip(np.round(x / scale) + zero, 0, 255) - zero) * scale).astype("float32")


def lstm(x, w, r, bias, h, c):
    """One direction forward; w: [inputs, 4 hidden], gates in the order i, o, f, c. What is multiplied is
    codes: those of all steps, and of the states before each step."""
    ys = []
    for row in as_codes(x):
        i, o, f, g = np.split(row @ w + as_codes(h) @ r + bias, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return np.stack(ys), h, c


def make_recurrent():
    x, hidden = floats(5, 2, 3), 4
    w, r = codes(2, 3, 16, dtype="int8"), codes(2, 4, 16, dtype="int8")
    bias, h, c = floats(2, 32), floats(2, 2, 4), floats(2, 2, 4)
    for shape in ((2,), (2, 16)):  # a scale for each direction, for each gate
        sw, sr = floats(*shape, low=0.003, high=0.01), floats(*shape, low=0.003, high=0.01)
        zw, zr = np.zeros(shape, "int8"), codes(*shape, dtype="int8") // 4 * (len(shape) == 1)
        outs = []
        for d, way in enumerate((1, -1)):
            own = [x[::way], numbers(w[d], sw[d], zw[d]), numbers(r[d], sr[d], zr[d])]
            y, *last = lstm(*own, bias[d, :16] + bias[d, 16:], h[d], c[d])
            outs.append((y[::way], *last))
        y, *last = (np.stack(each, axis) for each, axis in zip(zip(*outs), (1, 0, 0)))
        case("DynamicQuantizeLSTM", [x, w, r, bias, None, h, c, None, sw, zw, sr, zr],
             [y, *last], f"LSTM with {len(shape)}-d scales", hidden_size=hidden, direction="bidirectional")  # fmt: skip


for make in (make_products, make_activations, make_norms, make_attention, make_language_models,
             make_quantized, make_recurrent):  # fmt: skip
    make()


def file_of(op, inputs, outputs, attributes):
    """The file and its inputs by name; weights of few bits are constants, as they are in models."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    constant = {1, 2, 3} if op == "MatMulNBits" else set()
    given = {n: x for i, (n, x) in enumerate(zip(names, inputs)) if n and i not in constant}
    results = ["" if y is None else f"y{i}" for i, y in enumerate(outputs)]
    declared = [value(n, np.asarray(x).dtype.name, np.shape(x)) for n, x in given.items()]
    wanted = [value(n, np.asarray(y).dtype.name if np.asarray(y).dtype.kind != "f" else "float32",
                    np.shape(y)) for n, y in zip(results, outputs) if n]  # fmt: skip
    constants = [tensor(inputs[i], names[i]) for i in sorted(constant) if i < len(inputs)]
    text = node(op, names, results, "com.microsoft", **attributes)
    return model([text], declared, wanted, constants), given


def check(got, wanted, tolerance=2e-5):
    wanted = [w for w in wanted if w is not None]
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape
        if w.dtype.kind == "f":
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)
        else:  # what stands in the middle of two codes may be either
            assert np.abs(g.astype("int64") - w.astype("int64")).max(initial=0) <= 1
            assert (g != w).mean() < 0.2


@pytest.mark.parametrize("name", CASES)
def test_operator(name):
    file, given = file_of(*CASES[name])
    loaded = paddle.onnx.load(file)
    got = loaded(**{n: paddle.to_tensor(x) for n, x in given.items()})
    check([t.numpy() for t in (got if isinstance(got, (list, tuple)) else [got])], CASES[name][2])


# What ONNX Runtime has for other devices only.
ELSEWHERE = {"BiasSoftmax", "MultiHeadAttention, packed"}


@pytest.mark.skipif(not RUNTIME, reason="without onnxruntime")
@pytest.mark.parametrize("name", [name for name in CASES if name not in ELSEWHERE])
def test_references(name):
    import onnxruntime

    file, given = file_of(*CASES[name])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # with more it rounds the states of each sequence apart
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    got = session.run(None, {n: np.asarray(x) for n, x in given.items()})
    check(got, CASES[name][2])


def run(op, inputs, outputs, attributes):
    file, given = file_of(op, inputs, outputs, attributes)
    return paddle.onnx.load(file)(**{n: paddle.to_tensor(x) for n, x in given.items()})


def refused(op, inputs, outputs, attributes, words):
    with pytest.raises(NotImplementedError, match=words):
        run(op, inputs, outputs, attributes)


def test_refusals():
    x = floats(2, 4, 6)
    refused("MoE", [x], [x], {}, "com.microsoft.MoE")
    w, b = floats(6, 24), floats(24)
    refused("Attention", [x, w, b], [x], {"num_heads": 2, "do_rotary": 1}, "do_rotary")
    refused("Gelu", [x], [x], {"strange": 1}, "attribute strange")
    image, weight = floats(1, 2, 4, 4), floats(3, 2, 1, 1)
    refused("FusedConv", [image, weight], [image], {"activation": "Sin"}, "activation Sin")


def test_bits_of_another_size():
    a, packed, scales = floats(3, 70), codes(5, 3, 15), floats(15)
    attributes = {"K": 70, "N": 5, "bits": 4, "block_size": 32}
    with pytest.raises(ValueError, match="B has another size"):
        run("MatMulNBits", [a, packed, scales], [floats(3, 5)], attributes)
