"""Agents of PARL: the updates of their algorithms on random transitions."""

import os

import numpy as np

REQUIREMENTS = (
    "parl==2.2.1 termcolor tensorboardX==2.5 click psutil requests urllib3 idna charset-normalizer"
    " certifi cloudpickle==1.6.0 pyzmq flask pynvml nvidia-ml-py protobuf==3.20.3 six grpcio werkzeug"
    " jinja2 MarkupSafe itsdangerous blinker flask_cors packaging"
    " typing_extensions"
).split()
MODELS = "DQN DDQN PolicyGradient DDPG TD3 A2C".split()
SIZE, ACTIONS = 6, 3


def job(paddle, model, dtype):
    os.environ["PARL_BACKEND"] = "paddle"  # it looks for paddle.fluid otherwise
    import parl
    from parl import algorithms

    nn, F = paddle.nn, paddle.nn.functional

    def mlp(inputs, outputs):
        return nn.Sequential(nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, outputs))

    class Values(parl.Model):
        def __init__(self):
            super().__init__()
            self.net = mlp(SIZE, ACTIONS)

        def forward(self, x):
            return self.net(x)

    class Policy(Values):
        def forward(self, x):
            return F.softmax(self.net(x))

    class Actor(nn.Layer):
        def __init__(self):
            super().__init__()
            self.mean = mlp(SIZE, ACTIONS)

        def forward(self, x):
            return paddle.tanh(self.mean(x))

    class Critic(nn.Layer):
        def __init__(self, double):
            super().__init__()
            self.q1, self.q2, self.double = mlp(SIZE + ACTIONS, 1), mlp(SIZE + ACTIONS, 1), double

        def forward(self, x, action):
            both = paddle.concat([x, action], 1)
            return (self.q1(both), self.q2(both)) if self.double else self.q1(both)

    class ActorCritic(parl.Model):
        def __init__(self):
            super().__init__()
            self.actor_model = Actor()
            self.critic_model = Critic(model == "TD3")
            self.value_model = mlp(SIZE, 1)
            self.logits = mlp(SIZE, ACTIONS)

        def policy(self, x):
            return self.logits(x) if model == "A2C" else self.actor_model(x)

        def value(self, x, action=None):
            return self.value_model(x) if action is None else self.critic_model(x, action)

        def policy_and_value(self, x):
            return self.logits(x), self.value_model(x)

        def Q1(self, x, action):
            return self.critic_model(x, action)[0]

        def get_actor_params(self):
            return self.actor_model.parameters()

        def get_critic_params(self):
            return self.critic_model.parameters()

    def begun(network):
        """With the same weights in both frameworks, as algorithms copy them at once."""
        draw = np.random.RandomState(1)
        network.to(dtype=dtype)
        paddle.set_default_dtype(dtype)
        for p in network.parameters():
            p.set_value((draw.normal(size=p.shape) * 0.3).astype(dtype))
        return network

    if model in ("DQN", "DDQN"):
        network = begun(Values())
        algorithm = getattr(algorithms, model)(network, gamma=0.9, lr=0.01)
    elif model == "PolicyGradient":
        network = begun(Policy())
        algorithm = algorithms.PolicyGradient(network, lr=0.01)
    elif model in ("DDPG", "TD3"):
        network = begun(ActorCritic())
        more = {"policy_noise": 0.0} if model == "TD3" else {}
        algorithm = getattr(algorithms, model)(
            network, gamma=0.9, tau=0.1, actor_lr=0.01, critic_lr=0.01, **more
        )
    else:
        network = begun(ActorCritic())
        algorithm = algorithms.A2C(network, vf_loss_coeff=0.5)
    draw = np.random.RandomState(0)

    def floats(*shape):
        return paddle.to_tensor(draw.normal(size=shape).astype(dtype))

    def integers(*shape):
        return paddle.to_tensor(draw.randint(0, ACTIONS, shape).astype("int64"))

    def learn():
        x, following, reward, done = (
            floats(8, SIZE),
            floats(8, SIZE),
            floats(8, 1),
            floats(8, 1) > 1,
        )
        done = done.astype(dtype)
        if model in ("DQN", "DDQN"):
            return algorithm.learn(x, integers(8, 1), reward, following, done)
        if model == "PolicyGradient":
            return algorithm.learn(x, integers(8), reward.reshape([8]))
        if model == "A2C":
            return algorithm.learn(x, integers(8), floats(8), floats(8), 0.01, -0.01)
        return algorithm.learn(x, paddle.tanh(floats(8, ACTIONS)), reward, following, done)

    def loss(i):
        """What the update reports; the update itself is the algorithm's, the worker's adds nothing."""
        found = learn()
        found = found if isinstance(found, (list, tuple)) else [found]
        total = sum(float(np.asarray(part).sum()) for part in found if part is not None)
        weights = sum(float((p * p).sum()) for p in network.parameters())
        return paddle.to_tensor(total + weights, stop_gradient=False) * 1.0

    return network, loss, 0.0
