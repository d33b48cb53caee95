"""Train a generator and a critic with gradient penalty, eagerly and captured, with equal losses.

    python examples/gradient_penalty.py
    python examples/gradient_penalty.py --data points.npy --steps 2000

The critic's loss has the norm of its own gradient in it, so training differentiates twice
(Gulrajani et al., "Improved Training of Wasserstein GANs", 2017). The data are 2-D points: a ring of
eight Gaussians, or --data FILE, a NumPy array [N, D].
"""

import argparse
import sys
import time

import numpy as np

import argosy as paddle
from argosy import nn


def ring(count, rng):
    """float32 [count, 2]: eight Gaussians on a circle of radius 2."""
    angle = rng.randint(0, 8, count) * (np.pi / 4)
    centers = 2.0 * np.stack([np.cos(angle), np.sin(angle)], 1)
    return (centers + 0.1 * rng.standard_normal((count, 2))).astype("float32")


def perceptron(sizes, activation):
    layers = []
    for width, following in zip(sizes, sizes[1:]):
        layers += [nn.Linear(width, following), activation()]
    return nn.Sequential(*layers[:-1])


class CriticLoss(nn.Layer):
    """Wasserstein loss of a critic with gradient penalty; all randomness comes in as arguments."""

    def __init__(self, critic, generator, weight):
        super().__init__()
        self.critic = critic
        self.generator = generator
        self.weight = weight

    def forward(self, real, noise, mix):
        """real [B, D], noise [B, Z], mix [B, 1] in [0, 1): the loss, a number."""
        fake = self.generator(noise).detach()
        between = mix * real + (1.0 - mix) * fake
        between.stop_gradient = False
        (slope,) = paddle.grad(self.critic(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(axis=1) - 1.0) ** 2).mean()
        return self.critic(fake).mean() - self.critic(real).mean() + self.weight * penalty


class GeneratorLoss(nn.Layer):
    def __init__(self, critic, generator):
        super().__init__()
        self.critic = critic
        self.generator = generator

    def forward(self, noise):
        return -self.critic(self.generator(noise)).mean()


def make_step(loss, optimizer, mode):
    """step(*batch) -> the loss; in the way that `mode` says."""
    if mode == "compile_step":
        return paddle.jit.compile_step(loss, None, optimizer)
    if mode == "to_static":
        loss = paddle.jit.to_static(loss, full_graph=True)

    def step(*batch):
        value = loss(*batch)
        value.backward()
        optimizer.step()
        optimizer.clear_grad()
        return value

    return step


def train(options, mode, points):
    """(critic losses, generator, seconds of a step) after training from the same start."""
    paddle.seed(options.seed)
    rng = np.random.RandomState(options.seed)
    dimensions, batch = points.shape[1], options.batch
    generator = perceptron([options.noise, options.hidden, options.hidden, dimensions], nn.ReLU)
    critic = perceptron([dimensions, options.hidden, options.hidden, 1], nn.Softplus)
    made = [
        paddle.optimizer.Adam(options.learning_rate, 0.5, 0.9, parameters=net.parameters())
        for net in (critic, generator)
    ]
    critic_step = make_step(CriticLoss(critic, generator, options.penalty), made[0], mode)
    generator_step = make_step(GeneratorLoss(critic, generator), made[1], mode)
    losses, seconds = [], []
    for step in range(options.steps):
        real = points[rng.randint(0, len(points), batch)]
        noise = rng.standard_normal((2, batch, options.noise)).astype("float32")
        mix = rng.random_sample((batch, 1)).astype("float32")
        given = [paddle.to_tensor(a) for a in (real, noise[0], mix, noise[1])]
        start = time.perf_counter()
        losses.append(float(critic_step(*given[:3])))
        if step % options.critic_steps == options.critic_steps - 1:
            critic.clear_gradients()
            generator_step(given[3])
            critic.clear_gradients()
        seconds.append(time.perf_counter() - start)
        if (step + 1) % max(options.steps // 5, 1) == 0:
            print(f"  step {step + 1}: critic loss {np.mean(losses[-50:]):+.4f}", flush=True)
    return np.array(losses), generator, float(np.median(seconds))


def distance_to_data(generator, points, options):
    """Mean distance of 512 made points to the closest of 2,000 real ones."""
    rng = np.random.RandomState(1)
    noise = paddle.to_tensor(rng.standard_normal((512, options.noise)).astype("float32"))
    with paddle.no_grad():
        made = generator(noise)
    return float(paddle.cdist(made, paddle.to_tensor(points[:2000])).min(axis=1).mean())


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help=".npy file with an array [N, D] (default: eight Gaussians)")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--critic-steps", type=int, default=5, help="of the critic for each other")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--noise", type=int, default=8, help="size of the generator's input")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--penalty", type=float, default=1.0, help="weight of the gradient penalty")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    options = parse_options()
    if options.data:
        points = np.load(options.data).astype("float32")
    else:
        points = ring(20000, np.random.RandomState(options.seed))
    results = {}
    for mode in ("eager", "to_static", "compile_step"):
        print(f"{mode}:")
        losses, generator, seconds = results[mode] = train(options, mode, points)
        distance = distance_to_data(generator, points, options)
        print(f"  {1e3 * seconds:.2f} ms a step; generated points are {distance:.3f} from the data")
    wrong = 0
    for mode in ("to_static", "compile_step"):
        apart = float(np.abs(results[mode][0] - results["eager"][0]).max())
        print(f"largest difference of the critic's losses, {mode} and eager: {apart:.2e}")
        wrong += not apart <= options.tolerance
    if wrong:
        print(f"more than the tolerance, {options.tolerance}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
