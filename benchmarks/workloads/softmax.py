from frameworks import Work, values

about = "softmax of 4096 rows of 1024"
goal = 1.05


def work(call):
    return Work(call, lambda: [call().numpy()])


def paddle(p):
    x = p.to_tensor(values(4096, 1024, seed=0))
    return work(lambda: p.nn.functional.softmax(x, axis=-1))


def torch(t):
    x = t.from_numpy(values(4096, 1024, seed=0))
    return work(lambda: t.softmax(x, -1))
