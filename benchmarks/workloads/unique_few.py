from frameworks import Work, classes

about = "distinct values of 1,000,000 integers, of which there are 100"
goal = 0.2


def work(x, call):
    return Work(lambda: call(x), lambda: [call(x).numpy()])


def paddle(p):
    return work(p.to_tensor(classes(1_000_000, 100)), p.unique)


def torch(t):
    return work(t.from_numpy(classes(1_000_000, 100)), t.unique)
