"""The model of examples/smollm2 in PyTorch, as benchmarks/generation.py runs it."""

import json

import numpy as np
import torch
from torch.nn import functional as F


class Llama:
    def __init__(self, sizes, arrays, context):
        self.sizes, self.context = sizes, context
        w = {name: torch.from_numpy(array) for name, array in arrays.items()}
        self.words, self.norm = w["token_embd.weight"], w["output_norm.weight"]
        self.head = w.get("output.weight", self.words)
        self.blocks = []
        for i in range(sizes["layers"]):
            part = {name.split(".")[2]: t for name, t in w.items() if name.startswith(f"blk.{i}.")}
            part["asked"] = torch.cat([part["attn_q"], part["attn_k"], part["attn_v"]])
            part["inner"] = torch.cat([part["ffn_gate"], part["ffn_up"]])
            self.blocks.append(part)
        steps = torch.arange(0, sizes["head"], 2) / sizes["head"]
        angles = torch.outer(torch.arange(context).float(), sizes["base"] ** -steps)
        self.angles = torch.polar(torch.ones_like(angles), angles)[:, None]

    def rms(self, x, gain):
        return F.rms_norm(x, x.shape[-1:], gain, self.sizes["epsilon"])

    def attention(self, x, part, kept, start):
        s, count = self.sizes, x.shape[0]
        kv, head = s["kv_heads"], s["head"]
        rows = F.linear(x, part["asked"]).reshape(count, -1, head)
        pairs = torch.view_as_complex(rows[:, :-kv].reshape(count, -1, head // 2, 2))
        turned = torch.view_as_real(pairs * self.angles[start : start + count])
        turned = turned.reshape(count, -1, head)
        kept[0][:, start : start + count] = turned[:, s["heads"] :].transpose(0, 1)
        kept[1][:, start : start + count] = rows[:, -kv:].transpose(0, 1)
        keys, values = (t[None, :, : start + count] for t in kept)
        asked = turned[:, : s["heads"]].transpose(0, 1)[None]
        y = F.scaled_dot_product_attention(
            asked, keys, values, is_causal=count > 1, enable_gqa=True
        )
        return F.linear(y[0].transpose(0, 1).reshape(count, -1), part["attn_output"])

    def scores(self, ids, kept, start):
        x = self.words[ids]
        for part, pair in zip(self.blocks, kept):
            x = x + self.attention(self.rms(x, part["attn_norm"]), part, pair, start)
            gate, value = F.linear(self.rms(x, part["ffn_norm"]), part["inner"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * value, part["ffn_down"])
        return F.linear(self.rms(x[-1], self.norm), self.head)

    @torch.inference_mode()
    def write(self, ids, count):
        s = self.sizes
        kept = [
            [torch.zeros(s["kv_heads"], self.context, s["head"]) for _ in "kv"] for _ in self.blocks
        ]
        written, ids, start = [], torch.tensor(ids), 0
        while len(written) < count:
            word = self.scores(ids, kept, start).argmax(keepdim=True)
            start += len(ids)
            written.append(int(word))
            ids = word
        return written


def load(path, threads, context):
    torch.set_num_threads(threads)
    arrays = dict(np.load(path))
    return Llama(json.loads(str(arrays.pop("sizes"))), arrays, context)
