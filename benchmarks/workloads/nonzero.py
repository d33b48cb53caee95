from frameworks import Work, values

about = "places of the true elements of 1000 x 1000 (one in twenty)"
goal = 0.5


def work(mask, call):
    return Work(lambda: call(mask), lambda: [call(mask).numpy()])


def paddle(p):
    return work(p.to_tensor(values(1000, 1000)) > 0.9, p.nonzero)


def torch(t):
    return work(t.from_numpy(values(1000, 1000)) > 0.9, t.nonzero)
