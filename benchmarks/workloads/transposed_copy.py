from frameworks import Work, values

about = "contiguous copy of the transpose of 4096 x 1024"
goal = 1.05


def work(call):
    return Work(call, lambda: [call().numpy()])


def paddle(p):
    x = p.to_tensor(values(4096, 1024, seed=0))
    return work(lambda: x.t().contiguous())


def torch(t):
    x = t.from_numpy(values(4096, 1024, seed=0))
    return work(lambda: x.t().contiguous())
