"""MultiSlot text by plain Python: what the C++ parser is compared with."""

import numpy as np


def write(path, samples):
    """Samples: lists of values for each slot."""
    with open(path, "w") as f:
        for sample in samples:
            words = []
            for values in sample:
                words.append(str(len(values)))
                words += [repr(v) for v in values]
            f.write(" ".join(words) + "\n")
    return str(path)


def read(path, kinds):
    """kinds: 'int' or 'float' for each slot."""
    samples = []
    for line in open(path):
        words = line.split()
        if not words:
            continue
        sample, at = [], 0
        for kind in kinds:
            count = int(words[at])
            values = words[at + 1 : at + 1 + count]
            sample.append([int(v) if kind == "int" else float(v) for v in values])
            at += 1 + count
        assert at == len(words)
        samples.append(sample)
    return samples


def signed(value):
    """The int64 of the same bits."""
    return value - 2**64 if value >= 2**63 else value


def flat(samples, slot, dtype):
    values = [signed(v) if dtype == "int64" else v for s in samples for v in s[slot]]
    return np.array(values, dtype)


def lengths(samples, slot):
    return np.array([len(s[slot]) for s in samples], "int64")
