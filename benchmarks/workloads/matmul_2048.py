from frameworks import Work, values

about = "float32 matrix product, 2048 x 2048 x 2048"
goal = 1.05


def work(call):
    return Work(call, lambda: [call().numpy()])


def paddle(p):
    x = p.to_tensor(values(2048, 2048, seed=0))
    y = p.to_tensor(values(2048, 2048, seed=1))
    return work(lambda: p.matmul(x, y))


def torch(t):
    x = t.from_numpy(values(2048, 2048, seed=0))
    y = t.from_numpy(values(2048, 2048, seed=1))
    return work(lambda: t.matmul(x, y))
