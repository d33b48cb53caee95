import numpy as np
from frameworks import fill_paddle, train_paddle, train_torch, values

about = "4-layer Transformer encoder (256, 4 heads, 1024), 8 x 128, AdamW step"
goal = 1.0


def paddle(p):
    nn = p.nn
    one = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, activation="relu")
    layer = nn.TransformerEncoder(one, 4)
    fill_paddle(layer)
    for parameter in layer.parameters():
        if len(parameter.shape) == 1 and float(parameter.sum()) != parameter.shape[0]:
            parameter.set_value(parameter * 0)
    optimizer = p.optimizer.AdamW(0.001, parameters=layer.parameters(), weight_decay=0.01)
    x = p.to_tensor(values(8, 128, 256))
    target = p.to_tensor(values(8, 128, 256, seed=1))
    return train_paddle(p, layer, optimizer, lambda: ((layer(x) - target) ** 2).mean())


def torch(t):
    nn = t.nn
    one = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    module = nn.TransformerEncoder(one, 4, enable_nested_tensor=False)
    seed = 0

    def next_weight(rows, columns):
        nonlocal seed
        array = values(rows, columns, seed=seed) / np.sqrt(rows).astype(np.float32)
        seed += 1
        return t.from_numpy(array.T.copy())

    with t.no_grad():
        for layer in module.layers:
            attention = layer.self_attn
            # Paddle keeps query, key and value weights apart, and the output weight after them.
            attention.in_proj_weight.copy_(t.cat([next_weight(256, 256) for _ in range(3)]))
            attention.out_proj.weight.copy_(next_weight(256, 256))
            layer.linear1.weight.copy_(next_weight(256, 1024))
            layer.linear2.weight.copy_(next_weight(1024, 256))
            biases = (attention.in_proj_bias, attention.out_proj.bias)
            for bias in (*biases, layer.linear1.bias, layer.linear2.bias):
                bias.zero_()
    optimizer = t.optim.AdamW(module.parameters(), lr=0.001, weight_decay=0.01)
    x = t.from_numpy(values(8, 128, 256))
    target = t.from_numpy(values(8, 128, 256, seed=1))
    return train_torch(t, module, optimizer, lambda: ((module(x) - target) ** 2).mean())
