"""Train a small convolutional network on Fashion-MNIST, from start to pictures.

    python examples/fashion_mnist.py              # trains, or goes on where it was stopped
    python examples/fashion_mnist.py --fresh      # starts anew
    python examples/fashion_mnist.py --evaluate out/fashion_mnist/model.pdparams

Writes a checkpoint after each epoch, the trained model, the loss curve and a grid of wrong
predictions. The data are Debian's package dataset-fashion-mnist, or --data FOLDER.
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np
from PIL import Image, ImageDraw

import argosy
from argosy import nn
from argosy.vision.datasets import FashionMNIST

CLASSES = "T-shirt Trouser Pullover Dress Coat Sandal Shirt Sneaker Bag Boot".split()


class ConvNet(nn.Layer):
    """Three convolutions with batch normalization and two linear layers: 0.45 million weights."""

    def __init__(self):
        super().__init__()
        layers, channels = [], 1
        for width, pooled in ((16, True), (32, True), (64, False)):
            layers += [nn.Conv2D(channels, width, 3, padding=1, bias_attr=False)]
            layers += [nn.BatchNorm2D(width), nn.ReLU()]
            layers += [nn.MaxPool2D(2)] if pooled else []
            channels = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Dropout(0.4), nn.Linear(128, 10)
        )

    def forward(self, images):
        return self.classifier(self.features(images))


class Progress:
    """One line that is rewritten in a terminal, and a few lines in a log file."""

    def __init__(self, title, total, stream=sys.stdout):
        self.title, self.total, self.stream = title, total, stream
        self.live = stream.isatty()
        self.start = self.shown = time.monotonic()
        self.lines = 0

    def show(self, done, text):
        now, last = time.monotonic(), done == self.total
        if self.live and not last and now - self.shown < 0.1:
            return
        if not self.live and not last and done * 5 < self.total * (self.lines + 1):
            return
        self.shown, self.lines = now, self.lines + 1
        seconds = now - self.start
        left = seconds / done * (self.total - done)
        bar = "#" * (24 * done // self.total)
        when = f"{seconds:.0f} s" if last else f"{left:.0f} s left"
        line = f"{self.title} [{bar:<24}] {done}/{self.total}  {text}  {when}"
        self.stream.write(f"\r{line}\x1b[K" if self.live else f"{line}\n")
        if self.live and last:
            self.stream.write("\n")
        self.stream.flush()


def load_data(folder, mode):
    """(images uint8 [N, 1, 28, 28], labels int64 [N]) as tensors."""
    paths = {}
    if folder:
        part = "train" if mode == "train" else "t10k"
        paths["image_path"] = os.path.join(folder, f"{part}-images-idx3-ubyte.gz")
        paths["label_path"] = os.path.join(folder, f"{part}-labels-idx1-ubyte.gz")
    data = FashionMNIST(mode=mode, backend="cv2", **paths)
    images = argosy.to_tensor(data.images.reshape(-1, 1, 28, 28))
    return images, argosy.to_tensor(data.labels.reshape(-1))


def normalized(images):
    return (images.astype("float32") - 72.9) / 90.0


def evaluate(model, images, labels, batch=1000):
    """(accuracy, predicted classes as a NumPy array) without dropout and gradients."""
    model.eval()
    predicted = []
    with argosy.no_grad():
        for i in range(0, len(labels), batch):
            scores = model(normalized(images[i : i + batch]))
            predicted.append(scores.argmax(axis=1).numpy())
    predicted = np.concatenate(predicted)
    return float((predicted == labels.numpy()).mean()), predicted


def train_epoch(model, optimizer, schedule, images, labels, batch, title):
    """One pass in random order, half of the images mirrored. Returns the loss of each step."""
    model.train()
    order = argosy.randperm(len(labels))
    steps = len(labels) // batch
    progress = Progress(title, steps)
    losses = []
    for step in range(steps):
        chosen = order[step * batch : (step + 1) * batch]
        pixels = normalized(images[chosen])
        mirror = (argosy.rand([batch, 1, 1, 1]) < 0.5).astype("float32")
        pixels = pixels * (1.0 - mirror) + pixels.flip(axis=[3]) * mirror
        loss = nn.functional.cross_entropy(model(pixels), labels[chosen])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        losses.append(float(loss))
        progress.show(step + 1, f"loss {np.mean(losses[-50:]):.3f}")
    return losses


def train(options, model, test):
    """Train up to options.epochs epochs, going on from the last checkpoint."""
    images, labels = load_data(options.data, "train")
    steps = len(labels) // options.batch * options.epochs
    schedule = argosy.optimizer.lr.OneCycleLR(
        max_learning_rate=options.learning_rate, total_steps=steps + 1, phase_pct=0.25
    )
    optimizer = argosy.optimizer.AdamW(
        learning_rate=schedule, parameters=model.parameters(), weight_decay=0.01
    )
    path = os.path.join(options.out, "checkpoint.pdparams")
    state = {"epoch": 0, "seconds": 0.0, "losses": [], "accuracies": []}
    if os.path.exists(path) and not options.fresh:
        found = argosy.load(path)
        same = all(found[key] == getattr(options, key) for key in ("epochs", "batch"))
        if same:
            model.set_state_dict(found.pop("model"))
            optimizer.set_state_dict(found.pop("optimizer"))
            state = {key: found[key] for key in state}
            print(f"Going on after epoch {state['epoch']} from {path}")
        else:
            print(f"{path} is of another --epochs or --batch: starting anew")
    while state["epoch"] < options.epochs:
        epoch = state["epoch"]
        # A seed for each epoch: a run that was stopped continues as if it had not been.
        argosy.seed(options.seed + 1 + epoch)
        start = time.monotonic()
        title = f"epoch {epoch + 1}/{options.epochs}"
        losses = train_epoch(model, optimizer, schedule, images, labels, options.batch, title)
        state["seconds"] += time.monotonic() - start
        accuracy, _ = evaluate(model, *test)
        state["epoch"] = epoch + 1
        state["losses"] += losses
        state["accuracies"].append(accuracy)
        print(f"epoch {epoch + 1}: test accuracy {accuracy:.4f}", flush=True)
        argosy.save(
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "epochs": options.epochs,
                "batch": options.batch,
                **state,
            },
            path,
        )
    return state


def draw_losses(losses, accuracies, path):
    """Loss of each step (mean of 50) and test accuracy of each epoch, as a PNG."""
    width, height, left, top = 640, 360, 60, 30
    picture = Image.new("RGB", (width + left + 60, height + top + 50), "white")
    draw = ImageDraw.Draw(picture)
    window = min(50, len(losses))
    smooth = np.convolve(losses, np.ones(window) / window, "valid")
    high = float(max(smooth.max(), 1e-9))

    def place(step, value, limit):
        x = left + width * (step / max(len(losses) - 1, 1))
        return x, top + height * (1 - value / limit)

    draw.rectangle([left, top, left + width, top + height], outline="gray")
    for i in range(5):
        value = high * i / 4
        draw.text((8, place(0, value, high)[1] - 6), f"{value:.2f}", fill="navy")
        share = f"{0.5 + 0.125 * i:.3f}"
        draw.text((left + width + 8, top + height * (1 - i / 4) - 6), share, fill="darkred")
    points = [place(i + window - 1, value, high) for i, value in enumerate(smooth)]
    draw.line(points, fill="navy", width=2)
    dots = []
    for i, accuracy in enumerate(accuracies):
        step = (i + 1) * len(losses) / len(accuracies) - 1
        dots.append(place(step, max(accuracy - 0.5, 0.0), 0.5))
        draw.ellipse([dots[-1][0] - 4, dots[-1][1] - 4, dots[-1][0] + 4, dots[-1][1] + 4], "red")
    if len(dots) > 1:
        draw.line(dots, fill="red", width=1)
    draw.text((left, 8), "training loss (blue, left)", fill="navy")
    draw.text((left + 200, 8), "test accuracy (red, right)", fill="darkred")
    text = f"{len(losses)} steps in {len(accuracies)} epochs"
    draw.text((left + width // 2 - 60, top + height + 20), text, fill="black")
    picture.save(path)


def draw_wrong(images, labels, predicted, path, rows=6, columns=8):
    """A grid of wrong predictions as a PNG: what the network said, and what it is."""
    cell_width, cell_height, size = 110, 124, 84
    wrong = np.nonzero(predicted != labels)[0][: rows * columns]
    picture = Image.new("RGB", (columns * cell_width, rows * cell_height), "white")
    draw = ImageDraw.Draw(picture)
    for i, index in enumerate(wrong):
        x, y = i % columns * cell_width, i // columns * cell_height
        image = Image.fromarray(255 - images[index].reshape(28, 28)).resize((size, size))
        picture.paste(image.convert("RGB"), (x + (cell_width - size) // 2, y + 4))
        draw.text((x + 12, y + size + 8), CLASSES[predicted[index]], fill="red")
        draw.text((x + 12, y + size + 20), f"is {CLASSES[labels[index]]}", fill="green")
    picture.save(path)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="out/fashion_mnist", help="folder for what is written")
    parser.add_argument("--data", help="folder of the four IDX files (default: where Debian's are)")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=0.006)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="do not go on from a checkpoint")
    parser.add_argument("--evaluate", metavar="FILE", help="only evaluate this model")
    return parser.parse_args()


def main():
    options = parse_options()
    argosy.seed(options.seed)
    model = ConvNet()
    test = load_data(options.data, "test")
    if options.evaluate:
        model.set_state_dict(argosy.load(options.evaluate))
        print(f"test accuracy {evaluate(model, *test)[0]!r}")
        return 0
    os.makedirs(options.out, exist_ok=True)
    state = train(options, model, test)
    accuracy, predicted = evaluate(model, *test)
    print(f"Trained for {state['seconds']:.0f} s: test accuracy {accuracy:.4f}")

    path = os.path.join(options.out, "model.pdparams")
    argosy.save(model.state_dict(), path)
    command = [sys.executable, os.path.abspath(__file__), "--evaluate", path]
    command += ["--data", options.data] if options.data else []
    again = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    if float(again) != accuracy:
        print(f"The model saved gives {again} in a new process, not {accuracy!r}", file=sys.stderr)
        return 1
    print(f"Saved, loaded in a new process and evaluated there: {float(again):.4f} again")

    curve = os.path.join(options.out, "loss.png")
    grid = os.path.join(options.out, "wrong.png")
    draw_losses(state["losses"], state["accuracies"], curve)
    draw_wrong(test[0].numpy(), test[1].numpy(), predicted, grid)
    print("\nWritten:")
    for name, what in ((path, "model"), (curve, "loss curve"), (grid, "wrong predictions")):
        print(f"  {what:<18} {os.path.abspath(name)}")
    print(
        "\nTry next:\n"
        f"  argosy run examples/fashion_mnist.py --fresh --epochs 12 --out {options.out}-longer\n"
        "  argosy doctor\n"
        "  change ConvNet in examples/fashion_mnist.py and run with --fresh"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
