from frameworks import classes, fill_paddle, fill_torch, train_paddle, train_torch, values

about = "LeNet training step at batch 64, Adam"
goal = 0.8


def paddle(p):
    nn = p.nn
    layer = nn.Sequential(
        nn.Conv2D(1, 6, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2D(2, 2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Linear(120, 84),
        nn.Linear(84, 10),
    )
    fill_paddle(layer)
    optimizer = p.optimizer.Adam(learning_rate=0.001, parameters=layer.parameters())
    for parameter in layer.parameters():
        if len(parameter.shape) == 1:
            parameter.set_value(parameter * 0)
    x, y = p.to_tensor(values(64, 1, 28, 28)), p.to_tensor(classes(64, 10))
    return train_paddle(p, layer, optimizer, lambda: nn.functional.cross_entropy(layer(x), y))


def torch(t):
    nn = t.nn
    module = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Linear(120, 84),
        nn.Linear(84, 10),
    )
    fill_torch(t, module)
    optimizer = t.optim.Adam(module.parameters(), lr=0.001)
    x, y = t.from_numpy(values(64, 1, 28, 28)), t.from_numpy(classes(64, 10))
    return train_torch(t, module, optimizer, lambda: nn.functional.cross_entropy(module(x), y))
