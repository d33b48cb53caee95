"""Cases of tools/differential.py in which Argosy differs from Paddle 3.3.1 on purpose, and why."""

import re

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

_BY_REASON = {
    "Paddle does not check it": [
        "paddle.full([2, 2], 'a')",
        "paddle.linspace(0, 1, 'a')",
        "paddle.concat([T(2, 3)], 1.5)",
        "paddle.expand(T(2, 1), [2, -2])",
        "paddle.scatter(T(3, 2), I(2, high=3), T(3, 2))",
        "paddle.argmax(T(3), axis='a')",
        "paddle.linalg.det(T(3))",
        "paddle.clip(T(3), 'a', 1)",
        "paddle.gcd(T(3), T(3))",
        "paddle.slice(T(3), [5], [0], [2])",
        "F.affine_grid(T(1, 3, 3), [1, 1, 2, 2])",
        "F.kl_div(T(2), T(2), 'x')",
        "F.cosine_embedding_loss(T(2, 3), T(2, 3), I(2), reduction='x')",
        "nn.Conv2DTranspose(3, 4, 3, groups=2)",
        "nn.initializer.set_global_initializer(3)",
        "L = constant(nn.Linear(3, 2));; P = L.parameters();; paddle.optimizer.SGD(0.1, parameters=P, weight_decay='a')",
        "F.gumbel_softmax(T()).shape",
        "F.label_smooth(T())",
        "F.normalize(T(), axis=0)",
        "paddle.amax(T(0))",
        "paddle.amax(T(0, 3))",
        "paddle.amin(T(0))",
        "paddle.amin(T(0, 3))",
        "paddle.amax(T(2, 0), axis=1)",
        "paddle.amin(T(2, 0), axis=1)",
    ],
    "a wrong operand is a TypeError and a ValueError": [
        "paddle.rand('a')",
        "paddle.normal('a')",
        "paddle.normal([0.0], 1.0)",
        "paddle.distribution.Normal(0.0, 1.0).kl_divergence(3)",
    ],
    "Argosy takes what Paddle refuses": [
        "paddle.concat(T(3), 0)",
        "paddle.kron(T(2), 3)",
        "paddle.tanh(1)",
        "paddle.sqrt(1.0)",
        "paddle.abs(-1)",
        "paddle.slice(T(3), 0, [0], [2])",
        "x = T(2, 3);; x.set_value(T(2, 3, dtype='float64'))",
        "F.prelu(T(2, 3), 0.2)",
        "F.softmax_with_cross_entropy(T(2, 3), I(2, high=3))",
        "s = nn.Sequential([nn.ReLU(), nn.Tanh()]);; repr(s)",
        "paddle.distribution.Categorical(T(4, low=0.1)).batch_shape",
        "paddle.distribution.Categorical(T(4, low=0.1)).event_shape",
        "paddle.distribution.Categorical(T(2, 4, low=0.1)).batch_shape",
        "paddle.distribution.Categorical(T(2, 4, low=0.1)).event_shape",
        "paddle.distribution.Normal(0.0, 1.0).cdf(paddle.to_tensor(0.5))",
        "paddle.distribution.Normal(0.0, 1.0).stddev",
        "list(paddle.io.WeightedRandomSampler([0.0, 1.0], 4))",
        "s = paddle.amp.GradScaler(init_loss_scaling=8.0);; [s.is_enable(), s.get_init_loss_scaling(), s.get_incr_ratio(), s.get_decr_ratio(), s.get_incr_every_n_steps(), s.get_decr_every_n_nan_or_inf(), s.is_use_dynamic_loss_scaling()]",
        "paddle.flip(T(), axis=0)",
        "paddle.split(T(), 1)",
        "paddle.where(paddle.to_tensor(True))",
        "paddle.index_select(T(4), paddle.to_tensor(1))",
        "paddle.take_along_axis(T(), paddle.to_tensor(0), 0)",
        "paddle.put_along_axis(T(), paddle.to_tensor(0), T(seed=1), 0)",
        "F.log_loss(T(low=0.1), T(seed=1, low=0.1))",
        "paddle.quantile(T(), 0.5, axis=0)",
        "paddle.multiplex([T(2, 1), T(2, 1)], I(2, 1, high=2))",
        "paddle.logspace(paddle.to_tensor(0.0), paddle.to_tensor(1.0), paddle.to_tensor(3))",
        "paddle.repeat_interleave(T(), 3, axis=0)",
        "paddle.view(T(), [1])",
        "paddle.index_fill(T(3), paddle.to_tensor(1), 0, 2.0)",
        "paddle.index_put(T(3), (paddle.to_tensor(1),), paddle.to_tensor(5.0))",
        "paddle.scatter_nd_add(T(4, 3), paddle.zeros([0, 1], 'int64'), T(0, 3))",
        "paddle.nn.LSTM(3, 2)(T(0, 4, 3))[0].shape",
        "paddle.ones([2], 'uint8') | 1",
        "paddle.ones([2], 'uint8') ^ 1",
        "paddle.ones([2], 'int8') | 1",
        "paddle.ones([2], 'int8') ^ 1",
        "paddle.ones([2], 'int16') | 1",
        "paddle.ones([2], 'int16') ^ 1",
        "paddle.ones([2], 'int32') | 1",
        "paddle.ones([2], 'int32') ^ 1",
        "paddle.ones([2], 'int64') | 1",
        "paddle.ones([2], 'int64') ^ 1",
        "x = T(3, low=0.2, high=0.9);; y = paddle.ceil_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; y = paddle.erfinv_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; y = paddle.exp_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; y = paddle.floor_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; y = paddle.reciprocal_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; y = paddle.round_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; y = paddle.rsqrt_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; y = paddle.sqrt_(x);; [y is x, x, x.inplace_version]",
        "x = T(3, low=0.2, high=0.9);; x.erf_();; x",
        "x = T(3, low=0.2, high=0.9);; x.expm1_();; x",
        "x = T(2, 3, low=0.2);; y = paddle.add_(x, T(3, low=0.5, seed=1));; [y is x, x]",
        "x = T(2, 3, low=0.2);; y = paddle.pow_(x, T(3, low=0.5, seed=1));; [y is x, x]",
        "f = paddle.no_grad(lambda x: x * 2);; f(T(3, grad=True)).stop_gradient",
        "T(3).pin_memory()",
    ],
    "another exception for the same mistake": [
        "paddle.take_along_axis(T(3, 2), I(3, 2, high=3), 4)",
        "paddle.masked_select(T(3), B(4))",
        "paddle.linalg.cholesky(T(2, 3))",
        "paddle.searchsorted(T(2, 3), T(3, 3))",
        "paddle.randperm(-2)",
        "x = T(2, 3);; x.set_value('a')",
        "F.prelu(T(2, 3), T(5))",
        "F.celu(T(2), alpha=0.0)",
        "F.unfold(T(1, 3, 4, 4), [2, 2, 2])",
        "F.dice_loss(T(2, 3), I(2, 2))",
        "F.dice_loss(T(2, 3), I(3, 1))",
        "nn.LayerNorm('a')",
        "nn.PReLU(3)(T(2, 4, 2, 2))",
        "l = nn.Linear(2, 2);; l.to(dtype='abc')",
        "nn.utils.clip_grad_norm_([nn.Linear(2, 2).weight], 1.0, norm_type='x')",
        "nn.utils.vector_to_parameters(T(3), nn.Linear(2, 2).parameters())",
        "nn.utils.weight_norm(nn.Linear(2, 2), 'wrong')",
        "nn.utils.remove_weight_norm(nn.Linear(2, 2))",
        "paddle.distribution.Normal(0.0, 1.0).sample('a')",
        "paddle.fft.fftn(T(4, 4), axes=[0, 0])",
        "paddle.fft.fft('a')",
        "paddle.signal.stft(T(2, 32), 8, window=T(9))",
        "paddle.diag_embed(T())",
        "paddle.diff(T())",
        "x = T(3, low=0.2);; x.pow_(T(2, 3, low=0.5, seed=1))",
    ],
    "integers are averaged as integers": [
        "paddle.std(I(3))",
    ],
    "an index out of range reads memory behind the tensor": [
        "T(2, 3)[[0, 5]]",
    ],
    "the result has as many channels as there are filters": [
        "F.conv2d(T(1, 0, 4, 4), T(2, 0, 3, 3))",
    ],
    "0 stands for no divisor": [
        "F.avg_pool2d(T(1, 3, 4, 4), 2, divisor_override=0)",
    ],
    "the same text as str": [
        "str(paddle.float32), repr(paddle.int64), str(paddle.bool)",
    ],
    "the parameters of sublayers are cast too": [
        "N = nn.Sequential(('a', nn.Linear(2, 3)), ('b', nn.Sequential(nn.ReLU(), nn.BatchNorm1D(3))), ('c', nn.Linear(3, 1)));; N.astype('float64').a.weight.dtype",
        "N = nn.Sequential(('a', nn.Linear(2, 3)), ('b', nn.Sequential(nn.ReLU(), nn.BatchNorm1D(3))), ('c', nn.Linear(3, 1)));; N.float16().a.weight.dtype",
    ],
    "an int of Python": [
        "paddle.summary(nn.Linear(2, 3), (1, 2))",
    ],
    "Paddle does not have it on the CPU, or not yet": [
        "paddle.distribution.Uniform(0.0, 2.0).mean",
        "paddle.distribution.Uniform(0.0, 2.0).variance",
        "paddle.distribution.Uniform(T(3, low=-2, high=-1), T(3, low=1, high=2)).mean",
        "paddle.distribution.Uniform(T(3, low=-2, high=-1), T(3, low=1, high=2)).variance",
        "d = paddle.distribution.Geometric(0.4);; d.log_prob(d.sample()).shape",
        "d = paddle.distribution.Geometric(T(3, low=0.1, high=0.9));; d.log_prob(d.sample()).shape",
        "paddle.distribution.Geometric(0.4).log_prob(paddle.to_tensor(0.5))",
        "paddle.distribution.Geometric(T(3, low=0.1, high=0.9)).log_prob(paddle.to_tensor(0.5))",
        "paddle.distribution.Geometric(0.4).prob(paddle.to_tensor(0.5))",
        "paddle.distribution.Geometric(T(3, low=0.1, high=0.9)).prob(paddle.to_tensor(0.5))",
        "paddle.distribution.Geometric(0.4).log_prob(paddle.to_tensor(1.0))",
        "paddle.distribution.kl_divergence(paddle.distribution.Uniform(0.0, 1.0), paddle.distribution.Uniform(-1.0, 2.0))",
        "paddle.incubate.softmax_mask_fuse_upper_triangle(T(1, 1, 4, 4))",
        "L = constant(nn.Linear(3, 2));; P = L.parameters();; o = paddle.optimizer.AdamW(0.1, parameters=P, lr_ratio=lambda p: 0.5);; train(L, o, T(4, 3))",
    ],
    "a derivative that depends on nothing has no gradient": [
        "x = T(3, grad=True);; y = T(3, seed=1, grad=True);; h = paddle.autograd.hessian((x * y).sum(), (x, y));; [h[0][0][:], h[0][1][:]]",
        "x = T(3, grad=True);; paddle.autograd.jacobian((x * x, x.sum()), x)[1][:]",
        "x = T(2, 3, grad=True);; paddle.autograd.hessian((x * x).sum(1, keepdim=True), x, batch_axis=0)[:]",
        "paddle.incubate.autograd.Hessian(lambda x: (x * x).sum(), T(3))[:]",
    ],
    "one class for all loaded functions": [
        "l = constant(nn.Linear(2, 2));; paddle.jit.save(l, '/tmp/_api_diff', input_spec=[paddle.static.InputSpec([None, 2])]);; m = paddle.jit.load('/tmp/_api_diff');; [m(T(3, 2)), type(m).__name__, [list(p.shape) for p in m.parameters()]]",
    ],
    "more draws than weights": [
        "paddle.io.WeightedRandomSampler([1.0], 4, replacement=False)",
    ],
    "Paddle's reader stops at such batches": [
        "d = paddle.io.DataLoader(['a', 'b'], batch_size=2);; [b for b in d]",
        "d = paddle.io.DataLoader([1, 2, 3], batch_size=2, collate_fn=lambda b: b);; [b for b in d]",
    ],
    "Paddle needs OpenCV for arrays": [
        "np.asarray(paddle.vision.transforms.Resize(2)(np.arange(48).reshape(4, 4, 3).astype('uint8')))",
        "np.asarray(paddle.vision.transforms.Resize((2, 3))(np.arange(48).reshape(4, 4, 3).astype('uint8')))",
        "np.asarray(paddle.vision.transforms.Pad(1)(np.arange(48).reshape(4, 4, 3).astype('uint8')))",
        "np.asarray(paddle.vision.transforms.RandomHorizontalFlip(1.0)(np.arange(48).reshape(4, 4, 3).astype('uint8')))",
        "np.asarray(paddle.vision.transforms.RandomVerticalFlip(1.0)(np.arange(48).reshape(4, 4, 3).astype('uint8')))",
        "np.asarray(paddle.vision.transforms.Grayscale()(np.arange(48).reshape(4, 4, 3).astype('uint8')))",
        "np.asarray(paddle.vision.transforms.Grayscale(3)(np.arange(48).reshape(4, 4, 3).astype('uint8')))",
        "paddle.vision.transforms.hflip(np.arange(12).reshape(2, 2, 3))",
        "paddle.vision.transforms.vflip(np.arange(12).reshape(2, 2, 3))",
        "paddle.vision.transforms.pad(np.arange(12).reshape(2, 2, 3).astype('uint8'), 1)",
        "paddle.vision.transforms.adjust_brightness(np.arange(12).reshape(2, 2, 3).astype('uint8'), 1.5)",
        "paddle.vision.transforms.adjust_contrast(np.arange(12).reshape(2, 2, 3).astype('uint8'), 1.5)",
        "paddle.vision.transforms.adjust_hue(np.arange(12).reshape(2, 2, 3).astype('uint8'), 0.2)",
        "paddle.vision.transforms.to_grayscale(np.arange(12).reshape(2, 2, 3).astype('uint8'))",
    ],
    "the CPU is a device": [
        "paddle.device.get_all_device_type()",
        "paddle.device.get_available_device()",
    ],
    "the state of the generator that CUDA names use here": [
        "paddle.get_cuda_rng_state()",
    ],
    "Paddle 3.3 has it in its old Programs only, or not in Programs": [
        "static(lambda x, y: F.binary_cross_entropy_with_logits(x, y), T(2, 3), T(2, 3, low=0.1), grad=True)",
        "static(lambda x: paddle.static.nn.batch_norm(x), T(2, 3, 4, 4))",
        "static(lambda x: paddle.static.nn.layer_norm(x), T(2, 3, 4, 4))",
        "static(lambda x: paddle.static.nn.group_norm(x, 2), T(2, 4, 4, 4))",
        "static(lambda x: paddle.static.nn.instance_norm(x), T(2, 3, 4, 4))",
        "static(lambda x: paddle.static.nn.conv2d(x, 2, 3, param_attr=nn.initializer.Constant(0.1)), T(2, 3, 4, 4))",
        "static(lambda x: paddle.static.nn.conv2d_transpose(x, 2, filter_size=3, param_attr=nn.initializer.Constant(0.1)), T(2, 3, 4, 4))",
        "static(lambda x: paddle.static.nn.embedding(x, [5, 3], param_attr=nn.initializer.Constant(0.1)), I(4, high=5))",
        "static(lambda x: paddle.static.nn.prelu(x, 'all'), T(2, 3, 4, 4))",
        "static(lambda x: paddle.static.create_global_var([2], 1.5, 'float32') + x, T(2))",
        "static(lambda x: paddle.static.py_func(lambda v: np.asarray(v) * 2, x, paddle.static.default_main_program().current_block().create_var(name='o', shape=[2, 3], dtype='float32')), T(2, 3))",
        "paddle.enable_static();; x = paddle.static.data('x', [4, 3]);; len(x)",
        "paddle.enable_static();; main, startup = paddle.static.Program(), paddle.static.Program();; guard = paddle.static.program_guard(main, startup);; guard.__enter__();; exe = paddle.static.Executor();; w = paddle.create_parameter([2], 'float32', name='w', default_initializer=nn.initializer.Constant(1.0));; [p.name for p in main.all_parameters()]",
        "paddle.enable_static();; main, startup = paddle.static.Program(), paddle.static.Program();; guard = paddle.static.program_guard(main, startup);; guard.__enter__();; exe = paddle.static.Executor();; x = paddle.static.data('x', [2], 'float32');; y = x * 2;; test = main.clone(for_test=True);; exe.run(test, feed={'x': np.ones(2, 'float32')}, fetch_list=[y])",
        "paddle.enable_static();; main, startup = paddle.static.Program(), paddle.static.Program();; guard = paddle.static.program_guard(main, startup);; guard.__enter__();; exe = paddle.static.Executor();; e = paddle.static.ExponentialMovingAverage(0.9);; w = paddle.create_parameter([2], 'float32', default_initializer=nn.initializer.Constant(1.0));; loss = (w * w).sum();; paddle.optimizer.SGD(0.1).minimize(loss);; 1",
        "paddle.enable_static();; main, startup = paddle.static.Program(), paddle.static.Program();; guard = paddle.static.program_guard(main, startup);; guard.__enter__();; exe = paddle.static.Executor();; b = paddle.static.BuildStrategy();; e = paddle.static.ExecutionStrategy();; c = paddle.static.CompiledProgram(main);; x = paddle.ones([2]) + 1;; exe.run(c, fetch_list=[x])",
        "paddle.enable_static();; main, startup = paddle.static.Program(), paddle.static.Program();; guard = paddle.static.program_guard(main, startup);; guard.__enter__();; exe = paddle.static.Executor();; x = paddle.static.data('x', [2, 3]);; x.stop_gradient = False;; paddle.grad((x * x).sum(), x)[0].shape",
    ],
    "a value of a Program has no number yet": [
        "static(lambda x: x.item(), T(1))",
    ],
    "another exception for what a Program does not have": [
        "paddle.enable_static();; x = paddle.static.data('x', [-1, 3]);; x.numpy()",
        "paddle.enable_static();; x = paddle.static.data('x', [-1, 3]);; [v for v in x]",
        "paddle.enable_static();; x = paddle.static.data('x', [2, 3]);; x.backward()",
        "paddle.enable_static();; x = paddle.static.data('x', [2, 3]);; x.tolist()",
    ],
    "a value of a Program is a leaf if nothing made it": [
        "paddle.enable_static();; x = paddle.static.data('x', [2, 3]);; [x.persistable, x.is_leaf if hasattr(x, 'is_leaf') else 0]",
    ],
    "a Program is checked before it runs": [
        "paddle.enable_static();; main, startup = paddle.static.Program(), paddle.static.Program();; guard = paddle.static.program_guard(main, startup);; guard.__enter__();; exe = paddle.static.Executor();; x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={'x': np.ones(3, 'float32')}, fetch_list=[y])",
    ],
    "the state that resuming exactly needs": [
        "L = constant(nn.Linear(3, 2));; P = L.parameters();; o = paddle.optimizer.AdamW(0.1, parameters=P, lr_ratio=lambda p: 0.5);; train(L, o, T(4, 3), steps=2);; {k.replace(P[0].name, 'W').replace(P[1].name, 'B'): v for k, v in o.state_dict().items()}",
        "s = paddle.optimizer.lr.CosineAnnealingWarmRestarts(0.1, 2);; v = [];; [(v.append(s.get_lr()), s.step()) for _ in range(3)];; s.state_dict()",
        "s = paddle.optimizer.lr.CosineAnnealingWarmRestarts(0.1, 2, T_mult=2, eta_min=0.01);; v = [];; [(v.append(s.get_lr()), s.step()) for _ in range(3)];; s.state_dict()",
    ],
    "step(epoch) gives the rate of that epoch": [
        "s = paddle.optimizer.lr.LinearLR(0.1, 4);; s.step(5);; [s.last_lr, s.last_epoch, s()]",
        "s = paddle.optimizer.lr.LinearLR(0.1, 4, start_factor=0.5, end_factor=0.8);; s.step(5);; [s.last_lr, s.last_epoch, s()]",
    ],
    "windows of one element have a dimension": [
        "paddle.unfold(T(), 0, 1, 1)",
    ],
    "counts are integers, whatever is counted": [
        "paddle.histogram(T(0), bins=4)",
    ],
    "there is no quantile of nothing": [
        "paddle.quantile(T(0), 0.5)",
    ],
    "a quotient of bools is a number": [
        "paddle.ones([2], 'bool') / True",
        "True / paddle.ones([2], 'bool')",
    ],
    "Paddle does not check it, or gives numbers that mean nothing": [
        "paddle.median(paddle.ones([2], 'complex64'))",
        "paddle.round(paddle.ones([2], 'complex64'))",
        "paddle.neg(paddle.ones([2], 'bool'))",
    ],
    "the complex dtype that goes with the default dtype": [
        "paddle.full([2], 1 + 2j)",
    ],
    "the function in place gives its operand back": [
        "x = T(3, low=0.2, high=0.9);; y = paddle.sinc_(x);; [y is x, x, x.inplace_version]",
    ],
    "writes in place count once": [
        "x = T(3, low=0.2, high=0.9);; y = paddle.nan_to_num_(x);; [y is x, x, x.inplace_version]",
    ],
    "a gradient has no gradient": [
        "x = T(3, grad=True);; x.grad = T(3, seed=1);; (x * 2).sum().backward();; x.grad",
    ],
    "a comparison with text is False, as in Python": [
        "T(3) == 'a'",
    ],
    "equal only if one object": [
        "hash(T(3)) == hash(T(3))",
    ],
    "bfloat16 on request is real on CPUs too": [
        "with_amp = paddle.amp.auto_cast(dtype='bfloat16');; with_amp.__enter__();; y = paddle.matmul(T(2, 3), T(3, 2));; with_amp.__exit__(None, None, None);; y",
        "L = nn.Linear(2, 2);; paddle.amp.decorate(L, level='O2', dtype='bfloat16').weight.dtype",
        "L = nn.Linear(2, 2);; o = paddle.optimizer.SGD(0.1, parameters=L.parameters());; m, q = paddle.amp.decorate(L, o, level='O2', dtype='bfloat16');; m.weight.dtype",
    ],
    "a range is a sequence of numbers": [
        "paddle.to_tensor(range(3)).dtype",
    ],
    "a CPUPlace is a Place": [
        "T(3).cpu().place",
    ],
}
EXPECTED.update({case: reason for reason, cases in _BY_REASON.items() for case in cases})

