"""Policy gradients, a soft actor's squashed normal, a replay buffer with targets, a variational autoencoder."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distribution import (
    Bernoulli,
    Beta,
    Categorical,
    Independent,
    Normal,
    TransformedDistribution,
    kl_divergence,
)  # fmt: skip

rng = np.random.RandomState(6)
policy = fixed(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3)))
value = fixed(nn.Sequential(nn.Linear(4, 16), nn.ReLU6(), nn.Linear(16, 1)))
both = paddle.optimizer.RMSProp(
    learning_rate=0.01, rho=0.9, parameters=[*policy.parameters(), *value.parameters()]
)
for step in range(6):
    states = paddle.to_tensor(rng.randn(10, 4).astype("float32"))
    actions = paddle.to_tensor(rng.randint(0, 3, 10))
    rewards = rng.randn(10).astype("float32")
    returns, total = [], 0.0
    for reward in rewards[::-1]:
        total = reward + 0.9 * total
        returns.insert(0, total)
    returns = paddle.to_tensor(np.array(returns, "float32"))
    logits = policy(states)
    chosen = Categorical(logits)
    baseline = value(states).squeeze(-1)
    advantage = (returns - baseline).detach()
    log_prob = F.log_softmax(logits).index_sample(actions.unsqueeze(-1)).squeeze(-1)
    ratio = paddle.exp(log_prob - log_prob.detach())
    clipped = paddle.clip(ratio, 0.8, 1.2) * advantage
    loss = -paddle.minimum(ratio * advantage, clipped).mean() + F.smooth_l1_loss(baseline, returns)
    loss = loss - 0.01 * chosen.entropy().mean()
    both.clear_grad()
    loss.backward()
    both.step()
    show("policy", [loss, chosen.entropy().mean(), chosen.probs(actions).mean()])

online, target = fixed(nn.Linear(4, 2)), fixed(nn.Linear(4, 2))
adam = paddle.optimizer.Adamax(0.05, parameters=online.parameters())
for step in range(5):
    now, after = (paddle.to_tensor(rng.randn(6, 4).astype("float32")) for _ in range(2))
    actions = paddle.to_tensor(rng.randint(0, 2, (6, 1)))
    done = paddle.to_tensor(rng.randint(0, 2, 6).astype("float32"))
    with paddle.no_grad():
        best = paddle.max(target(after), axis=1)
        goal = 1.0 + 0.9 * best * (1 - done)
    taken = paddle.take_along_axis(online(now), actions, axis=1).squeeze(1)
    loss = F.mse_loss(taken, goal)
    adam.clear_grad()
    loss.backward()
    adam.step()
    for slow, fast in zip(target.parameters(), online.parameters()):
        slow.set_value(0.9 * slow + 0.1 * fast)
    show("q", [loss, target.weight.sum()])

mean, deviation = paddle.to_tensor([0.1, -0.4]), paddle.to_tensor([0.5, 1.5])
squashed = TransformedDistribution(
    Normal(mean, deviation),
    [
        paddle.distribution.TanhTransform(),
        paddle.distribution.AffineTransform(paddle.to_tensor(1.0), paddle.to_tensor(2.0)),
    ],
)
show("squashed", squashed.log_prob(paddle.to_tensor([1.5, 0.0])))
show("independent", Independent(Normal(mean, deviation), 1).log_prob(mean))
show(
    "beta",
    [
        Beta(2.0, 3.0).log_prob(paddle.to_tensor(0.3)),
        Beta(2.0, 3.0).entropy(),
        kl_divergence(Beta(2.0, 3.0), Beta(1.0, 1.0)),
    ],
)

encoder, decoder = fixed(nn.Linear(8, 6)), fixed(nn.Linear(3, 8))
optimizer = paddle.optimizer.Adam(0.02, parameters=encoder.parameters() + decoder.parameters())
for step in range(6):
    x = paddle.to_tensor((rng.rand(5, 8) > 0.5).astype("float32"))
    noise = paddle.to_tensor(rng.randn(5, 3).astype("float32"))
    mean, log_variance = paddle.chunk(encoder(x), 2, axis=-1)
    hidden = mean + paddle.exp(0.5 * log_variance) * noise
    logits = decoder(hidden)
    kl = kl_divergence(
        Normal(mean, paddle.exp(0.5 * log_variance)), Normal(paddle.zeros([3]), paddle.ones([3]))
    )
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
    loss = (reconstruction + kl.sum(-1)).mean()
    loss.backward()
    optimizer.minimize(loss) if step == 3 else optimizer.step()
    optimizer.clear_grad()
    show("vae", [loss, -Bernoulli(F.sigmoid(logits)).log_prob(x).sum(-1).mean()])
