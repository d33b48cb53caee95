"""Functions in Programs: inferred shapes, values and gradients, and the API around them."""

_UNARY = """
abs acos asin atan ceil cos cosh erf exp expm1 floor log log10 log1p log2 neg reciprocal round rsqrt
sign sin sinh sqrt square tan tanh trunc frac digamma lgamma i0 i1 logit rad2deg angle
""".split()
_ACTIVATIONS = """
relu relu6 elu gelu sigmoid silu softplus softsign tanhshrink hardshrink hardsigmoid hardswish
leaky_relu log_sigmoid mish selu celu softshrink swish thresholded_relu softmax log_softmax
""".split()
_BINARY = "add subtract multiply divide maximum minimum fmax fmin pow atan2 hypot remainder".split()
_REDUCE = "sum mean max min prod amax amin logsumexp nansum nanmean std var median norm".split()
_OPERATORS = "+ - * / ** // % == != < <= > >=".split()
_G = "paddle.enable_static();; "
_GUARD = (
    "paddle.enable_static();; main, startup = paddle.static.Program(), paddle.static.Program();; "
    "guard = paddle.static.program_guard(main, startup);; guard.__enter__();; "
    "exe = paddle.static.Executor();; "
)

CASES = [
    *[f"static(paddle.{name}, T(2, 3, low=0.1, high=0.9), grad=True)" for name in _UNARY],
    *[f"static(F.{name}, T(2, 3), grad=True)" for name in _ACTIVATIONS],
    *[
        f"static(paddle.{name}, T(2, 3, low=0.1), T(3, low=0.3, seed=1), grad=True)"
        for name in _BINARY[:11]
    ],
    *[f"static(paddle.{name}, T(2, 3, low=0.1))" for name in _REDUCE],
    *[
        f"static(lambda x: paddle.{name}(x, axis=1, keepdim=True), T(2, 3, low=0.1), grad=True)"
        for name in _REDUCE
        if name != "median"
    ],
    *[
        f"static(lambda x, y: x {op} y, T(2, 3, low=0.1), T(3, low=0.3, seed=1))"
        for op in _OPERATORS
    ],
    *[f"static(lambda x: x {op} 2, T(2, 3, low=0.1))" for op in _OPERATORS],
    *[f"static(lambda x: 2.0 {op} x, T(2, 3, low=0.1))" for op in _OPERATORS],
    *[f"static(lambda x: x {op} 2, I(2, 3, low=1))" for op in _OPERATORS],
    "static(lambda x: x.astype('int32'), T(2, 3))",
    "static(lambda x: x[0], T(2, 3), grad=True)",
    "static(lambda x: x[:, 1:], T(2, 3), grad=True)",
    "static(lambda x: x[..., -1], T(2, 3, 4), grad=True)",
    "static(lambda x: x[::-1], T(4, 3))",
    "static(lambda x: x[None, :, None], T(4, 3))",
    "static(lambda x, i: x[i], T(4, 3), I(2, high=4), grad=True)",
    "static(lambda x, m: x[m], T(4, 3), B(4))",
    "static(lambda x: x[x > 0], T(4, 3))",
    "static(lambda x: paddle.static.setitem(x, 0, 5.0), T(4, 3))",
    "static(lambda x: paddle.reshape(x, [-1, 2]), T(4, 3), grad=True)",
    "static(lambda x: paddle.reshape(x, [0, -1]), T(4, 3, 2), grad=True)",
    "static(lambda x: paddle.transpose(x, [1, 0]), T(4, 3), grad=True)",
    "static(lambda x: x.T, T(4, 3))",
    "static(lambda x: paddle.squeeze(x, 0), T(1, 3), grad=True)",
    "static(lambda x: paddle.unsqueeze(x, [0, 2]), T(4, 3), grad=True)",
    "static(lambda x: paddle.flatten(x, 1), T(4, 3, 2))",
    "static(lambda x, y: paddle.concat([x, y], 1), T(4, 3), T(4, 2), grad=True)",
    "static(lambda x, y: paddle.stack([x, y]), T(4, 3), T(4, 3), grad=True)",
    "static(lambda x: paddle.split(x, 2), T(4, 3), grad=True)",
    "static(lambda x: paddle.split(x, [1, -1], 1), T(4, 3))",
    "static(lambda x: paddle.chunk(x, 2), T(4, 3))",
    "static(lambda x: paddle.unbind(x), T(2, 3))",
    "static(lambda x: paddle.tile(x, [2, 2]), T(2, 3), grad=True)",
    "static(lambda x: paddle.expand(x, [2, 2, 3]), T(2, 3), grad=True)",
    "static(lambda x: paddle.flip(x, [0]), T(2, 3))",
    "static(lambda x: paddle.roll(x, 1, 0), T(2, 3))",
    "static(lambda x: paddle.cumsum(x, 0), T(2, 3), grad=True)",
    "static(lambda x: paddle.sort(x), T(2, 3), grad=True)",
    "static(lambda x: paddle.argsort(x), T(2, 3))",
    "static(lambda x: paddle.topk(x, 2), T(2, 3), grad=True)",
    "static(lambda x: paddle.argmax(x, 1), T(2, 3))",
    "static(lambda x: paddle.unique(x), I(6, high=3))",
    "static(lambda x: paddle.nonzero(x), I(6, high=2))",
    "static(lambda x, m: paddle.masked_select(x, m), T(2, 3), B(2, 3))",
    "static(lambda x, m, y: paddle.where(m, x, y), T(2, 3), B(2, 3), T(2, 3))",
    "static(paddle.gather, T(4, 3), I(2, high=4), grad=True)",
    "static(paddle.gather_nd, T(4, 3), I(2, 1, high=4), grad=True)",
    "static(paddle.index_select, T(4, 3), I(2, high=4), grad=True)",
    "static(paddle.scatter, T(4, 3), paddle.to_tensor([1, 3]), T(2, 3), grad=True)",
    "static(paddle.matmul, T(2, 3), T(3, 4), grad=True)",
    "static(lambda x, y: paddle.matmul(x, y, transpose_y=True), T(5, 2, 3), T(5, 4, 3), grad=True)",
    "static(paddle.bmm, T(2, 2, 3), T(2, 3, 2), grad=True)",
    "static(lambda x, y: paddle.einsum('ij,jk->ik', x, y), T(2, 3), T(3, 4), grad=True)",
    "static(paddle.linalg.inv, T(3, 3), grad=True)",
    "static(paddle.linalg.det, T(3, 3), grad=True)",
    "static(lambda x: paddle.linalg.norm(x, 2, 1), T(3, 3), grad=True)",
    "static(F.linear, T(2, 3), T(3, 4), T(4), grad=True)",
    "static(F.conv2d, T(1, 3, 5, 5), T(2, 3, 3, 3), grad=True)",
    "static(lambda x: F.max_pool2d(x, 2), T(1, 3, 4, 4), grad=True)",
    "static(lambda x: F.avg_pool2d(x, 2), T(1, 3, 4, 4), grad=True)",
    "static(lambda x: F.adaptive_avg_pool2d(x, 2), T(1, 3, 5, 5), grad=True)",
    "static(lambda x: F.interpolate(x, scale_factor=2), T(1, 3, 4, 4), grad=True)",
    "static(lambda x: F.interpolate(x, size=[3, 3], mode='bilinear'), T(1, 3, 4, 4), grad=True)",
    "static(lambda x: F.pad(x, [1, 1, 1, 1]), T(1, 3, 4, 4), grad=True)",
    "static(lambda x: F.layer_norm(x, 3), T(2, 3), grad=True)",
    "static(lambda x, y: F.cross_entropy(x, y), T(2, 3), I(2, high=3), grad=True)",
    "static(lambda x, y: F.mse_loss(x, y), T(2, 3), T(2, 3), grad=True)",
    "static(lambda x, y: F.l1_loss(x, y, 'none'), T(2, 3), T(2, 3))",
    "static(lambda x, y: F.binary_cross_entropy_with_logits(x, y), T(2, 3), T(2, 3, low=0.1), grad=True)",
    "static(lambda i, w: F.embedding(i, w), I(2, high=3), T(3, 4), grad=True)",
    "static(lambda i: F.one_hot(i, 3), I(2, high=3))",
    "static(lambda x: F.dropout(x, 0.5, training=False), T(2, 3))",
    "static(lambda x: paddle.cast(x, 'float64'), T(2, 3), grad=True)",
    "static(lambda x: paddle.clip(x, -0.5, 0.5), T(2, 3), grad=True)",
    "static(lambda x: paddle.shape(x), T(2, 3))",
    "static(lambda x: x.shape[0] * x, T(2, 3))",
    "static(lambda x: paddle.full_like(x, 2), T(2, 3))",
    "static(lambda x: paddle.zeros_like(x), T(2, 3))",
    "static(lambda x: paddle.ones([2, 3]) * x, T(2, 3))",
    "static(lambda x: paddle.arange(3).astype('float32') * x, T(2, 3))",
    "static(lambda x: paddle.assign(x), T(2, 3))",
    "static(lambda x: paddle.static.nn.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1), T(2, 3))",
    "static(lambda x: paddle.static.nn.while_loop(lambda i, v: i < 3, lambda i, v: [i + 1, v * 2], [paddle.full([1], 0, 'int64'), x]), T(2, 3))",
    "static(lambda x: paddle.static.nn.switch_case(paddle.full([1], 1, 'int32'), {0: lambda: x, 1: lambda: x * 2}), T(2, 3))",
    "static(lambda x: paddle.static.nn.case([(x.sum() > 100, lambda: x)], lambda: x * 3), T(2, 3))",
    "static(lambda x: paddle.increment(x, 2.0), T(1))",
    "static(lambda x: paddle.is_tensor(x) and x, T(1))",
    "static(lambda x: x.mean(), T(2, 3))",
    "static(lambda x: x.exp().sum(axis=0), T(2, 3), grad=True)",
    "static(lambda x: -x, T(2, 3))",
    "static(lambda x: abs(x), T(2, 3))",
    "static(lambda x: ~x, B(3))",
    "static(lambda x, y: x & y, B(3), B(3, seed=3))",
    "static(lambda x, y: x @ y, T(2, 3), T(3, 2))",
    "static(lambda x: x.numel(), T(2, 3))",
    "static(lambda x: x.ndim * x, T(2, 3))",
    "static(lambda x: x.item(), T(1))",
    "static(lambda x: x.detach(), T(2, 3))",
    "static(lambda x: x.clone(), T(2, 3))",
    "static(lambda x: x.cpu(), T(2, 3))",
    "static(lambda x: x.unsqueeze(0).squeeze(0).flatten().reshape([3, 2]).transpose([1, 0]), T(2, 3))",
    "static(lambda x: paddle.static.nn.fc(x, 4, weight_attr=nn.initializer.Constant(0.5)), T(2, 3))",
    "static(lambda x: paddle.static.nn.fc(x, 4, num_flatten_dims=2, weight_attr=nn.initializer.Constant(0.5), activation='relu'), T(2, 3, 4))",
    "static(lambda x: paddle.static.nn.batch_norm(x), T(2, 3, 4, 4))",
    "static(lambda x: paddle.static.nn.layer_norm(x), T(2, 3, 4, 4))",
    "static(lambda x: paddle.static.nn.group_norm(x, 2), T(2, 4, 4, 4))",
    "static(lambda x: paddle.static.nn.instance_norm(x), T(2, 3, 4, 4))",
    "static(lambda x: paddle.static.nn.conv2d(x, 2, 3, param_attr=nn.initializer.Constant(0.1)), T(2, 3, 4, 4))",
    "static(lambda x: paddle.static.nn.conv2d_transpose(x, 2, filter_size=3, param_attr=nn.initializer.Constant(0.1)), T(2, 3, 4, 4))",
    "static(lambda x: paddle.static.nn.embedding(x, [5, 3], param_attr=nn.initializer.Constant(0.1)), I(4, high=5))",
    "static(lambda x: paddle.static.nn.prelu(x, 'all'), T(2, 3, 4, 4))",
    "static(lambda x: paddle.static.accuracy(x, paddle.zeros([2, 1], 'int64')), T(2, 3))",
    "static(lambda x: paddle.static.auc(F.softmax(x), paddle.ones([2, 1], 'int64'))[0], T(2, 2))",
    "static(lambda x: paddle.static.create_global_var([2], 1.5, 'float32') + x, T(2))",
    "static(lambda x: paddle.static.create_parameter([2], 'float32', default_initializer=nn.initializer.Constant(2.0)) + x, T(2))",
    "static(lambda x: paddle.static.py_func(lambda v: np.asarray(v) * 2, x, paddle.static.default_main_program().current_block().create_var(name='o', shape=[2, 3], dtype='float32')), T(2, 3))",
    "static(lambda x: paddle.static.Print(x), T(2))",
    # Objects.
    _G + "x = paddle.static.data('x', [None, 3]);; x.shape",
    _G
    + "x = paddle.static.data('x', [-1, 3], 'int64');; [x.shape, x.dtype, x.name, x.stop_gradient, x.ndim]",
    _G + "x = paddle.static.data('x', (2, 3));; [list(x.shape), x.dtype]",
    _G + "x = paddle.static.data('x', [-1, 3]);; (x + 1).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.concat([x, x]).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.reshape(x, [-1]).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.matmul(x, paddle.ones([3, 5])).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; x.sum(0).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.expand(x, [2, -1, 3]).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; x[0:2].shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; x[0].shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.flatten(x).shape",
    _G
    + "x = paddle.static.data('x', [-1, 3, 8, 8]);; F.conv2d(x, paddle.ones([2, 3, 3, 3])).shape",
    _G + "x = paddle.static.data('x', [-1, 3, 8, 8]);; F.max_pool2d(x, 2).shape",
    _G + "x = paddle.static.data('x', [-1, 3, 8, 8]);; F.interpolate(x, scale_factor=2).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.split(x, 3, 1)[0].shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.tile(x, [2, 1]).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.nonzero(x).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.masked_select(x, x > 0).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.unique(x).shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; paddle.topk(x, 2)[0].shape",
    _G + "x = paddle.static.data('x', [-1, 3]);; x.numpy()",
    _G + "x = paddle.static.data('x', [-1, 3]);; float(x)",
    _G + "x = paddle.static.data('x', [-1, 3]);; bool(x)",
    _G + "x = paddle.static.data('x', [-1, 3]);; len(x)",
    _G + "x = paddle.static.data('x', [4, 3]);; len(x)",
    _G + "x = paddle.static.data('x', [-1, 3]);; [v for v in x]",
    _G + "x = paddle.static.data('x', [2, 3]);; [v.shape for v in x]",
    _G + "x = paddle.static.data('x', [2, 3]);; x[0] = 1.0;; 1",
    _G + "x = paddle.static.data('x', [2, 3]);; x.backward()",
    _G + "x = paddle.static.data('x', [2, 3]);; x.tolist()",
    _G
    + "x = paddle.static.data('x', [2, 3]);; [x.persistable, x.is_leaf if hasattr(x, 'is_leaf') else 0]",
    _G + "paddle.static.data(3, [2, 3])",
    _G + "paddle.static.data('x', 2)",
    _G + "paddle.static.data('x', [2], 'abc')",
    _G + "paddle.static.InputSpec([None, 3], 'float32', 'x').shape",
    "paddle.static.InputSpec.from_tensor(T(2, 3)).shape",
    "paddle.static.InputSpec.from_numpy(np.ones([2, 3], 'int64')).dtype",
    "s = paddle.static.InputSpec([3]);; s.batch(4).shape",
    "s = paddle.static.InputSpec([4, 3]);; s.unbatch().shape",
    "paddle.static.InputSpec([3]) == paddle.static.InputSpec([3])",
    "repr(paddle.static.InputSpec([None, 3], 'float32', 'x'))",
    "repr(paddle.static.InputSpec([-1, 3], 'int64', 'x', stop_gradient=True))",
    "paddle.static.InputSpec('a')",
    "paddle.static.InputSpec([3]).batch([4, 5])",
    "paddle.static.data('x', [2])",
    "paddle.in_dynamic_mode()",
    _G + "paddle.in_dynamic_mode()",
    _GUARD
    + "x = paddle.static.data('x', [2]);; exe.run(main, feed={'x': np.ones(2, 'float32')}, fetch_list=[x + 1])",
    _GUARD + "x = paddle.static.data('x', [2]);; exe.run(main, feed={'x': np.ones(2, 'float32')})",
    _GUARD
    + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(main, feed={'x': np.ones(2, 'float32')}, fetch_list=[y], return_numpy=False)",
    _GUARD
    + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={'x': np.ones(2, 'float32')}, fetch_list=y)",
    _GUARD
    + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={'x': np.ones(2, 'float32')}, fetch_list=[3])",
    _GUARD + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={}, fetch_list=[y])",
    _GUARD + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed=[1], fetch_list=[y])",
    _GUARD + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(3)",
    _GUARD
    + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={'x': np.ones(2, 'float64')}, fetch_list=[y])",
    _GUARD
    + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={'x': np.ones(3, 'float32')}, fetch_list=[y])",
    _GUARD
    + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={'x': [1.0, 2.0]}, fetch_list=[y])",
    _GUARD
    + "x = paddle.static.data('x', [2]);; y = x * 2;; exe.run(feed={'x': paddle.to_tensor([1.0])}, fetch_list=[y])",
    _GUARD
    + "w = paddle.create_parameter([2], 'float32', default_initializer=nn.initializer.Constant(1.0));; loss = (w * w).sum();; paddle.optimizer.SGD(0.1).minimize(loss);; exe.run(startup);; [exe.run(main, fetch_list=[loss]) for _ in range(3)]",
    _GUARD
    + "x = paddle.static.data('x', [4, 2]);; net = constant(nn.Linear(2, 1)) if False else nn.Linear(2, 1, weight_attr=nn.initializer.Constant(0.3));; loss = (net(x) ** 2).mean();; opt = paddle.optimizer.Adam(0.1, parameters=net.parameters());; opt.minimize(loss);; exe.run(startup);; [exe.run(main, feed={'x': np.ones([4, 2], 'float32')}, fetch_list=[loss]) for _ in range(3)]",
    _GUARD
    + "x = paddle.static.data('x', [4, 2]);; loss = paddle.static.nn.fc(x, 1, weight_attr=nn.initializer.Constant(0.3)).mean();; sched = paddle.optimizer.lr.StepDecay(0.1, 1, 0.5);; opt = paddle.optimizer.Momentum(sched);; opt.minimize(loss);; exe.run(startup);; out = [];; [(out.append(exe.run(main, feed={'x': np.ones([4, 2], 'float32')}, fetch_list=[loss])), sched.step()) for _ in range(3)];; out",
    _GUARD
    + "w = paddle.create_parameter([2], 'float32', name='w', default_initializer=nn.initializer.Constant(1.0));; loss = (w * w).sum();; g = paddle.static.append_backward(loss);; exe.run(startup);; [len(g), exe.run(main, fetch_list=[g[0][1]])]",
    _GUARD
    + "w = paddle.create_parameter([2], 'float32', name='w', default_initializer=nn.initializer.Constant(1.0));; [p.name for p in main.all_parameters()]",
    _GUARD
    + "w = paddle.create_parameter([2], 'float32', name='w');; [w.name, w.persistable, w.stop_gradient, w.trainable, w.shape]",
    _GUARD
    + "x = paddle.static.data('x', [2], 'float32');; y = x * 2;; test = main.clone(for_test=True);; exe.run(test, feed={'x': np.ones(2, 'float32')}, fetch_list=[y])",
    _GUARD + "[main.num_blocks, main.random_seed, len(list(main.list_vars()))]",
    _GUARD + "main.random_seed = 5;; x = paddle.rand([3]);; len(exe.run(main, fetch_list=[x])[0])",
    _GUARD
    + "x = paddle.static.data('x', [2]);; x.stop_gradient = False;; y = x * x;; g = paddle.static.gradients(y, x);; exe.run(feed={'x': np.ones(2, 'float32')}, fetch_list=g)",
    _GUARD
    + "x = paddle.static.data('x', [2]);; x.stop_gradient = False;; y = x * x * x;; g = paddle.static.gradients(y, x);; h = paddle.static.gradients(g, x);; exe.run(feed={'x': np.ones(2, 'float32')}, fetch_list=h)",
    _GUARD
    + "x = paddle.static.data('x', [2]);; x.stop_gradient = False;; y = x * x;; g = paddle.static.gradients([y], [x], target_gradients=[x]);; exe.run(feed={'x': np.ones(2, 'float32')}, fetch_list=g)",
    _GUARD
    + "x = paddle.static.data('x', [2]);; x.stop_gradient = False;; z = paddle.static.data('z', [2]);; z.stop_gradient = False;; paddle.static.gradients(x * 2, z)",
    _GUARD + "paddle.static.gradients(3, 4)",
    _GUARD + "paddle.static.append_backward(3)",
    _GUARD + "type(paddle.static.global_scope()).__name__ != ''",
    "s = paddle.static.Scope() if hasattr(paddle.static, 'Scope') else None;; s is None",
    _GUARD
    + "with_scope = paddle.static.scope_guard(paddle.static.global_scope());; with_scope.__enter__();; 1",
    _GUARD + "paddle.static.cpu_places()",
    _GUARD + "len(paddle.static.cpu_places(3))",
    _GUARD
    + "d = paddle.static.default_main_program();; d is main, paddle.static.default_startup_program() is startup",
    _GUARD + "paddle.static.program_guard(3).__enter__()",
    _GUARD + "n = paddle.static.name_scope('a');; n.__enter__();; 1",
    _GUARD + "w = paddle.static.WeightNormParamAttr(dim=0, name='wn');; w.name, w.dim",
    _GUARD
    + "e = paddle.static.ExponentialMovingAverage(0.9);; w = paddle.create_parameter([2], 'float32', default_initializer=nn.initializer.Constant(1.0));; loss = (w * w).sum();; paddle.optimizer.SGD(0.1).minimize(loss);; 1",
    _GUARD + "paddle.static.set_program_state(main, {'a': np.ones(2, 'float32')})",
    _GUARD
    + "b = paddle.static.BuildStrategy();; e = paddle.static.ExecutionStrategy();; c = paddle.static.CompiledProgram(main);; x = paddle.ones([2]) + 1;; exe.run(c, fetch_list=[x])",
    _GUARD
    + "x = paddle.static.data('x', [2, 3]);; x.stop_gradient = False;; paddle.grad((x * x).sum(), x)[0].shape",
]
