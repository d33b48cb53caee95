"""Skip-gram with negative sampling beside gensim, on one core and one corpus.

    ARGOSY_BENCH_GENSIM=python-with-gensim .venv/bin/python benchmarks/word2vec.py

Both train vectors of 100 numbers, window 5, 5 negatives, the same number of epochs. Checked: how well
the vectors tell topics of the corpus apart (examples/word2vec/corpus.py), which noise makes hard.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

os.environ["ARGOSY_NUM_THREADS"] = "1"
example = pathlib.Path(__file__).resolve().parent.parent / "examples" / "word2vec"
sys.path.insert(0, str(example))
import corpus  # noqa: E402
import train  # noqa: E402

PEER = """
import json, sys, time
import numpy as np
from gensim.models import Word2Vec
tokens = np.load(sys.argv[1])
sentences = [[str(w) for w in s] for s in tokens]
model = Word2Vec(vector_size=100, window=5, negative=5, sg=1, min_count=1, workers=1, sample=1e-3,
                 alpha=0.025, min_alpha=0.0001, seed=1)
model.build_vocab(sentences)
begin = time.perf_counter()
model.train(sentences, total_examples=len(sentences), epochs=int(sys.argv[3]))
seconds = time.perf_counter() - begin
vectors = np.zeros((int(sys.argv[4]), 100), "float32")
for word, i in model.wv.key_to_index.items():
    vectors[int(word)] = model.wv.vectors[i]
np.save(sys.argv[2], vectors)
print(json.dumps(seconds))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=30_000)
    args = parser.parse_args()
    tokens, topic_of = corpus.make(sentences=args.sentences, noise=0.6)
    counts = np.bincount(tokens.reshape(-1), minlength=len(topic_of))
    flat, lengths = tokens.reshape(-1), np.full(len(tokens), tokens.shape[1])

    trainer = train.Trainer(counts)
    rates = np.linspace(0.025, 0.0001, args.epochs + 1)
    begin = time.perf_counter()
    for epoch in range(args.epochs):
        trainer.epoch(flat, lengths, rates[epoch], rates[epoch + 1])
    seconds = time.perf_counter() - begin
    words = args.epochs * flat.size
    ours = corpus.separation(trainer.words.numpy(), topic_of, counts)
    print(f"argosy: {words / seconds:,.0f} words/s (goal 250,000), separation {ours:.4f}")

    peer = os.environ.get("ARGOSY_BENCH_GENSIM")
    if not peer:
        print("gensim: not measured. Do this: set ARGOSY_BENCH_GENSIM to a Python that has it.")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, target = f"{folder}/tokens.npy", f"{folder}/vectors.npy"
        np.save(source, tokens)
        command = [peer, "-c", PEER, source, target, str(args.epochs), str(len(topic_of))]
        theirs_seconds = json.loads(subprocess.check_output(command, text=True))
        theirs = corpus.separation(np.load(target), topic_of, counts)
    print(f"gensim: {words / theirs_seconds:,.0f} words/s, separation {theirs:.4f}")
    print(f"ratio of times {seconds / theirs_seconds:.2f}, of separation {ours / theirs:.4f}")
    assert ours > 0.8 and ours >= 0.99 * theirs, "the vectors are worse than gensim's"


if __name__ == "__main__":
    main()
