from frameworks import Work, values

about = "3x3 convolution, 64 channels, 56 x 56, batch 8, forward"
goal = 1.05


def work(call):
    return Work(call, lambda: [call().numpy()])


def paddle(p):
    x = p.to_tensor(values(8, 64, 56, 56, seed=0))
    y = p.to_tensor(values(64, 64, 3, 3, seed=1))
    return work(lambda: p.nn.functional.conv2d(x, y, padding=1))


def torch(t):
    x = t.from_numpy(values(8, 64, 56, 56, seed=0))
    y = t.from_numpy(values(64, 64, 3, 3, seed=1))
    return work(lambda: t.nn.functional.conv2d(x, y, padding=1))
