"""Sparse tensors; what Paddle has no kernel for on the CPU (products) is in the tests only."""

_S = (
    "S = paddle.sparse;; i = [[0, 1, 2, 2], [1, 2, 0, 2]];; "
    "x = S.sparse_coo_tensor(i, [0.1, -0.2, 0.3, 0.4], [3, 3]);; "
    "y = S.sparse_coo_tensor([[0, 1, 2], [1, 0, 0]], [4.0, 5.0, 6.0], [3, 3]);; "
    "c = x.to_sparse_csr();; d = T(3, 3);; "
)
_UNARY = "abs asin asinh atan atanh deg2rad expm1 isnan log1p neg rad2deg sin sinh square tan tanh".split()
_V = (
    "S = paddle.sparse;; F3 = S.nn.functional;; m = paddle.to_tensor(np.random.RandomState(3).rand(2, 4, 5, 4) > 0.7);; "
    "d = T(2, 4, 5, 4, 3) * m.astype('float32').unsqueeze(-1);; x = d.to_sparse_coo(4);; w = T(3, 3, 3, 3, 2, seed=5);; b = T(2, seed=6);; "
)

CASES = [
    *[_S + f"S.{name}(x)" for name in _UNARY],
    *[_S + f"S.{name}(c)" for name in _UNARY],
    *[_S + f"S.{name}(x, y)" for name in "add subtract multiply divide".split()],
    *[_S + f"S.{name}(c, y.to_sparse_csr())" for name in "add subtract multiply".split()],
    _S + "S.add(x, c)",
    _S + "S.multiply(x, 2.0)",
    _S + "S.divide(x, 2.0)",
    _S + "S.pow(x, 2)",
    _S + "S.sum(x, 0)",
    _S + "S.sum(x, 1, keepdim=True)",
    _S + "S.sum(x, keepdim=True)",
    _S + "S.sum(c)",
    _S + "S.sum(c, -1)",
    _S + "S.sum(x, 0, 'float64')",
    _S + "S.transpose(x, [1, 0])",
    _S + "S.transpose(c, [1, 0])",
    _S + "S.reshape(x, [9])",
    _S + "S.reshape(x, [1, -1])",
    _S + "S.reshape(c, [1, 9])",
    _S + "S.slice(x, [0], [1], [3])",
    _S + "S.slice(c, [0, 1], [0, 0], [2, 2])",
    _S + "S.cast(x, 'int32', 'float64')",
    _S + "S.mask_as(d, x)",
    _S + "S.mask_as(d, c)",
    _S + "S.is_same_shape(x, d), S.is_same_shape(x, c)",
    _S + "S.nn.functional.softmax(x)",
    _S + "S.nn.functional.softmax(c)",
    *[_S + f"S.nn.{layer}(x)" for layer in ("ReLU()", "ReLU6()", "LeakyReLU(0.2)", "Softmax()")],
    *[_S + f"S.nn.{layer}(c)" for layer in ("ReLU()", "ReLU6()", "LeakyReLU(0.2)", "Softmax()")],
    _S + "x.to_dense()",
    _S + "c.to_dense()",
    _S + "d.to_sparse_coo(2)",
    _S + "d.to_sparse_coo(1)",
    _S + "d.to_sparse_csr()",
    _S + "c.to_sparse_coo(2)",
    _S
    + "[x.nnz(), x.ndim, x.size, x.sparse_dim(), x.dense_dim(), x.is_coalesced(), list(x.shape)]",
    _S + "[x.is_sparse(), x.is_sparse_coo(), x.is_sparse_csr(), x.is_dense()]",
    _S + "str(x)",
    _S + "str(c)",
    _S + "x.detach()",
    "paddle.sparse.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], [3, 3]).coalesce()",
    "paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0])",
    "paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1, 2], dtype='float64')",
    "paddle.sparse.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], [3, 2])",
    "paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 2])",
    "paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0], [3, 3])",
    "paddle.sparse.sparse_coo_tensor([0, 1], [1.0, 2.0], [3])",
    "paddle.sparse.sparse_coo_tensor('a', [1.0, 2.0], [3])",
    "paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0], [3])",
    "paddle.sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], [2, 3])",
    "paddle.sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0], [2, 3])",
    "paddle.sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], [4, 3])",
    "paddle.sparse.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], [2])",
    *[
        _S
        + f"x = d.detach().to_sparse_coo(2);; x.stop_gradient = False;; z = {f};; z.backward(z.detach());; x.grad.to_dense()"
        for f in (
            "S.sin(x)",
            "S.square(x)",
            "S.nn.functional.relu(x)",
            "S.nn.functional.softmax(x)",
            "S.add(x, y)",
            "S.subtract(y, x)",
            "S.multiply(x, y)",
            "S.transpose(x, [1, 0])",
            "S.reshape(x, [9])",
        )
    ],
    "x = T(3, 3, grad=True);; z = x.to_sparse_coo(2);; z.backward(z.detach());; x.grad",
    _V + "F3.conv3d(x, w, b)",
    _V + "F3.conv3d(x, w, b, 2, 1)",
    _V + "F3.conv3d(x, w, None, [1, 2, 1], [1, 0, 1], [1, 1, 1])",
    _V + "F3.subm_conv3d(x, w, b, 1, 1)",
    _V + "F3.subm_conv3d(x, w, b)",
    _V + "F3.max_pool3d(x, 2, 2).to_dense()",
    _V + "F3.max_pool3d(x, [2, 3, 2], 1, 1).to_dense()",
    _V
    + "x.stop_gradient = False;; w.stop_gradient = False;; z = F3.conv3d(x, w);; z.backward(z.detach());; [x.grad.to_dense(), w.grad]",
    _V
    + "x.stop_gradient = False;; w.stop_gradient = False;; z = F3.subm_conv3d(x, w);; z.backward(z.detach());; [x.grad.to_dense(), w.grad]",
    _V + "S.nn.BatchNorm(3)(x).to_dense()",
    *[
        f"repr(paddle.sparse.nn.{layer})"
        for layer in (
            "Conv3D(2, 3, 3)",
            "SubmConv3D(2, 3, 3, stride=2, padding=1)",
            "MaxPool3D(2)",
            "BatchNorm(2)",
            "ReLU()",
            "Conv2D(2, 3, [1, 2], dilation=2)",
        )
    ],
    "[list(p.shape) for p in paddle.sparse.nn.SubmConv2D(2, 3, 3).parameters()]",
]
