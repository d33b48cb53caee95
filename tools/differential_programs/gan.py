"""A generator against a discriminator, with spectral norm, label smoothing and two optimizers."""

import numpy as np
import paddle
from paddle import nn

paddle.seed(1)
data = np.random.RandomState(0)


class Generator(nn.Layer):
    def __init__(self, width=8):
        super().__init__()
        self.project = nn.Linear(6, width * 4 * 4)
        self.main = nn.Sequential(
            nn.BatchNorm2D(width),
            nn.ReLU(),
            nn.Conv2DTranspose(width, width // 2, 4, stride=2, padding=1, bias_attr=False),
            nn.BatchNorm2D(width // 2),
            nn.LeakyReLU(0.2),
            nn.Conv2DTranspose(width // 2, 1, 4, stride=2, padding=1),
            nn.Tanh(),
        )
        self.width = width

    def forward(self, noise):
        return self.main(self.project(noise).reshape([-1, self.width, 4, 4]))


class Discriminator(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.utils.spectral_norm(nn.Conv2D(1, 4, 4, stride=2, padding=1)),
            nn.LeakyReLU(0.2),
            nn.Conv2D(4, 8, 4, stride=2, padding=1),
            nn.InstanceNorm2D(8),
            nn.LeakyReLU(0.2),
        )
        self.head = nn.Linear(8 * 16, 1)

    def forward(self, image):
        return self.head(paddle.flatten(self.features(image), 1))


generator, discriminator = fixed(Generator()), fixed(Discriminator())
for name, buffer in discriminator.named_buffers():
    show("buffer", [name, list(buffer.shape)])
for name, parameter in sorted(discriminator.named_parameters()):
    show("parameter", [name, list(parameter.shape)])
norm = discriminator.features[0]
for name, parameter in norm.named_parameters():
    if name.endswith(("_u", "_v")):
        parameter.set_value(np.ones(parameter.shape, "float32"))
for buffer in norm.sublayers(include_self=True):
    for key in ("weight_u", "weight_v"):
        if hasattr(buffer, key):
            value = getattr(buffer, key)
            value.set_value(np.ones(value.shape, "float32") / np.sqrt(value.shape[0]))
g_step = paddle.optimizer.Adam(2e-3, beta1=0.5, parameters=generator.parameters())
d_step = paddle.optimizer.Adam(1e-3, beta1=0.5, parameters=discriminator.parameters())
loss = nn.BCEWithLogitsLoss()
for step in range(8):
    real = paddle.to_tensor(data.uniform(-1, 1, (4, 1, 16, 16)).astype("float32"))
    noise = paddle.to_tensor(data.randn(4, 6).astype("float32"))
    fake = generator(noise)
    d_loss = loss(discriminator(real), paddle.full([4, 1], 0.9)) + loss(
        discriminator(fake.detach()), paddle.zeros([4, 1])
    )
    d_step.clear_grad()
    d_loss.backward()
    d_step.step()
    g_loss = loss(discriminator(fake), paddle.ones([4, 1]))
    g_step.clear_grad()
    d_step.clear_grad()
    g_loss.backward()
    g_step.step()
    show("losses", [d_loss.item(), float(g_loss)])
# The penalty of a Wasserstein GAN: a gradient of a gradient.
critic = fixed(nn.Sequential(nn.Conv2D(1, 4, 3, stride=2), nn.Silu(), nn.Linear(7, 1)))
optimizer = paddle.optimizer.RMSProp(
    1e-3, parameters=critic.parameters(), centered=True, momentum=0.9
)
for step in range(5):
    real = paddle.to_tensor(data.uniform(-1, 1, (3, 1, 16, 16)).astype("float32"))
    fake = paddle.to_tensor(data.uniform(-1, 1, (3, 1, 16, 16)).astype("float32"))
    mix = paddle.to_tensor(data.rand(3, 1, 1, 1).astype("float32"))
    between = mix * real + (1 - mix) * fake
    between.stop_gradient = False
    slope = paddle.grad(
        critic(between).sum([1, 2, 3]),
        between,
        grad_outputs=paddle.ones([3]),
        create_graph=True,
        retain_graph=True,
    )[0]
    penalty = ((paddle.norm(slope.reshape([3, -1]), p=2, axis=1) - 1) ** 2).mean()
    total = critic(fake).mean() - critic(real).mean() + 10 * penalty
    total.backward()
    optimizer.step()
    optimizer.clear_grad(set_to_zero=False)
    show("critic", [total, penalty, critic[0].weight.grad is None])
