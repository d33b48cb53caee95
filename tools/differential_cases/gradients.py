"""The tape: backward, grad, higher orders, PyLayer, no_grad, mistakes."""

CASES = [
    "x = T(3, grad=True);; (x ** 3).sum().backward();; x.grad",
    "x = T(3, grad=True);; y = (x ** 2).sum();; y.backward();; y.backward()",
    "x = T(3, grad=True);; y = (x ** 2).sum();; y.backward(retain_graph=True);; y.backward();; x.grad",
    "x = T(3, grad=True);; (x * 2).backward(T(3, seed=1));; x.grad",
    "x = T(3, grad=True);; (x * 2).backward();; x.grad",
    "x = T(3);; (x * 2).sum().backward()",
    "x = T(3, grad=True);; paddle.grad((x ** 3).sum(), x)",
    "x = T(3, grad=True);; paddle.grad([(x ** 3).sum()], [x], create_graph=True)",
    "x = T(3, grad=True);; g, = paddle.grad((x ** 3).sum(), x, create_graph=True);; "
    "paddle.grad(g.sum(), x)",
    "x = T(3, grad=True);; g, = paddle.grad((x ** 4).sum(), x, create_graph=True);; "
    "h, = paddle.grad(g.sum(), x, create_graph=True);; paddle.grad(h.sum(), x)",
    "x = T(3, grad=True);; y = T(3, grad=True, seed=1);; paddle.grad(x.sum(), y)",
    "x = T(3, grad=True);; y = T(3, grad=True, seed=1);; paddle.grad(x.sum(), y, allow_unused=True)",
    "x = T(3, grad=True);; paddle.grad(x * 2, x, grad_outputs=[T(3, seed=1)])",
    "x = T(3, grad=True);; paddle.grad((x * x.detach()).sum(), x)",
    "x = T(3, grad=True);; y = x * 2;; z = y * y;; paddle.grad(z.sum(), [x, y])",
    "x = T(3, grad=True);; y = x * 2;; paddle.grad((y * x).sum(), x, no_grad_vars=[y])",
    "with_grad = T(3, grad=True)\nwith paddle.no_grad():\n    y = with_grad * 2\n;; y.stop_gradient",
    "@paddle.no_grad()\ndef f(x):\n    return x * 2\n;; f(T(2, grad=True)).stop_gradient",
    "paddle.is_grad_enabled()",
    "with paddle.set_grad_enabled(False):\n    y = T(2, grad=True) * 2\n;; y.stop_gradient",
    "class D(paddle.autograd.PyLayer):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.save_for_backward(x)\n        return x * 2\n    @staticmethod\n"
    "    def backward(ctx, g):\n        (x,) = ctx.saved_tensor()\n        return g * x\n"
    ";; x = T(3, grad=True);; D.apply(x).sum().backward();; x.grad",
    "x = T(2, grad=True);; y = x + 1;; y.stop_gradient = True;; (y * 2).stop_gradient",
    "x = T(2, grad=True);; (x.sum() + x.mean()).backward();; (x * 2).sum().backward();; x.grad",
    "x = T(2, grad=True);; paddle.autograd.backward([(x * 2).sum(), (x ** 2).sum()]);; x.grad",
    "x = T(2, grad=True);; x.backward();; x.grad",
    "x = I(2);; x.stop_gradient = False;; (x * 2).sum().backward();; x.grad",
    "x = T(2, 2, grad=True);; (x.astype('float64') ** 2).sum().backward();; x.grad",
    "x = T(2, grad=True);; x.grad = T(2, seed=1);; x.grad",
    "x = T(3, grad=True);; paddle.autograd.jacobian(x ** 2, x)[:]",
    "x = T(3, grad=True);; paddle.autograd.hessian((x ** 3).sum(), x)[:]",
    "w = T(4, 3, grad=True);; F.embedding(paddle.to_tensor([0, 2, 0]), w).sum().backward();; w.grad",
    "paddle.incubate.autograd.jvp(lambda x: x ** 2, T(3), T(3, seed=1))",
]
