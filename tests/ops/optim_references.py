"""The update rules in NumPy, written from the papers: f(param, grad, state, t) -> new param."""

import numpy as np


def sgd(lr=0.1):
    return lambda p, g, s, t: p - lr * g


def momentum(lr=0.1, mu=0.9, nesterov=False):
    def rule(p, g, s, t):
        v = s["v"] = mu * s.get("v", 0.0) + g
        return p - lr * (g + mu * v) if nesterov else p - lr * v

    return rule


def adam(lr=0.1, b1=0.9, b2=0.999, eps=1e-8, amsgrad=False, decay=0.0):
    def rule(p, g, s, t):
        m = s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
        v = s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
        if amsgrad:
            v = s["top"] = np.maximum(v, s.get("top", 0.0))
        m_hat, root = m / (1 - b1**t), np.sqrt(v / (1 - b2**t))
        return p * (1 - lr * decay) - lr * m_hat / (root + eps)

    return rule


def adamax(lr=0.1, b1=0.9, b2=0.999, eps=1e-8):
    def rule(p, g, s, t):
        m = s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
        u = s["u"] = np.maximum(np.abs(g), b2 * s.get("u", 0.0) + eps)
        return p - lr / (1 - b1**t) * m / u

    return rule


def adagrad(lr=0.1, eps=1e-6, start=0.0):
    def rule(p, g, s, t):
        v = s["v"] = s.get("v", start) + g * g
        return p - lr * g / (np.sqrt(v) + eps)

    return rule


def adadelta(lr=0.1, eps=1e-6, rho=0.95):
    def rule(p, g, s, t):
        a = s["a"] = rho * s.get("a", 0.0) + (1 - rho) * g * g
        d = np.sqrt((s.get("u", 0.0) + eps) / (a + eps)) * g
        s["u"] = rho * s.get("u", 0.0) + (1 - rho) * d * d
        return p - lr * d

    return rule


def rmsprop(lr=0.1, rho=0.95, eps=1e-6, mu=0.0, centered=False):
    def rule(p, g, s, t):
        a = s["a"] = rho * s.get("a", 0.0) + (1 - rho) * g * g
        if centered:
            mean = s["g"] = rho * s.get("g", 0.0) + (1 - rho) * g
            a = a - mean * mean
        v = s["v"] = mu * s.get("v", 0.0) + lr * g / np.sqrt(a + eps)
        return p - v

    return rule


def lamb(lr=0.1, decay=0.01, b1=0.9, b2=0.999, eps=1e-6, always=False):
    def rule(p, g, s, t):
        m = s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
        v = s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
        r = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps) + decay * p
        size, step = np.linalg.norm(p), np.linalg.norm(r)
        adapt = (decay != 0 or always) and size > 0 and step > 0
        return p - lr * (size / step if adapt else 1.0) * r

    return rule


def nadam(lr=0.1, b1=0.9, b2=0.999, eps=1e-8, psi=0.004):
    def rule(p, g, s, t):
        mu = b1 * (1 - 0.5 * 0.96 ** (t * psi))
        mu_next = b1 * (1 - 0.5 * 0.96 ** ((t + 1) * psi))
        product = s["product"] = s.get("product", 1.0) * mu
        m = s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
        v = s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
        m_hat = mu_next * m / (1 - product * mu_next) + (1 - mu) * g / (1 - product)
        return p - lr * m_hat / (np.sqrt(v / (1 - b2**t)) + eps)

    return rule


def radam(lr=0.1, b1=0.9, b2=0.999, eps=1e-8):
    def rule(p, g, s, t):
        m = s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
        v = s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g * g
        limit = 2 / (1 - b2) - 1
        length = limit - 2 * t * b2**t / (1 - b2**t)
        m_hat = m / (1 - b1**t)
        if length <= 5:
            return p - lr * m_hat
        r = np.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
        return p - lr * m_hat * r * np.sqrt(1 - b2**t) / (np.sqrt(v) + eps)

    return rule


def asgd(lr=0.1, n=1):
    def rule(p, g, s, t):
        y, i = s.setdefault("y", [0.0] * n), (t - 1) % n
        s["d"] = s.get("d", 0.0) - y[i] + g
        y[i] = g
        return p - lr * s["d"] / min(t, n)

    return rule


def rprop(lr=0.1, low=1e-5, high=50.0, shrink=0.5, grow=1.2):
    def rule(p, g, s, t):
        rate, before = s.get("rate", np.full(p.shape, lr)), s.get("before", np.zeros(p.shape))
        sign = np.sign(before * g)
        g = np.where(sign < 0, 0.0, g)
        rate = np.clip(rate * np.where(sign > 0, grow, np.where(sign < 0, shrink, 1.0)), low, high)
        s["rate"], s["before"] = rate, g
        return p - np.sign(g) * rate

    return rule
