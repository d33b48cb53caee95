from frameworks import classes, fill_paddle, fill_torch, train_captured, train_torch, values

about = "captured training step of a 784-256-256-10 network at batch 64, Adam, beside eager ones"
goal = 0.5


def paddle(p):
    layer = p.nn.Sequential(
        p.nn.Linear(784, 256), p.nn.ReLU(), p.nn.Linear(256, 256), p.nn.ReLU(), p.nn.Linear(256, 10)
    )
    fill_paddle(layer)
    optimizer = p.optimizer.Adam(learning_rate=0.001, parameters=layer.parameters())
    x, y = p.to_tensor(values(64, 784)), p.to_tensor(classes(64, 10))
    return train_captured(p, layer, optimizer, x, y)


def torch(t):
    module = t.nn.Sequential(
        t.nn.Linear(784, 256), t.nn.ReLU(), t.nn.Linear(256, 256), t.nn.ReLU(), t.nn.Linear(256, 10)
    )
    fill_torch(t, module)
    optimizer = t.optim.Adam(module.parameters(), lr=0.001)
    x, y = t.from_numpy(values(64, 784)), t.from_numpy(classes(64, 10))
    return train_torch(t, module, optimizer, lambda: t.nn.functional.cross_entropy(module(x), y))
