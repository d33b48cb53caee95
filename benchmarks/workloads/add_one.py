from frameworks import Work, values

about = "a + b on one element, gradient off"
goal = 0.25
COUNT = 2000


def work(a, b):
    def step():
        for _ in range(COUNT):
            a + b

    return Work(step, lambda: [(a + b).numpy()], COUNT)


def paddle(p):
    return work(p.to_tensor(values(1)), p.to_tensor(values(1, seed=1)))


def torch(t):
    return work(t.from_numpy(values(1)), t.from_numpy(values(1, seed=1)))
