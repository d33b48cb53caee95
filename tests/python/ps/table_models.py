"""What tables do, once more in NumPy and float64, one row after another."""

import numpy as np

RULES = [
    "sgd",
    "momentum",
    "adagrad",
    "adagrad_elementwise",
    "adam",
    "adam_shared",
    "ftrl",
    "rmsprop",
    "sum",
]
DEFAULTS = {
    "learning_rate": 0.05,
    "minimum": -np.inf,
    "maximum": np.inf,
    "initial_g2sum": 3.0,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-8,
    "rho": 0.95,
    "momentum": 0.0,
    "nesterov": False,
    "decay": 0.0,
    "amsgrad": False,
    "l1": 0.0,
    "l2": 0.0,
    "lr_power": -0.5,
}


class PlainModel:
    """Rows [n, dim] that one rule moves."""

    def __init__(self, rule, start, **options):
        options.pop("initial_range", None)
        self.rule = rule
        self.c = {**DEFAULTS, **options}
        self.w = np.array(start, np.float64)
        n, dim = self.w.shape
        c = self.c
        self.a, self.b, self.top = (np.zeros((n, dim)) for _ in range(3))
        self.shared, self.shared2 = np.zeros((n, 1)), np.zeros((n, 1))
        self.p1, self.p2 = np.full((n, 1), c["beta1"]), np.full((n, 1), c["beta2"])

    def push(self, g, rate=-1.0, scale=1.0):
        c, w = self.c, self.w
        g = np.asarray(g, np.float64)
        lr = c["learning_rate"] if rate < 0 else rate
        scaled = g / scale
        if self.rule == "sum":
            self.w = w + g
            return
        if self.rule == "sgd":
            w = w - lr * g
        elif self.rule == "momentum":
            self.a = c["momentum"] * self.a + g
            w = w - lr * (g + c["momentum"] * self.a if c["nesterov"] else self.a)
        elif self.rule == "adam_lazy":
            self.a = c["beta1"] * self.a + (1 - c["beta1"]) * g
            self.b = c["beta2"] * self.b + (1 - c["beta2"]) * g * g
            self.top = np.maximum(self.top, self.b)
            under = np.sqrt(self.top if c["amsgrad"] else self.b)
            w = w * (1 - lr * c["decay"]) - lr * self.a / (under + c["epsilon"])
        elif self.rule == "adagrad":
            w = w - lr * scaled * np.sqrt(c["initial_g2sum"] / (c["initial_g2sum"] + self.shared))
            self.shared += (scaled**2).mean(1, keepdims=True)
        elif self.rule == "adagrad_elementwise":
            w = w - lr * scaled * np.sqrt(c["initial_g2sum"] / (c["initial_g2sum"] + self.a))
            self.a += scaled**2
        elif self.rule in ("adam", "adam_shared"):
            old1, old2 = (self.a, self.b) if self.rule == "adam" else (self.shared, self.shared2)
            m = c["beta1"] * old1 + (1 - c["beta1"]) * g
            v = c["beta2"] * old2 + (1 - c["beta2"]) * g * g
            step = lr * np.sqrt(1 - self.p2) / (1 - self.p1)
            w = w - step * m / (np.sqrt(v) + c["epsilon"])
            if self.rule == "adam":
                self.a, self.b = m, v
            else:
                self.shared, self.shared2 = m.mean(1, keepdims=True), v.mean(1, keepdims=True)
            self.p1, self.p2 = self.p1 * c["beta1"], self.p2 * c["beta2"]
        elif self.rule == "rmsprop":
            self.a = c["rho"] * self.a + (1 - c["rho"]) * g * g
            self.b = c["momentum"] * self.b + lr * g / np.sqrt(self.a + c["epsilon"])
            w = w - self.b
        elif self.rule == "ftrl":
            total = self.a + g * g
            to, old = total ** -c["lr_power"], self.a ** -c["lr_power"]
            z = self.b + g - (to - old) / lr * w
            self.a, self.b = total, z
            w = np.where(
                np.abs(z) > c["l1"], (c["l1"] * np.sign(z) - z) / (to / lr + 2 * c["l2"]), 0
            )
        self.w = np.clip(w, c["minimum"], c["maximum"])


class ClickModel:
    def __init__(self, dim, weight, embedding, start, **options):
        self.dim, self.start = dim, start
        self.rules = weight, embedding
        self.o = {
            "nonclick_coefficient": 0.1,
            "click_coefficient": 1,
            "base_threshold": 1.5,
            "delta_threshold": 0.25,
            "delta_keep_days": 16,
            "show_click_decay_rate": 0.98,
            **options,
        }
        self.rows = {}

    def score(self, show, click):
        return (show - click) * self.o["nonclick_coefficient"] + click * self.o["click_coefficient"]

    def part(self, rule, start):
        return PlainModel(rule, start, minimum=-10, maximum=10)

    def push(self, keys, values):
        for key, (slot, show, click, gw, *gx) in zip(keys.tolist(), values.astype(np.float64)):
            row = self.rows.get(key)
            if row is None:
                weight = self.part(self.rules[0], np.zeros((1, 1)))
                row = self.rows[key] = {"show": 0, "click": 0, "delta": 0, "w": weight, "x": None}
            row["slot"], row["unseen"] = slot, 0
            row["show"] += show
            row["click"] += click
            row["delta"] += self.score(show, click)
            row["w"].push([[gw]], scale=show)
            if row["x"] is not None:
                row["x"].push([gx], scale=show)
            elif self.score(row["show"], row["click"]) >= self.o["embedding_threshold"]:
                row["x"] = self.part(self.rules[1], [self.start(key)])

    def pull(self, key):
        row = self.rows.get(int(key))
        if row is None:
            return np.zeros(3 + self.dim)
        x = np.zeros(self.dim) if row["x"] is None else row["x"].w[0]
        return np.concatenate([[row["show"], row["click"], row["w"].w[0, 0]], x])

    def shrink(self):
        gone = []
        for key, row in self.rows.items():
            row["show"] *= self.o["show_click_decay_rate"]
            row["click"] *= self.o["show_click_decay_rate"]
            low = self.score(row["show"], row["click"]) < self.o["delete_threshold"]
            if low or row["unseen"] > self.o["delete_after_unseen_days"]:
                gone.append(key)
        for key in gone:
            del self.rows[key]
        return len(gone)

    def end_day(self):
        for row in self.rows.values():
            row["unseen"] += 1

    def selected(self, key, mode):
        row = self.rows[key]
        return (
            self.score(row["show"], row["click"]) >= self.o["base_threshold"]
            and row["delta"] >= (0 if mode == 2 else self.o["delta_threshold"])
            and row["unseen"] <= self.o["delta_keep_days"]
        )

    def reset_delta(self, keys):
        for key in keys:
            self.rows[key]["delta"] = 0
