"""How alike sentences are, by a BERT such as MiniLM.

    python examples/sentences/similar.py FOLDER "a cat sleeps" "the kitten naps" "stocks fell"

FOLDER has model.safetensors and vocab.txt, as the package transformers writes them.
"""

import pathlib
import re
import sys
import unicodedata

import numpy as np
from bert import load

import argosy as paddle


def pieces_of(word, vocabulary):
    """The longest pieces of a word that are in the vocabulary, from its beginning on."""
    pieces, begin = [], 0
    while begin < len(word):
        end = len(word)
        while end > begin and ("##" if begin else "") + word[begin:end] not in vocabulary:
            end -= 1
        if end == begin:
            return [vocabulary["[UNK]"]]
        pieces.append(vocabulary[("##" if begin else "") + word[begin:end]])
        begin = end
    return pieces


def ids_of(text, vocabulary):
    plain = unicodedata.normalize("NFD", text.lower())
    plain = "".join(c for c in plain if unicodedata.category(c) != "Mn")
    words = re.findall(r"\w+|[^\w\s]", plain)
    ids = [piece for word in words for piece in pieces_of(word, vocabulary)]
    return [vocabulary["[CLS]"], *ids, vocabulary["[SEP]"]]


def batch_of(sentences, vocabulary):
    """(ids, mask), padded to the longest."""
    rows = [ids_of(sentence, vocabulary) for sentence in sentences]
    ids = np.zeros((len(rows), max(map(len, rows))), "int64")
    mask = np.zeros(ids.shape, "float32")
    for i, row in enumerate(rows):
        ids[i, : len(row)], mask[i, : len(row)] = row, 1
    return paddle.to_tensor(ids), paddle.to_tensor(mask)


def main():
    folder, sentences = pathlib.Path(sys.argv[1]), sys.argv[2:]
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    vocabulary = {word: i for i, word in enumerate(lines)}
    with paddle.no_grad():
        vectors = load(folder / "model.safetensors")(*batch_of(sentences, vocabulary)).numpy()
    for row in vectors @ vectors.T:
        print(" ".join(f"{number:5.2f}" for number in row))


if __name__ == "__main__":
    main()
