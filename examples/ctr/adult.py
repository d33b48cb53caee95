"""UCI Adult (census income) as click data: who earns more than 50,000 dollars a year.

Every column is a slot: categories as they are, numbers by interval. Crossed features are wide slots.
Numbers are also given as numbers, standardized. Lines are MultiSlot text, see generate.py.
"""

import csv
import gzip
import math
import os
import zlib

import numpy as np

CATEGORIES = [
    "workclass", "education", "marital_status", "occupation", "relationship", "race", "sex",
    "native_country",
]  # fmt: skip
NUMBERS = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
# The last one are intervals of capital_gain and capital_loss, half a power of two wide.
INTERVALS = {
    "age": [20, 23, 26, 29, 32, 35, 38, 41, 44, 47, 50, 54, 58, 62, 66, 72],
    "hours_per_week": [10, 20, 28, 35, 39, 40, 41, 45, 50, 55, 60, 70],
}
CROSSES = [
    ("education", "occupation"),
    ("age", "education"),
    ("age", "marital_status"),
    ("education", "relationship"),
    ("occupation", "hours_per_week"),
    ("relationship", "hours_per_week"),
    ("marital_status", "occupation"),
    ("workclass", "occupation"),
    ("age", "hours_per_week", "relationship"),
    ("age", "education", "occupation"),
]
SLOTS = len(CATEGORIES) + 5
ROWS = 100003


def read(path):
    """Rows of the file as dicts."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as f:
        return list(csv.DictReader(f, skipinitialspace=True))


def features(row):
    """Values of the slots by name."""
    found = {name: row[name] for name in CATEGORIES}
    for name, edges in INTERVALS.items():
        found[name] = sum(float(row[name]) >= e for e in edges)
    found["education_num"] = row["education_num"]
    for name in ("capital_gain", "capital_loss"):
        found[name] = round(8 * math.log2(1 + float(row[name])))
    return found


def id_of(name, value):
    return zlib.crc32(f"{name}={value}".encode()) % (ROWS - 1) + 1


def line(row, numbers):
    values = features(row)
    ids = [id_of(name, v) for name, v in values.items()]
    for cross in CROSSES:
        ids.append(id_of(cross, [values[name] for name in cross]))
    click = int(row["wage_class"].strip().startswith(">50K"))
    text = "".join(f"1 {x} " for x in ids) + f"{len(numbers)} "
    return text + " ".join(f"{x:.5g}" for x in numbers) + f" 1 {click}\n"


def write(folder, out, files=4):
    """Writes MultiSlot text of the data in `folder` (adult.data.gz, adult.test.gz).

    Returns:
        tuple: Paths of `files` training files and as many test files.
    """
    os.makedirs(out, exist_ok=True)
    scale, paths = None, []
    for part in ("data", "test"):
        source = os.path.join(folder, f"adult.{part}.gz")
        rows = read(source if os.path.exists(source) else source[:-3])
        numbers = np.array([[float(r[n]) for n in NUMBERS] for r in rows])
        numbers[:, 3:5] = np.log1p(numbers[:, 3:5])
        scale = scale or (numbers.mean(0), np.maximum(numbers.std(0), 1e-6))
        numbers = (numbers - scale[0]) / scale[1]
        order = np.random.default_rng(0).permutation(len(rows))
        paths.append([os.path.join(out, f"adult-{part}-{k}.txt") for k in range(files)])
        for k, path in enumerate(paths[-1]):
            with open(path, "w") as f:
                f.writelines(line(rows[i], numbers[i]) for i in order[k::files])
    return paths
