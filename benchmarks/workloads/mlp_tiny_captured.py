from frameworks import classes, fill_paddle, fill_torch, train_captured, train_torch, values

about = "captured training step of a 16-16-16-2 network at batch 8, SGD, beside eager ones"
goal = 0.2


def paddle(p):
    layer = p.nn.Sequential(
        p.nn.Linear(16, 16), p.nn.ReLU(), p.nn.Linear(16, 16), p.nn.ReLU(), p.nn.Linear(16, 2)
    )
    fill_paddle(layer)
    optimizer = p.optimizer.SGD(learning_rate=0.01, parameters=layer.parameters())
    x, y = p.to_tensor(values(8, 16)), p.to_tensor(classes(8, 2))
    return train_captured(p, layer, optimizer, x, y)


def torch(t):
    module = t.nn.Sequential(
        t.nn.Linear(16, 16), t.nn.ReLU(), t.nn.Linear(16, 16), t.nn.ReLU(), t.nn.Linear(16, 2)
    )
    fill_torch(t, module)
    optimizer = t.optim.SGD(module.parameters(), lr=0.01)
    x, y = t.from_numpy(values(8, 16)), t.from_numpy(classes(8, 2))
    return train_torch(t, module, optimizer, lambda: t.nn.functional.cross_entropy(module(x), y))
