from frameworks import Work, values

about = "a + b on one element, gradient recorded"
goal = 0.35
COUNT = 2000


def work(a, b):
    def step():
        for _ in range(COUNT):
            a + b

    return Work(step, lambda: [(a + b).detach().numpy()], COUNT)


def paddle(p):
    a = p.to_tensor(values(1), stop_gradient=False)
    return work(a, p.to_tensor(values(1, seed=1)))


def torch(t):
    a = t.from_numpy(values(1)).requires_grad_()
    return work(a, t.from_numpy(values(1, seed=1)))
