"""Cases of tools/differential.py in which Argosy differs from Paddle 3.3.1 on purpose, and why."""

_PYLAYER = """class D(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * x
;; x = T(3, grad=True);; D.apply(x).sum().backward();; x.grad"""

EXPECTED = {
    # Paddle computes something that is not there.
    "F.conv2d(T(1, 2, 2, 2), T(4, 2, 3, 3))": "a kernel that does not fit gives an empty image",
    "F.max_pool2d(T(1, 2, 6, 6), 2, padding=3)": "windows in the padding give -FLT_MAX, not -inf",
    "paddle.argmax(T(0))": "reads memory behind an empty tensor",
    "x = T(3, 4, 5);; x[[9]]": "an index out of range reads memory behind the tensor",
    "x = T(3, 4, 5);; x[[0, 2], None, [1, 1]]": "drops an index list next to None; NumPy does not",
    "paddle.flops(nn.Linear(2, 3), [1, 2])": "does not count a network that is a single layer",
    "paddle.transpose(T(2, 3), [0])": "a perm that leaves dimensions out is not checked",
    "T(3) + 'a'": "returns the tensor: an operand that cannot be converted is ignored",
    "-B(3)": "the negative of a bool is the bool itself",
    "paddle.to_tensor(7) // 2": "the quotient of a 0-d tensor and a number gets a dimension",
    "paddle.to_tensor(-7) // 2": "the quotient of a 0-d tensor and a number gets a dimension",
    # Argosy takes what Paddle refuses.
    "paddle.add(T(2), 2)": "numbers are operands of functions as of operators",
    "paddle.concat(T(2, 3))": "a single tensor is its own concatenation",
    "paddle.nonzero(paddle.to_tensor(1))": "a 0-d tensor has coordinates without entries",
    "paddle.matmul(T(2, 3), T(3, 2, dtype='float64'))": "mixed dtypes are promoted everywhere",
    "x = T(3, 4, 5);; x[[]] = 1.0;; x": "an empty list selects nothing",
    "paddle.gaussian([4]) if hasattr(paddle, 'gaussian') else None": "a public name more",
    # Other types.
    "paddle.to_tensor(7) // 0": "EnforceNotMet is no public type",
    "paddle.randperm(-1)": "a wrong argument is a ValueError",
    "x = T(3, grad=True);; y = (x ** 2).sum();; y.backward();; y.backward()": (
        "SystemError is for defects of an interpreter"
    ),
    "T(2).type": "the same names, held by classes instead of an enumeration",
    # Gradients.
    "paddle.incubate.autograd.jvp(lambda x: x ** 2, T(3), T(3, seed=1))": (
        "the second derivative that jvp needs fails in Paddle"
    ),
    "x = I(2);; x.stop_gradient = False;; (x * 2).sum().backward();; x.grad": (
        "integers have no gradient"
    ),
    _PYLAYER: "x.grad has stop_gradient=False however it was computed",
}
