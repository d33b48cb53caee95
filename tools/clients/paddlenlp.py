"""Encoders and language models of PaddleNLP on random tokens, small configurations."""

import importlib
import sys
import types

import numpy as np

REQUIREMENTS = (
    "paddlenlp==2.8.0 jieba colorlog colorama seqeval dill multiprocess fastapi==0.110.0 starlette==0.36.3 pydantic==2.7.0"
    " pydantic-core==2.18.1 annotated-types annotated-doc typing-inspection anyio sniffio uvicorn datasets==2.19.0 tqdm paddlefsl"
    " sentencepiece huggingface-hub==0.23.0 rich safetensors==0.4.3 jinja2 MarkupSafe regex requests"
    " urllib3 charset-normalizer idna certifi packaging pyyaml filelock fsspec==2024.3.1 pandas==2.2.2"
    " pyarrow==15.0.2 pyarrow-hotfix aiohttp typer click aistudio-sdk==0.2.6 tool-helpers"
    " markdown-it-py mdurl pygments scikit-learn==1.4.2 joblib threadpoolctl pytz python-dateutil six"
    " xxhash shellingham psutil prettytable wcwidth bce-python-sdk pycryptodome future multidict yarl"
    " frozenlist aiosignal attrs tzdata propcache aiohappyeyeballs cloudpickle"
    " typing_extensions"
).split()
SMALL = dict(
    vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=32,
)  # fmt: skip
# Model: the class of its configuration, and words of it beside SMALL.
MODELS = {
    "BertModel": ("BertConfig", {}),
    "ErnieModel": ("ErnieConfig", {}),
    "RobertaModel": ("RobertaConfig", {}),
    "ElectraModel": ("ElectraConfig", dict(embedding_size=32)),
    "AlbertModel": ("AlbertConfig", dict(embedding_size=16)),
    "DistilBertModel": ("DistilBertConfig", {}),
    "TinyBertModel": ("TinyBertConfig", {}),
    "MPNetModel": ("MPNetConfig", {}),
    "NeZhaModel": ("NeZhaConfig", {}),
    "RoFormerModel": ("RoFormerConfig", dict(embedding_size=32)),
    "GPTForCausalLM": ("GPTConfig", {}),
    "BartModel": ("BartConfig", dict(d_model=32, num_encoder_layers=1, num_decoder_layers=1, encoder_attention_heads=4,
                                     decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, dropout=0.0)),
    "T5Model": ("T5Config", dict(d_model=32, d_kv=8, d_ff=48, num_layers=1, num_decoder_layers=1, num_heads=4, dropout_rate=0.0)),
    "LlamaForCausalLM": ("LlamaConfig", dict(num_key_value_heads=4, seq_length=16)),
    "XLNetModel": ("XLNetConfig", dict(d_model=32, d_inner=48, n_layer=1, n_head=4, d_head=8, dropout=0.0)),
}  # fmt: skip


# The package imports these for models that are divided between processes, which none here is.
DIVIDED = (
    "paddle.distributed.communication.group",
    "paddle.utils.cpp_extension.cpp_extension",
    "paddle.distributed.fleet.meta_parallel",
    "paddle.distributed.fleet.meta_parallel.parallel_layers",
    "paddle.distributed.fleet.meta_parallel.parallel_layers.pp_layers",
    "paddle.distributed.fleet.utils.sequence_parallel_utils",
    "paddle.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_parallel_optimizer",
)


def stand_in(paddle):
    """Classes that do nothing for names of DIVIDED that Argosy lacks; Paddle lacks none."""
    if "argosy" not in paddle.__file__:
        return
    for name in DIVIDED:
        try:
            module = importlib.import_module(name)
        except ImportError:
            module = sys.modules[name] = types.ModuleType(name)
            module.__path__ = []

        def lookup(word, known=getattr(module, "__getattr__", None)):
            try:
                if known is not None:
                    return known(word)
            except AttributeError:
                pass
            if word.startswith("__"):
                raise AttributeError(word)
            return type(word, (), {})

        module.__getattr__ = lookup


def job(paddle, model, dtype):
    stand_in(paddle)
    from paddlenlp import transformers

    kind, words = MODELS[model]
    config = getattr(transformers, kind)(**{**SMALL, **words})
    layer = getattr(transformers, model)(config)
    draw = np.random.RandomState(0)
    tokens = draw.randint(3, 64, (8, 2, 16)).astype("int64")
    weights = paddle.to_tensor(draw.normal(size=(64,)).astype(dtype))

    def loss(i):
        ids = paddle.to_tensor(tokens[i % 8])
        words = {"decoder_input_ids": ids} if model in ("T5Model", "BartModel") else {}
        found = layer(ids, **words)
        first = found[0] if isinstance(found, (list, tuple)) else found
        if not isinstance(first, paddle.Tensor):  # a class of named outputs
            first = first[0]
        return (first * weights[: first.shape[-1]]).tanh().mean()

    return layer, loss, 0.1
