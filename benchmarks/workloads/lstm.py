from frameworks import fill_paddle, fill_torch, train_paddle, train_torch, values

about = "LSTM 128-256 training step, batch 32, length 50, SGD"
goal = 1.0


def paddle(p):
    layer = p.nn.LSTM(128, 256)
    fill_paddle(layer)
    for parameter in layer.parameters():
        if len(parameter.shape) == 1:
            parameter.set_value(parameter * 0)
    optimizer = p.optimizer.SGD(learning_rate=0.01, parameters=layer.parameters())
    x = p.to_tensor(values(32, 50, 128))
    return train_paddle(p, layer, optimizer, lambda: (layer(x)[0] ** 2).mean())


def torch(t):
    module = t.nn.LSTM(128, 256, batch_first=True)
    fill_torch(t, module)
    optimizer = t.optim.SGD(module.parameters(), lr=0.01)
    x = t.from_numpy(values(32, 50, 128))
    return train_torch(t, module, optimizer, lambda: (module(x)[0] ** 2).mean())
