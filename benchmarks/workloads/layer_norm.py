from frameworks import Work, values

about = "layer norm of 4096 rows of 1024"
goal = 1.05


def work(call):
    return Work(call, lambda: [call().numpy()])


def paddle(p):
    x = p.to_tensor(values(4096, 1024, seed=0))
    y = p.to_tensor(values(1024, seed=1))
    z = p.to_tensor(values(1024, seed=2))
    return work(lambda: p.nn.functional.layer_norm(x, [1024], y, z))


def torch(t):
    x = t.from_numpy(values(4096, 1024, seed=0))
    y = t.from_numpy(values(1024, seed=1))
    z = t.from_numpy(values(1024, seed=2))
    return work(lambda: t.nn.functional.layer_norm(x, [1024], y, z))
