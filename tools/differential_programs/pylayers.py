"""Custom gradients, hooks on tensors and layers, gradients of gradients, accumulation, freezing, no_grad."""

import numpy as np
import paddle
from paddle import nn
from paddle.autograd import PyLayer

rng = np.random.RandomState(2)


class StraightThrough(PyLayer):
    @staticmethod
    def forward(ctx, x, levels=4, other=None):
        ctx.levels = levels
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        rounded = paddle.round(x * levels) / levels
        ctx.mark_not_inplace(rounded) if hasattr(ctx, "mark_not_inplace") else None
        return rounded, x.abs().max()

    @staticmethod
    def backward(ctx, grad, grad_max):
        (x,) = ctx.saved_tensor()
        grad = paddle.zeros_like(x) if grad is None else grad
        return grad * (x.abs() <= 1).astype(x.dtype)


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a**3 * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensor()
        return 3 * a**2 * b * grad, a**3 * grad


x = paddle.to_tensor(rng.uniform(-2, 2, (3, 4)).astype("float32"), stop_gradient=False)
y, top = StraightThrough.apply(x, levels=2)
y.sum().backward()
show("straight", [y.detach(), x.grad.detach()])
a = paddle.to_tensor([1.5, -2.0], stop_gradient=False)
b = paddle.to_tensor([0.5, 3.0], stop_gradient=False)
out = Cube.apply(a, b)
first = paddle.grad(out.sum(), [a, b])
show("cube", [out, first])

seen = []
w = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
h = w * w
handle = h.register_hook(lambda g: seen.append(g.numpy()) or g * 2)
leaf = w.register_hook(lambda g: g + 1)
h.sum().backward()
show("hooks", [seen, w.grad])
handle.remove()
leaf.remove()
w.clear_gradient()
(w * w).sum().backward()
(w * w).sum().backward()
show("accumulated", w.grad)
try:
    w.grad.zero_()
    show("zeroed", [w.grad, w.grad.is_leaf])
except Exception as error:
    show("zeroed", type(error).__name__)
w.clear_grad()
show("none", w.grad is None)

net = fixed(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)))
order = []
hooks = [
    net[0].register_forward_pre_hook(lambda layer, inputs: order.append("pre")),
    net[0].register_forward_post_hook(
        lambda layer, inputs, output: order.append("post") or output * 0.5
    ),
]
out = net(paddle.ones([1, 4]))
for hook in hooks:
    hook.remove()
show("order", [order, out, net(paddle.ones([1, 4]))])
for parameter in net[0].parameters():
    parameter.trainable = False
net(paddle.ones([1, 4])).sum().backward()
show("frozen", [p.grad is None for p in net.parameters()])
with paddle.no_grad():
    quiet = net(paddle.ones([1, 4]))
show("quiet", [quiet.stop_gradient, net(paddle.ones([1, 4])).stop_gradient])


@paddle.no_grad()
def update(parameters, rate):
    for p in parameters:
        if p.grad is not None:
            p.subtract_(rate * p.grad)


update(net.parameters(), 0.1)
show("updated", net[2].weight)
with paddle.set_grad_enabled(False):
    show("off", (paddle.to_tensor([1.0], stop_gradient=False) * 2).stop_gradient)
with paddle.no_grad(), paddle.enable_grad():
    show("on", (paddle.to_tensor([1.0], stop_gradient=False) * 2).stop_gradient)

v = paddle.to_tensor(rng.randn(3).astype("float64"), stop_gradient=False)
matrix = paddle.to_tensor(rng.randn(3, 3))


def energy(v):
    return (v @ matrix @ v) + (v**4).sum()


slope = paddle.grad(energy(v), v, create_graph=True)[0]
rows = [paddle.grad(slope[i], v, retain_graph=True)[0] for i in range(3)]
show("hessian", paddle.stack(rows))
show("functional", paddle.autograd.hessian(energy(v), v)[:])
show("jacobian", paddle.autograd.jacobian(v * v.sum(), v)[:])
show("vjp", paddle.incubate.autograd.vjp(lambda t: t * t, v.detach(), paddle.ones([3], "float64")))
u = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
z = u.clone()
z[1] = 5.0
z[0:1] *= 2
(z * z).sum().backward()
show("inplace", [z, u.grad])
p = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
q = p.detach()
q.stop_gradient = False
paddle.autograd.backward([p.sum() * 2, q.prod()], [None, paddle.to_tensor(0.5)])
show("several", [p.grad, q.grad])
try:
    r = (p * 2).sum()
    r.backward()
    r.backward()
except (RuntimeError, SystemError) as error:
    show("twice", "retain" in str(error) or "second" in str(error))
