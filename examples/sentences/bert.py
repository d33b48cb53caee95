"""BERT in layers of paddle.nn, with the weights of a safetensors file, such as MiniLM's.

Vectors of sentences: the mean of their words' vectors, of length 1.
"""

import argosy as paddle
from argosy import nn

EPSILON = 1e-12


class Bert(nn.Layer):
    def __init__(self, words, width, layers, heads, inner, places=512, kinds=2):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(places, width)
        self.kinds = nn.Embedding(kinds, width)
        self.norm = nn.LayerNorm(width, EPSILON)
        layer = nn.TransformerEncoderLayer(
            width, heads, inner, dropout=0.0, activation="gelu", layer_norm_eps=EPSILON
        )
        self.encoder = nn.TransformerEncoder(layer, layers)

    def forward(self, ids, mask):
        """ids: int64 [batch, length]; mask: float32, 1 for words, 0 behind a sentence's end."""
        places = paddle.arange(ids.shape[1])
        x = self.norm(self.words(ids) + self.places(places) + self.kinds.weight[0])
        hidden = ((1.0 - mask) * -1e9).unsqueeze([1, 2])
        x = self.encoder(x, hidden) * mask.unsqueeze(-1)
        mean = x.sum(1) / mask.sum(1, keepdim=True)
        return nn.functional.normalize(mean, axis=-1)


# Names of a layer's parts here and in files of the package transformers.
PARTS = {
    "self_attn.q_proj": "attention.self.query",
    "self_attn.k_proj": "attention.self.key",
    "self_attn.v_proj": "attention.self.value",
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def state_of(tensors, layers):
    """The state dict of a Bert; matrices of the file are [out, in]."""
    state = {"norm." + part: tensors[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")}
    for ours, theirs in (("words", "word"), ("places", "position"), ("kinds", "token_type")):
        state[ours + ".weight"] = tensors[f"embeddings.{theirs}_embeddings.weight"]
    for i in range(layers):
        for ours, theirs in PARTS.items():
            for part in ("weight", "bias"):
                value = tensors[f"encoder.layer.{i}.{theirs}.{part}"]
                turned = part == "weight" and "norm" not in ours
                state[f"encoder.layers.{i}.{ours}.{part}"] = value.t() if turned else value
    return state


def load(path, heads=12):
    """The Bert whose weights are in a safetensors file."""
    tensors = {name.removeprefix("bert."): t for name, t in paddle.load(path).items()}
    words, width = tensors["embeddings.word_embeddings.weight"].shape
    layers = 1 + max(int(n.split(".")[2]) for n in tensors if n.startswith("encoder.layer."))
    inner = tensors["encoder.layer.0.intermediate.dense.weight"].shape[0]
    places = tensors["embeddings.position_embeddings.weight"].shape[0]
    net = Bert(words, width, layers, heads, inner, places)
    missing, _ = net.set_state_dict(state_of(tensors, layers))
    if missing:
        raise SystemExit(f"{path} lacks {missing}")
    net.eval()
    return net
