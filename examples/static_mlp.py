"""Fashion-MNIST with a static graph, in the classic Executor style.

    python examples/static_mlp.py
    python examples/static_mlp.py --epochs 1 --data FOLDER

Builds a training Program and its clone for evaluation, trains with a learning rate schedule,
gradient clipping and moving averages, and saves a model that runs without this file. The data are
Debian's package dataset-fashion-mnist, or --data FOLDER.
"""

import argparse
import os
import sys
import time

import numpy as np

import argosy as paddle
from argosy import static
from argosy.vision.datasets import FashionMNIST


def load_data(folder, mode):
    """(images float32 [N, 784], labels int64 [N, 1])."""
    paths = {}
    if folder:
        part = "train" if mode == "train" else "t10k"
        paths["image_path"] = os.path.join(folder, f"{part}-images-idx3-ubyte.gz")
        paths["label_path"] = os.path.join(folder, f"{part}-labels-idx1-ubyte.gz")
    data = FashionMNIST(mode=mode, backend="cv2", **paths)
    images = data.images.reshape(-1, 784).astype("float32")
    return (images - 72.9) / 90.0, data.labels.reshape(-1, 1).astype("int64")


def network(image):
    """Scores of ten classes [N, 10]."""
    hidden = static.nn.fc(image, 256, activation="relu")
    hidden = static.nn.batch_norm(hidden, act="relu")
    hidden = paddle.nn.functional.dropout(hidden, 0.2)
    hidden = static.nn.fc(hidden, 128, activation="relu")
    return static.nn.fc(hidden, 10)


def build(steps):
    """(training Program, the one for evaluation, startup, schedule, averages, what they fetch)."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        image = static.data("image", [None, 784], "float32")
        label = static.data("label", [None, 1], "int64")
        scores = network(image)
        loss = paddle.nn.functional.cross_entropy(scores, label)
        right = static.accuracy(scores, label)
        test = main.clone(for_test=True)
        schedule = paddle.optimizer.lr.CosineAnnealingDecay(0.05, T_max=steps)
        optimizer = paddle.optimizer.Momentum(
            schedule,
            0.9,
            weight_decay=paddle.regularizer.L2Decay(1e-4),
            grad_clip=paddle.nn.ClipGradByGlobalNorm(5.0),
        )
        optimizer.minimize(loss)
        averages = static.ExponentialMovingAverage(0.99)
        averages.update()
    return main, test, startup, schedule, averages, (image, scores, loss, right)


def accuracy(exe, program, right, images, labels, batch=1000):
    """Share of right predictions."""
    total = 0.0
    for i in range(0, len(labels), batch):
        feed = {"image": images[i : i + batch], "label": labels[i : i + batch]}
        total += float(exe.run(program, feed=feed, fetch_list=[right])[0]) * len(feed["label"])
    return total / len(labels)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of the four IDX files (default: where Debian's are)")
    parser.add_argument("--out", default="out/static_mlp", help="folder for what is written")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = parse_options()
    paddle.enable_static()
    paddle.seed(options.seed)
    images, labels = load_data(options.data, "train")
    test_images, test_labels = load_data(options.data, "test")
    steps = len(labels) // options.batch
    program, test, startup, schedule, averages, fetches = build(steps * options.epochs)
    image, scores, loss, right = fetches
    exe = static.Executor(paddle.CPUPlace())
    exe.run(startup)

    random = np.random.default_rng(options.seed)
    for epoch in range(options.epochs):
        start, losses = time.monotonic(), []
        order = random.permutation(len(labels))
        for step in range(steps):
            chosen = order[step * options.batch : (step + 1) * options.batch]
            feed = {"image": images[chosen], "label": labels[chosen]}
            losses.append(float(exe.run(program, feed=feed, fetch_list=[loss])[0]))
            schedule.step()
        seconds = time.monotonic() - start
        plain = accuracy(exe, test, right, test_images, test_labels)
        with averages.apply(exe):
            averaged = accuracy(exe, test, right, test_images, test_labels)
        print(
            f"epoch {epoch + 1}: {seconds:.1f} s, loss {np.mean(losses):.4f}, "
            f"test accuracy {plain:.4f}, averaged {averaged:.4f}",
            flush=True,
        )

    prefix = os.path.join(options.out, "model")
    static.save_inference_model(prefix, [image], [scores], exe, program=test)
    (want,) = exe.run(test, feed={"image": test_images[:100]}, fetch_list=[scores])
    with static.scope_guard(static.Scope()):
        loaded, inputs, outputs = static.load_inference_model(prefix, exe)
        (got,) = exe.run(loaded, feed={inputs[0]: test_images[:100]}, fetch_list=outputs)
    if not np.array_equal(want, got):
        print("The saved model gives other scores.", file=sys.stderr)
        return 1
    print(f"Saved {prefix}.pdmodel and .pdiparams; loaded again, it gives the same scores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
