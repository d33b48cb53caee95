"""Write on after some words with a model in a GGUF file, such as SmolLM2.

    pip install gguf
    python examples/smollm2/write.py model.gguf --words 504 1343 253 655 --count 40 --bits 4

Words are numbers; the file's metadata has their texts (`tokenizer.ggml.tokens`), which are printed.
"""

import argparse
import time

from model import quantize
from weights import load

from argosy.framework import gguf


def text_of(path, ids):
    tokens = gguf.metadata(path).get("tokenizer.ggml.tokens")
    return "".join(tokens[i] for i in ids).replace("Ġ", " ").replace("Ċ", "\n") if tokens else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--words", type=int, nargs="+", default=[1])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--bits", type=int, choices=(4, 8), help="of weights; without it float32")
    args = parser.parse_args()
    model = load(args.file, len(args.words) + args.count)
    if args.bits:
        quantize(model, args.bits)
    began = time.perf_counter()
    written = model.write(args.words, args.count)
    seconds = time.perf_counter() - began
    print(written)
    print(text_of(args.file, args.words + written))
    print(f"{args.count / seconds:.1f} words a second")


if __name__ == "__main__":
    main()
