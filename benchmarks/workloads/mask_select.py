from frameworks import Work, values

about = "elements of 1000 x 1000 where a mask holds (half of them)"
goal = 0.5


def work(x):
    mask = x > 0
    return Work(lambda: x[mask], lambda: [x[mask].numpy()])


def paddle(p):
    return work(p.to_tensor(values(1000, 1000)))


def torch(t):
    return work(t.from_numpy(values(1000, 1000)))
