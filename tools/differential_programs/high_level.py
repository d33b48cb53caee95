"""paddle.Model: fit, evaluate and predict with metrics, callbacks, checkpoints and early stopping."""

import os
import tempfile

import numpy as np
import paddle
from paddle import nn
from paddle.metric import Accuracy, Metric, Precision
from paddle.static import InputSpec

rng = np.random.RandomState(0)


class Points(paddle.io.Dataset):
    def __init__(self, count):
        super().__init__()
        self.x = rng.randn(count, 6).astype("float32")
        self.y = (self.x[:, :3].sum(1) > 0).astype("int64")[:, None]

    def __getitem__(self, index):
        return self.x[index], self.y[index]

    def __len__(self):
        return len(self.x)


class Margin(Metric):
    def __init__(self):
        super().__init__()
        self.reset()

    def compute(self, pred, label):
        return (pred[:, 1] - pred[:, 0]).abs()

    def update(self, margins):
        self.total += float(np.asarray(margins).sum())
        self.count += len(margins)
        return self.total / self.count

    def reset(self):
        self.total, self.count = 0.0, 0

    def accumulate(self):
        return self.total / max(self.count, 1)

    def name(self):
        return ["margin"]


class Log(paddle.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.events = []

    def on_train_begin(self, logs=None):
        show("params", sorted(k for k, v in self.params.items()))
        self.events.append("begin")

    def on_epoch_begin(self, epoch, logs=None):
        self.events.append(f"epoch {epoch}")

    def on_train_batch_end(self, step, logs=None):
        show("batch", {k: v for k, v in (logs or {}).items()})

    def on_epoch_end(self, epoch, logs=None):
        show("epoch", sorted(logs or {}))

    def on_eval_begin(self, logs=None):
        self.events.append("eval")

    def on_eval_end(self, logs=None):
        show("eval", dict(logs or {}))

    def on_train_end(self, logs=None):
        self.events.append("end")


net = fixed(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)))
model = paddle.Model(
    net, InputSpec([None, 6], "float32", "x"), InputSpec([None, 1], "int64", "label")
)
rate = paddle.optimizer.lr.StepDecay(0.05, step_size=4, gamma=0.5)
optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())
model.prepare(optimizer, nn.CrossEntropyLoss(), [Accuracy(topk=(1, 2)), Margin()])
train, test = Points(20), Points(10)
log = Log()
with tempfile.TemporaryDirectory() as folder:
    model.fit(
        train, test, batch_size=8, epochs=2, shuffle=False, verbose=0, callbacks=[log], save_dir=folder,
        save_freq=1, drop_last=False, eval_freq=1,
    )  # fmt: skip
    show("events", log.events)
    show("files", sorted(os.listdir(folder)))
    show("rate", rate.get_lr())
    found = model.evaluate(test, batch_size=4, verbose=0)
    show("found", found)
    predicted = model.predict(test, batch_size=3, stack_outputs=True, verbose=0)
    show("predicted", predicted)
    predicted = model.predict(test, batch_size=4, verbose=0)
    show("shapes", [[list(p.shape) for p in part] for part in predicted])
    model.save(os.path.join(folder, "one"))
    model.load(os.path.join(folder, "final"))
    show("again", model.evaluate(test, batch_size=10, verbose=0))
    model.load(os.path.join(folder, "one"), skip_mismatch=True, reset_optimizer=True)
    model.save(os.path.join(folder, "inference"), training=False)
    loaded = paddle.jit.load(os.path.join(folder, "inference"))
    show("loaded", loaded(paddle.to_tensor(test.x[:2])))
show("train", model.train_batch([train.x[:4]], [train.y[:4]]))
show("eval", model.eval_batch([train.x[:4]], [train.y[:4]]))
show("predict", model.predict_batch([train.x[:2]]))
stop = paddle.callbacks.EarlyStopping(
    "loss", mode="min", patience=1, verbose=0, min_delta=10.0, save_best_model=False
)
model.fit(train, test, batch_size=10, epochs=6, shuffle=False, verbose=0, callbacks=[stop])
show("stopped", [stop.stopped_epoch, model.stop_training])
metric = Precision()
metric.update(np.array([0.1, 0.9, 0.8]), np.array([0, 1, 0]))
show("precision", metric.accumulate())
show("summary", paddle.summary(net, (1, 6))["total_params"].__int__())
show("flops", int(paddle.flops(net, [1, 6])))
