"""A Llama of what a GGUF file holds."""

from model import Llama, Sizes

import argosy as paddle
from argosy.framework import gguf


def sizes_of(said, words):
    """Sizes of what the file says of its model."""
    kind = said["general.architecture"]
    if kind != "llama":
        raise SystemExit(f"the file holds a model of the family {kind!r}, llama is expected")
    return Sizes(
        words=words,
        width=said["llama.embedding_length"],
        layers=said["llama.block_count"],
        heads=said["llama.attention.head_count"],
        kv_heads=said["llama.attention.head_count_kv"],
        inner=said["llama.feed_forward_length"],
        context=said["llama.context_length"],
        base=said.get("llama.rope.freq_base", 10000.0),
        epsilon=said["llama.attention.layer_norm_rms_epsilon"],
    )


def state_of(tensors, sizes):
    """The state dict of `Llama(sizes)`; the file has matrices [out, in]."""

    def joined(*names):
        return paddle.concat([tensors[name].astype("float32") for name in names]).t()

    words = tensors["token_embd.weight"].astype("float32")
    state = {"words.weight": words, "norm.weight": tensors["output_norm.weight"]}
    state["head.weight"] = tensors.get("output.weight", words).astype("float32").t()
    for i in range(sizes.layers):
        old, new = f"blk.{i}.", f"blocks.{i}."
        state[new + "before_attention.weight"] = tensors[old + "attn_norm.weight"]
        state[new + "before_inner.weight"] = tensors[old + "ffn_norm.weight"]
        asked = [f"{old}attn_{which}.weight" for which in "qkv"]
        state[new + "attention.asked.weight"] = joined(*asked)
        state[new + "attention.out.weight"] = joined(old + "attn_output.weight")
        state[new + "inner.weight"] = joined(old + "ffn_gate.weight", old + "ffn_up.weight")
        state[new + "out.weight"] = joined(old + "ffn_down.weight")
    return state


def load(path, context=None):
    """The model in the file, for texts of at most `context` words."""
    tensors = paddle.load(path)
    sizes = sizes_of(gguf.metadata(path), tensors["token_embd.weight"].shape[0])
    sizes.context = min(context or sizes.context, sizes.context)
    model = Llama(sizes)
    missing, unexpected = model.set_state_dict(state_of(tensors, sizes))
    if missing or unexpected:
        raise SystemExit(f"the file lacks {missing} and has {unexpected}")
    model.eval()
    return model