# Differences of topics with modes: topic, what the call contains (a regular expression), the reason,
# and the mode if it is one alone. docs/numerics.md speaks of those that programs may meet.
_MEANT = [
    ("inplace_gradients", r"\*\*= 2", "a power keeps the view that it reads; Paddle keeps a copy of views with gaps"),
    ("inplace_gradients", r"z\[(x|\[True).*\] ([+*]= w|= w \* 2)", "what is written through a mask has a gradient"),
    ("inplace_gradients", r"y = z \* w;; z\.(flatten|reshape|squeeze|t|transpose|unsqueeze)_\(", "another exception for the same mistake"),
    ("inplace_gradients", r"v.put_along_axis_\(I\(3", "indices have as many rows as what they are written into"),
    ("inplace_gradients", r"u.floor_divide_\(w\)", "a leaf that needs a gradient is not written in place"),
    ("inplace_gradients", r"z.sinc_\(", "the function in place gives its operand back"),
    ("inplace_gradients", r"z.chunk\(2, 1\)|z = T\(3, 4\);; v = z.expand\(.*z.fill_", "pieces and expanded tensors are views (docs/numerics.md)"),
    ("calls_nn", r"embedding\(.*max_norm", "rows of a slot are scaled without a gradient", "static"),
    ("calls_math", r"frexp\(", "the exponent has no gradient"),
    ("calls_losses", r"label_smooth\(.*prior_dist=T", "it has a gradient"),
    ("calls_math", r"increment\(", "a leaf that needs a gradient is not written in place"),
    ("calls_math", r"isin\(I\(2, 3\), paddle.to_tensor\(3\)", "a number to look for leaves x's shape alone"),
    ("calls_math", r"(logsumexp|count_nonzero)\(T\(\), axis=\(0, -1\)", "a tensor without dimensions has axes 0 and -1"),
    ("calls_math", r"kthvalue\(I\(", "which of equal elements comes is not said"),
    ("calls_math", r"histogram\(input=I\(20\), max=0.5", "limits of whole numbers are not cut off"),
    ("calls_math", r"divide\(.*rounding_mode", "rounded quotients have a gradient of zero"),
    ("calls_math", r"(nan)?quantile\(T\(2, 3, 4, dtype='float64'", "q is float64, in Paddle's Programs float32"),
    ("calls_math", r"(nan)?quantile\(T\(3, 4\), paddle.to_tensor", "q is needed while a Program is built", "static"),
    ("calls_math", r"nan_to_num\(T\(3, 2.*float16", "float16 is taken"),
    ("calls_math", r"sinc\(x=.*float64", "pi is float64, in Paddle's Programs float32"),
    ("calls_math", r"scale\(x=I\(2, 3\), act=", "activations take whole numbers"),
    ("calls_math", r"out=o", "the tensor given as out= is written to", "static"),
    ("calls_math", r"clip\(I\(2, 3\), max=T\(1.*min=-0.5", "whole numbers have no gradient", "static"),
    ("calls_math", r"diff\(I\(4\), .*append=T", "another exception for the same mistake"),
    ("calls_manipulation", r"as_strided\(.*offset=[12]", "the offset counts elements; in Paddle it reads elsewhere"),
    ("calls_manipulation", r"(as_strided|unfold)\(", "what several places have in common gets the sum of their gradients"),
    ("calls_manipulation", r"np.array\(\[3, 4\]\)|flatten\(T\(\)|repeat_times=paddle.to_tensor\(2\)|broadcast_tensors\(\(T|concat\(\[T\(2, 3\), T\(2, 3, dtype", "Argosy takes what Paddle refuses"),
    ("calls_manipulation", r"masked_fill\(.*value=paddle.to_tensor\(3\)|crop\(.*offsets|full_like\(.*dtype='bool'", "Argosy takes what Paddle refuses"),
    ("calls_manipulation", r"diag_embed\(|bernoulli\(x=", "it has a gradient"),
    ("calls_manipulation", r"view\(T\(2, 6\), shape_or_dtype='float32'", "the same memory in another dtype has no gradient"),
    ("calls_manipulation", r"arange\(.*dtype='int32', step=0.5", "a step of 0 is a ValueError of its own text"),
    ("calls_manipulation", r"axis=paddle.to_tensor|, 3, paddle.to_tensor\(1\)\)", "an axis is needed while a Program is built", "static"),
    ("calls_manipulation", r"crop\(.*shape=\[paddle.to_tensor", "sizes that are tensors are unknown in a Program", "static"),
    ("calls_manipulation", r"split\(.*paddle.to_tensor", "sizes that are tensors are unknown in a Program", "static"),
    ("calls_nn", r"pool\dd\(.*(padding=(\d|\[|\()|ceil_mode=True|, 1\))", "a window in the padding has the maximum -inf and the mean 0; divisor_override divides the sum"),
    ("calls_nn", r"avg_pool\dd\(.*divisor_override", "divisor_override divides the sum, as documented; Paddle's is off in padding"),
    ("calls_nn", r"conv3d.*dilation=\(", "another exception for the same mistake"),
    ("calls_nn", r"conv3d_transpose\(.*dilation=2|adaptive_avg_pool2d\(x=.*float64", "sums in another order"),
    ("calls_nn", r"max_unpool1d\(.*output_size", "Argosy takes what Paddle refuses"),
    ("calls_nn", r"layer_norm\(", "any epsilon, axes and shapes of weights"),
    ("calls_nn", r"batch_norm\(.*use_global_stats=False", "the gradient is that of what was computed, with the batch's statistics"),
    ("calls_nn", r"group_norm\(", "the gradient without a weight is that of the definition; Paddle's is not"),
    ("calls_losses", r"cross_entropy\(.*weight=T|multi_margin_loss\(.*weight=T", "class weights have no gradient"),
    ("calls_losses", r"cross_entropy\(T\(2, 4, 3\), F.softmax.*label_smoothing", "the label is smoothed over its classes, also where they are not last"),
    ("calls_losses", r"return_softmax=True", "the softmax that comes along has a gradient"),
    ("calls_losses", r"margin_cross_entropy\(", "Paddle does not have it on the CPU"),
    ("calls_nn", r"F.pad\(.*paddle.to_tensor|zeropad2d\(.*paddle.to_tensor", "Argosy takes what Paddle refuses"),
    ("calls_layers", r"MaxPool.*padding=1", "a window in the padding has the maximum -inf"),
    ("calls_layers", r"Conv3D\(4, 6, 3, dilation=2", "a kernel that does not fit gives an empty image in Paddle"),
    ("calls_layers", r"bias_[ih]h_attr=False", "Argosy takes what Paddle refuses"),
    ("calls_layers", r"Maxout\(.*axis=-3", "Argosy takes what Paddle refuses"),
    ("calls_layers", r"N.eval\(\)", "relu of NaN is NaN; the variance is negative here"),
    ("calls_layers", r"(CrossEntropy|MultiMargin)Loss\(.*weight=T", "class weights have no gradient"),
    ("calls_layers", r"weight_norm\(", "a layer that is made in a captured function takes no reparameterization", "captured"),
    ("calls_linalg", r"matrix_power\(.*n=0", "the identity depends on nothing"),
    ("calls_linalg", r"triangular_solve\(.*unitriangular=True", "a diagonal that is not read has no gradient"),
    ("calls_linalg", r"lstsq\(", "residuals have a gradient; their size depends on the rank, which a Program does not know"),
    ("calls_linalg", r"svd\(.*full_matrices=True|lu_unpack\(|linalg.qr\(T\(4, 3\), mode='complete'", "no gradient of such a factor"),
    ("calls_linalg", r"eigvals\(", "eigenvalues have a gradient"),
]  # fmt: skip


def is_meant(topic, mode, case):
    return any(
        topic == of and re.search(text, case) and mode in (of_mode or [mode])
        for of, text, _, *of_mode in _MEANT
    )
