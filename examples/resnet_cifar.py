"""Train ResNet-18 on CIFAR-10 images eagerly, with to_static and as one compiled step.

    python examples/resnet_cifar.py
    python examples/resnet_cifar.py --data cifar10.tar.gz --batch 64 --steps 100
    python examples/resnet_cifar.py --data FOLDER

The three runs start from the same weights and take the same batches; their losses must agree within
--tolerance. Data are the archive of CIFAR-10 (cifar-10-python.tar.gz), an archive of images whose
folder is the class (.../train/cat/0001.jpg), or a folder of such images; otherwise images are made
up, with a colour and a stripe that tell the class.
"""

import argparse
import io
import os
import sys
import tarfile
import time

import numpy as np
from PIL import Image

import argosy as paddle
from argosy import nn
from argosy.vision.models import resnet18


def made_up(count, seed):
    """(images uint8 [count, 32, 32, 3], labels int64 [count]) of ten classes."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 10, count)
    images = rng.randint(0, 120, (count, 32, 32, 3))
    for image, label in zip(images, labels):
        image[:, :, label % 3] += 60
        image[3 * label : 3 * label + 4] += 75
    return images.astype("uint8"), labels.astype("int64")


def pictures(named):
    """Images and labels of (class name, file) pairs."""
    found = [(name, np.asarray(Image.open(f).convert("RGB").resize((32, 32)))) for name, f in named]
    if not found:
        raise SystemExit("no images found: expected files like train/cat/0001.jpg")
    names = sorted({name for name, _ in found})
    labels = np.array([names.index(name) for name, _ in found], "int64")
    return np.stack([image for _, image in found]), labels


def wanted(path):
    parts = path.replace(os.sep, "/").split("/")
    return len(parts) > 1 and path.endswith((".jpg", ".jpeg", ".png")) and "test" not in parts


def read_archive(path):
    with tarfile.open(path) as archive:
        members = [m for m in archive.getmembers() if m.isfile()]
        batches = [m for m in members if "data_batch" in m.name]
        if not batches:
            chosen = [m for m in members if wanted(m.name)]
            return pictures((m.name.split("/")[-2], archive.extractfile(m)) for m in chosen)
        # load runs no code of a pickle.
        files = [io.BytesIO(archive.extractfile(m).read()) for m in batches]
    found = [paddle.load(file, return_numpy=True) for file in files]
    images = np.concatenate([part["data"] for part in found]).reshape(-1, 3, 32, 32)
    return images.transpose(0, 2, 3, 1), np.concatenate([part["labels"] for part in found])


def read_folder(path):
    files = [os.path.join(folder, f) for folder, _, names in os.walk(path) for f in names]
    return pictures((f.split(os.sep)[-2], f) for f in sorted(files) if wanted(f))


def load_data(options):
    """(images float32 [N, 3, 32, 32], labels int64 [N]) in random order."""
    if not options.data:
        images, labels = made_up(2000, options.seed)
    elif os.path.isdir(options.data):
        images, labels = read_folder(options.data)
    else:
        images, labels = read_archive(options.data)
    order = np.random.RandomState(options.seed).permutation(len(labels))
    images = (images.astype("float32") / 255.0 - 0.48) / 0.25
    return images.transpose(0, 3, 1, 2)[order].copy(), np.asarray(labels, "int64")[order]


def network():
    """ResNet-18 with a first layer for small images: stride 1 and no pooling."""
    model = resnet18(num_classes=10)
    model.conv1 = nn.Conv2D(3, 64, 3, padding=1, bias_attr=False)
    model.maxpool = nn.Identity()
    return model


def make_step(model, optimizer, mode):
    criterion = nn.CrossEntropyLoss()
    if mode == "compile_step":
        return paddle.jit.compile_step(model, criterion, optimizer)
    if mode == "to_static":
        model = paddle.jit.to_static(model, full_graph=True)

    def step(images, labels):
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def train(options, mode, images, labels):
    """(losses, seconds of the first step, median seconds of the others, accuracy in eval mode)."""
    paddle.seed(options.seed)
    model = network()
    optimizer = paddle.optimizer.Momentum(
        options.learning_rate, 0.9, parameters=model.parameters(), weight_decay=5e-4
    )
    step = make_step(model, optimizer, mode)
    held = min(options.held_out, len(labels) // 5)
    train_images, train_labels = images[held:], labels[held:]
    batches = max(len(train_labels) // options.batch, 1)
    losses, seconds = [], []
    for i in range(options.steps):
        part = slice(i % batches * options.batch, (i % batches + 1) * options.batch)
        batch = paddle.to_tensor(train_images[part]), paddle.to_tensor(train_labels[part])
        start = time.perf_counter()
        losses.append(float(step(*batch)))
        seconds.append(time.perf_counter() - start)
        if (i + 1) % max(options.steps // 5, 1) == 0:
            print(f"  step {i + 1}: loss {np.mean(losses[-10:]):.4f}", flush=True)
    model.eval()
    right = 0
    with paddle.no_grad():
        for i in range(0, held, options.batch):
            scores = model(paddle.to_tensor(images[i : min(i + options.batch, held)]))
            right += int((scores.argmax(1).numpy() == labels[i : i + len(scores)]).sum())
    return np.array(losses), seconds[0], float(np.median(seconds[1:] or seconds)), right / held


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="archive or folder of images (default: made-up images)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--held-out", type=int, default=200, help="images to measure accuracy on")
    parser.add_argument("--learning-rate", type=float, default=0.02)
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative, of each loss")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = parse_options()
    images, labels = load_data(options)
    print(f"{len(labels)} images")
    results = {}
    for mode in ("eager", "to_static", "compile_step"):
        print(f"{mode}:")
        results[mode] = train(options, mode, images, labels)
        _, first, median, accuracy = results[mode]
        print(
            f"  {1e3 * median:.1f} ms a step, the first {1e3 * first:.0f} ms; accuracy"
            f" {accuracy:.3f} on images held out"
        )
    wrong = 0
    for mode in ("to_static", "compile_step"):
        apart = np.abs(results[mode][0] / results["eager"][0] - 1.0).max()
        print(f"largest relative difference of the losses, {mode} and eager: {apart:.2e}")
        wrong += not apart <= options.tolerance
    if wrong:
        print(f"more than the tolerance, {options.tolerance}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
