"""Model.fit, evaluate and predict of several processes beside one with all samples."""

import os
import sys
import tempfile

import numpy as np

import argosy as paddle
import argosy.distributed as dist

rank, size = dist.get_rank(), dist.get_world_size()
SAMPLES, BATCH = 26, 4  # the last share is smaller, and some samples are given twice


class Data(paddle.io.Dataset):
    def __init__(self, count=SAMPLES):
        draw = np.random.RandomState(4)
        self.x = draw.randn(count, 6)
        self.y = draw.randint(0, 3, [count, 1])

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.x)


def network(seed=3):
    paddle.seed(seed)
    return paddle.nn.Sequential(
        paddle.nn.Linear(6, 8), paddle.nn.Tanh(), paddle.nn.Linear(8, 3)
    ).to(dtype="float64")


def prepared(net):
    model = paddle.Model(net)
    adam = paddle.optimizer.Adam(0.02, parameters=net.parameters())
    model.prepare(adam, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy(topk=(1, 2)))
    return model


def close(one, two, digits=1e-12):
    np.testing.assert_allclose(np.asarray(one), np.asarray(two), rtol=digits, atol=digits)


net, whole = network(3 + rank), network()
model = prepared(net)
assert dist.is_initialized() == (size > 1)

# The first global batches of an epoch, which are full.
steps = SAMPLES // (BATCH * size)
model.fit(Data(), batch_size=BATCH, epochs=2, shuffle=False, verbose=0, num_iters=steps)
adam = paddle.optimizer.Adam(0.02, parameters=whole.parameters())
data = Data()
for k in range(steps):
    part = slice(k * BATCH * size, (k + 1) * BATCH * size)
    loss = paddle.nn.functional.cross_entropy(
        whole(paddle.to_tensor(data.x[part])), paddle.to_tensor(data.y[part])
    )
    loss.backward()
    adam.step()
    adam.clear_grad()
for a, b in zip(net.parameters(), whole.parameters()):
    close(a, b)

# All samples count once, in all processes.
found = model.evaluate(Data(), batch_size=BATCH, verbose=0)
outputs = whole(paddle.to_tensor(data.x)).numpy()
close(found["acc_top1"], (outputs.argmax(1) == data.y[:, 0]).mean())
(predicted,) = model.predict(Data(), batch_size=BATCH, verbose=0, stack_outputs=True)
close(predicted, outputs)
told = []
dist.all_gather_object(told, found)
assert all(one == told[0] for one in told), told

# Batches of a loader that deals nothing: all rows of all processes.
loader = paddle.io.DataLoader(Data(5), batch_size=5)
(predicted,) = model.predict(loader, verbose=0)
assert predicted[0].shape == (5 * size, 3)

# Gradients of two batches for one step, and a learning rate that an evaluation changes.
plateau = paddle.callbacks.ReduceLROnPlateau(patience=1, min_delta=10.0, verbose=0)
stops = paddle.callbacks.EarlyStopping("loss", patience=3, min_delta=10.0, verbose=0)
with tempfile.TemporaryDirectory() as folder:
    model.fit(
        Data(), Data(), batch_size=BATCH, epochs=9, verbose=2 if rank else 0, save_dir=folder,
        accumulate_grad_batches=2, callbacks=[plateau, stops],
    )  # fmt: skip
    assert bool(os.listdir(folder)) == (rank == 0), os.listdir(folder)
assert model.stop_training
rates = []
dist.all_gather_object(
    rates, (model._optimizer.get_lr(), [p.numpy().tolist() for p in net.parameters()])
)
assert all(one == rates[0] for one in rates) and rates[0][0] < 0.02
for p in net.parameters():
    told = []
    dist.all_gather(told, p)
    assert all((one == told[0]).all() for one in told)

# A network that is not trained.
judge = paddle.Model(network(3 + rank))
judge.prepare(None, paddle.nn.CrossEntropyLoss())
assert judge.eval_batch([data.x[:4]], [data.y[:4]])[0].shape == ()

# Batches that do not divide, given directly: figures are of all.
counted = prepared(network())
counted.eval_batch([data.x[: 3 + rank]], [data.y[: 3 + rank]])
assert counted._metrics[0].count[0] == sum(3 + r for r in range(size)), counted._metrics[0].count

if size > 1:
    paddle.enable_static()
    specs = [paddle.static.InputSpec([None, 6], "float32", "x")]
    static = paddle.Model(paddle.nn.Linear(6, 3), specs)
    try:
        static.prepare(
            paddle.optimizer.SGD(0.1, parameters=static.parameters()), paddle.nn.MSELoss()
        )
    except NotImplementedError as error:
        assert "[Model.prepare] this process is one of several" in str(error), error
    else:
        raise AssertionError("nothing was raised")
    paddle.disable_static()
if size > 1:
    dist.barrier()
print("all is well", file=sys.stdout)
