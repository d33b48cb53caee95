"""Layers as objects: names, hooks, state, containers, attributes; printing of tensors and layers."""

_NET = (
    "N = nn.Sequential(('a', nn.Linear(2, 3)), ('b', nn.Sequential(nn.ReLU(), nn.BatchNorm1D(3))),"
    " ('c', nn.Linear(3, 1)));; "
)
_LAYERS = """
Linear(2,3) Linear(2,3,bias_attr=False) Conv1D(2,4,3) Conv2D(2,4,3) Conv2D(2,4,3,stride=2,padding=1)
Conv2D(2,4,3,dilation=2,groups=2) Conv3D(2,4,3) Conv2DTranspose(2,4,3) Conv1DTranspose(2,4,3)
Conv2D(2,4,3,padding='SAME') Conv2D(2,4,3,data_format='NHWC') Conv2D(2,4,3,padding_mode='reflect',padding=1)
BatchNorm1D(3) BatchNorm2D(3) BatchNorm3D(3) BatchNorm(3) LayerNorm(3) LayerNorm([2,3],epsilon=1e-3)
GroupNorm(2,4) InstanceNorm1D(3) InstanceNorm2D(3) InstanceNorm3D(3) SyncBatchNorm(3) LocalResponseNorm(3)
SpectralNorm([2,3]) Embedding(4,3) Embedding(4,3,padding_idx=1) Embedding(4,3,sparse=True)
Dropout() Dropout(0.3,axis=1) Dropout2D() Dropout3D(0.2) AlphaDropout() FeatureAlphaDropout()
ReLU() ReLU6() ELU() ELU(0.5) GELU() GELU(True) Hardshrink() Hardtanh() Hardsigmoid() Hardswish()
LeakyReLU() LogSigmoid() LogSoftmax() Maxout(2) Mish() PReLU() RReLU() SELU() CELU() Sigmoid() Silu()
Softmax() Softmax(1) Softmax2D() Softplus() Softshrink() Softsign() Swish() Tanh() Tanhshrink()
ThresholdedReLU() GLU() MaxPool1D(2) MaxPool2D(2) MaxPool3D(2) AvgPool1D(2) AvgPool2D(2) AvgPool3D(2)
MaxPool2D(2,stride=1,padding=1) AvgPool2D(3,exclusive=False) LPPool1D(2,2) LPPool2D(2,2)
AdaptiveAvgPool1D(2) AdaptiveAvgPool2D(2) AdaptiveAvgPool3D(2) AdaptiveMaxPool1D(2) AdaptiveMaxPool2D(2)
AdaptiveMaxPool3D(2) FractionalMaxPool2D(2) FractionalMaxPool3D(2) MaxUnPool1D(2) MaxUnPool2D(2) MaxUnPool3D(2)
Pad1D(1) Pad2D(1) Pad3D(1) ZeroPad1D(1) ZeroPad2D(1) ZeroPad3D(1) Upsample(size=2) UpsamplingNearest2D(size=2)
UpsamplingBilinear2D(size=2) PixelShuffle(2) PixelUnshuffle(2) ChannelShuffle(2) Flatten() Unflatten(0,[2,3])
Unfold(2) Fold([4,4],2) Identity() Bilinear(2,3,4) CosineSimilarity() PairwiseDistance()
CrossEntropyLoss() MSELoss() L1Loss() NLLLoss() BCELoss() BCEWithLogitsLoss() KLDivLoss() SmoothL1Loss()
MarginRankingLoss() CTCLoss() HingeEmbeddingLoss() CosineEmbeddingLoss() TripletMarginLoss() SoftMarginLoss()
MultiLabelSoftMarginLoss() MultiMarginLoss() GaussianNLLLoss() PoissonNLLLoss() HSigmoidLoss(3,4) RNNTLoss()
AdaptiveLogSoftmaxWithLoss(4,8,[2,4]) SimpleRNN(2,3) LSTM(2,3) GRU(2,3) LSTM(2,3,2,direction='bidirect')
SimpleRNNCell(2,3) LSTMCell(2,3) GRUCell(2,3) MultiHeadAttention(4,2) TransformerEncoderLayer(4,2,8)
TransformerDecoderLayer(4,2,8) Transformer(4,2,1,1,8) ParameterList() LayerList() Sequential() LayerDict()
ParameterDict()
""".split()
_LAYERS = list(dict.fromkeys(_LAYERS))

_TENSORS = [
    "paddle.to_tensor(1)",
    "paddle.to_tensor(1.5)",
    "paddle.to_tensor(True)",
    "paddle.to_tensor([1, 2, 3])",
    "paddle.to_tensor([1.5, 2.25])",
    "paddle.to_tensor([True, False])",
    "paddle.to_tensor([[1.0, -2.0], [3.5, 4.0]])",
    "paddle.to_tensor([1e-5, 1.0])",
    "paddle.to_tensor([1e10, 1.0])",
    "paddle.to_tensor([float('nan'), float('inf'), -float('inf')])",
    "paddle.to_tensor([1e-20])",
    "paddle.to_tensor([100000.0, 0.001])",
    "paddle.to_tensor([1 + 2j, 3 - 4j])",
    "paddle.to_tensor([0.1, 0.2], dtype='float64')",
    "paddle.to_tensor([0.1, 0.2], dtype='float16')",
    "paddle.to_tensor([0.1, 0.2], dtype='bfloat16')",
    "paddle.to_tensor([-5, 100], dtype='int8')",
    "paddle.zeros([2, 3])",
    "paddle.ones([2, 2, 2])",
    "paddle.zeros([0])",
    "paddle.zeros([2, 0])",
    "paddle.arange(2000)",
    "paddle.arange(2000).reshape([40, 50])",
    "paddle.ones([1001])",
    "paddle.ones([100, 20])",
    "paddle.arange(1200, dtype='float32').reshape([2, 20, 30])",
    "T(3, grad=True)",
    "T(2, 3, 4)",
    "paddle.to_tensor([123456789])",
    "paddle.to_tensor([1.0, 1000000.0])",
    "paddle.to_tensor([0.00001234])",
    "paddle.to_tensor([123456.789])",
    "paddle.to_tensor([-0.0])",
    "paddle.to_tensor(np.float64(3.14159265358979))",
    "paddle.to_tensor([999.99999])",
    "paddle.to_tensor([[[1]]])",
    "T(5, 5) * 1000",
    "T(5) * 1e-6",
    "T(3, 3) > 0",
    "paddle.full([3], 7, 'uint8')",
    "paddle.ones([8, 8, 8, 8])",
    "paddle.to_tensor([1e38, 1e-38])",
    "T(2, 2, dtype='complex64')" if False else "paddle.complex(T(2, 2), T(2, 2, seed=1))",
]

CASES = [
    *[f"str({t})" for t in _TENSORS],
    *[f"repr({t})" for t in _TENSORS[:8]],
    *[
        f"paddle.set_printoptions({o});; s = str(T(2, 3) * 100);; paddle.set_printoptions(precision=8, threshold=1000, edgeitems=3, sci_mode=False, linewidth=80);; s"
        for o in (
            "precision=2",
            "sci_mode=True",
            "threshold=2",
            "edgeitems=1, threshold=2",
            "linewidth=20",
        )
    ],
    "'{:.3f}'.format(paddle.to_tensor(1.5))",
    "f'{paddle.to_tensor(1.5):.2f}'",
    "f'{paddle.to_tensor(3)}'",
    "'%d' % paddle.to_tensor(3)",
    "'%.2f' % paddle.to_tensor(3.5)",
    "f'{paddle.to_tensor([1.5]):.2f}'",
    "str(paddle.float32), repr(paddle.int64), str(paddle.bool)",
    "str(paddle.CPUPlace()), repr(paddle.CPUPlace())",
    "str(T(2).place)",
    "str(nn.Linear(2, 2).weight).split('\\n')[0].split(',')[0]",
    "str(nn.Linear(2, 2).weight).split('\\n')[0].replace(nn.Linear(2, 2).weight.name[:3], '')[:20]",
    *[f"repr(nn.{layer})" for layer in _LAYERS],
    *[f"[(n, list(p.shape)) for n, p in nn.{layer}.named_parameters()]" for layer in _LAYERS],
    *[
        f"[(n, list(p.shape), str(p.dtype).split('.')[-1]) for n, p in nn.{layer}.state_dict().items()]"
        for layer in _LAYERS
        if "List" not in layer
    ],
    *[f"nn.{layer}.full_name().rsplit('_', 1)[0]" for layer in _LAYERS],
    _NET + "repr(N)",
    _NET + "[n for n, _ in N.named_parameters()]",
    _NET + "[n for n, _ in N.named_parameters(prefix='p')]",
    _NET + "[n for n, _ in N.named_parameters(include_sublayers=False)]",
    _NET + "[n for n, _ in N.named_sublayers()]",
    _NET + "[n for n, _ in N.named_sublayers(include_self=True)]",
    _NET + "[n for n, _ in N.named_sublayers(prefix='p', include_self=True)]",
    _NET + "[n for n, _ in N.named_children()]",
    _NET + "[n for n, _ in N.named_buffers()]",
    _NET + "[n for n, _ in N.named_buffers(prefix='p')]",
    _NET + "[type(l).__name__ for l in N.sublayers()]",
    _NET + "[type(l).__name__ for l in N.sublayers(include_self=True)]",
    _NET + "[type(l).__name__ for l in N.children()]",
    _NET + "len(N.parameters()), len(N.buffers()), len(N.parameters(False))",
    _NET + "list(N.state_dict().keys())",
    _NET + "list(N.state_dict(structured_name_prefix='p.').keys())",
    _NET + "list(N.state_dict(include_sublayers=False).keys())",
    _NET + "list(N.to_static_state_dict().keys())",
    _NET + "list(N.state_dict(use_hook=False).keys())",
    _NET + "d = {};; N.state_dict(destination=d);; list(d.keys())",
    _NET + "N.set_state_dict({'a.weight': T(2, 3), 'x': T(1)})",
    _NET + "N.set_state_dict({'a.weight': T(2, 3).numpy()});; N.a.weight",
    _NET + "N.load_dict({'a.weight': T(5, 3)})",
    _NET
    + "N.set_state_dict({p.name: T(*p.shape) for p in N.parameters()}, use_structured_name=False)",
    _NET + "N.train();; N.training, N.a.training",
    _NET + "N.eval();; N.training, N.a.training",
    _NET + "N.eval() is N" if False else _NET + "N.eval()",
    _NET + "N.apply(lambda l: None) is N",
    _NET + "N.to(dtype='float64') is N, N.a.weight.dtype",
    _NET + "N.astype('float64').a.weight.dtype",
    _NET + "N.float16().a.weight.dtype",
    _NET + "N.bfloat16();; N.a.weight.dtype, N.b[1]._mean.dtype",
    _NET + "N.float().a.weight.dtype",
    _NET + "N.a is N[0], N['a'] is N.a" if False else _NET + "N['a'] is N.a",
    _NET + "type(N[1]).__name__, type(N[-1]).__name__, len(N)",
    _NET + "type(N[0:2]).__name__",
    _NET + "del N['a']" if False else _NET + "N.add_sublayer('d', nn.ReLU());; len(N)",
    "s = nn.Sequential(nn.ReLU(), nn.Tanh());; s.append(nn.GELU());; s.insert(0, nn.ELU());; s.extend([nn.SELU()]);; repr(s)",
    "s = nn.Sequential(nn.ReLU(), nn.Tanh());; s[0] = nn.GELU();; repr(s)",
    "s = nn.Sequential(nn.ReLU(), nn.Tanh());; del s[0];; repr(s)",
    "s = nn.Sequential(*[nn.ReLU()]);; [type(l).__name__ for l in s]",
    "s = nn.Sequential([('a', nn.ReLU()), ('b', nn.Tanh())]);; repr(s)",
    "s = nn.Sequential([nn.ReLU(), nn.Tanh()]);; repr(s)",
    "l = nn.LayerList([nn.ReLU(), nn.Tanh()]);; l.append(nn.GELU());; l.insert(1, nn.ELU());; l.extend([nn.SELU()]);; repr(l)",
    "l = nn.LayerList([nn.ReLU(), nn.Tanh(), nn.ELU()]);; [type(l[-1]).__name__, len(l[1:]), len(l)]",
    "l = nn.LayerList([nn.ReLU(), nn.Tanh(), nn.ELU()]);; del l[0];; repr(l)",
    "l = nn.LayerList([nn.ReLU(), nn.Tanh(), nn.ELU()]);; l[0] = nn.GELU();; repr(l)",
    "l = nn.LayerList([nn.ReLU()]);; l.pop(0)",
    "l = nn.LayerList([nn.ReLU()]);; l + [nn.Tanh()]",
    "l = nn.LayerDict({'a': nn.ReLU(), 'b': nn.Tanh()});; [list(l.keys()), len(l), 'a' in l, [type(v).__name__ for v in l.values()]]",
    "l = nn.LayerDict({'a': nn.ReLU()});; l.update({'c': nn.GELU()});; l['d'] = nn.ELU();; type(l.pop('a')).__name__, list(l.keys())",
    "l = nn.LayerDict({'a': nn.ReLU()});; l.clear();; len(l)",
    "l = nn.LayerDict([('a', nn.ReLU()), ('b', nn.ELU())]);; [k for k, v in l.items()], repr(l)",
    "p = nn.ParameterList([paddle.create_parameter([2], 'float32') for _ in range(2)]);; p.append(paddle.create_parameter([3], 'float32'));; [len(p), list(p[2].shape), [n for n, _ in p.named_parameters()]]",
    "l = nn.Linear(2, 2);; h = l.register_forward_pre_hook(lambda m, i: (i[0] * 2,));; a = l(T(1, 2));; h.remove();; b = l(T(1, 2));; bool((a - l.bias - (b - l.bias) * 2).abs().sum() < 1e-5)",
    "l = nn.Linear(2, 2);; h = l.register_forward_post_hook(lambda m, i, o: o * 2);; a = l(T(1, 2));; h.remove();; bool((a - l(T(1, 2)) * 2).abs().sum() < 1e-5)",
    "l = nn.Identity();; s = [];; l.register_forward_pre_hook(lambda m, i: s.append(1));; l.register_forward_pre_hook(lambda m, i: s.append(2));; l.register_forward_post_hook(lambda m, i, o: s.append(3));; l(T(1));; s",
    "l = nn.Identity();; h = l.register_forward_post_hook(lambda m, i, o: None);; type(h).__name__",
    "l = nn.Identity();; l.register_forward_pre_hook(lambda m, i: [1, 2])",
    "l = nn.Linear(2, 2);; l.weight.name.rsplit('_', 2)[1:], l.bias.name.rsplit('_', 2)[1:]",
    "l = nn.Linear(2, 2, weight_attr=paddle.ParamAttr(name='my_w'));; l.weight.name",
    "l = nn.Linear(2, 2, weight_attr=paddle.ParamAttr(name='my_w2', learning_rate=0.5, trainable=False));; [l.weight.optimize_attr, l.weight.trainable, l.weight.stop_gradient, l.weight.need_clip, l.weight.is_distributed, l.weight.regularizer]",
    "l = nn.Linear(2, 2, weight_attr=nn.initializer.Constant(0.5));; l.weight",
    "l = nn.Linear(2, 2, weight_attr='abc_w');; l.weight.name",
    "l = nn.Linear(2, 2, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Assign([[1.0, 2.0], [3.0, 4.0]])));; l.weight",
    "l = nn.Linear(2, 2, bias_attr=False);; l.bias is None",
    "l = nn.Linear(2, 2, name='abc');; [n.split('.')[-1] for n, _ in l.named_parameters()], l.weight.name.split('_')[-2:]",
    "l = nn.Linear(2, 2);; [type(l.weight).__name__, l.weight.persistable, l.weight.is_leaf, l.weight.trainable, l.weight.stop_gradient]",
    "l = nn.Linear(2, 2);; l.weight.trainable = False;; l.weight.stop_gradient",
    "l = nn.Linear(2, 2);; l.weight.stop_gradient = True;; l.weight.trainable",
    "l = nn.Layer();; p = l.create_parameter([2, 3]);; [p.shape, p.dtype, p.name.rsplit('_', 2)[1:]]",
    "l = nn.Layer();; p = l.create_parameter([2, 3], is_bias=True);; p",
    "l = nn.Layer();; p = l.create_parameter([2, 3], attr=False);; p",
    "l = nn.Layer();; p = l.create_parameter([2, 3], dtype='float64', default_initializer=nn.initializer.Constant(2.0));; p",
    "l = nn.Layer(dtype='float64');; l.create_parameter([2]).dtype",
    "l = nn.Layer();; t = l.create_tensor(name='abc', persistable=True);; [t.name, t.persistable]",
    "l = nn.Layer();; t = l.create_variable(name='abcd');; t.name",
    "l = nn.Layer();; l.register_buffer('b', T(2));; l.register_buffer('c', T(2), persistable=False);; [list(l.state_dict().keys()), [n for n, _ in l.named_buffers()]]",
    "l = nn.Layer();; l.register_buffer('b', None);; [list(l.state_dict().keys()), l.b]",
    "l = nn.Layer();; l.register_buffer('b', T(2));; l.b = T(2, seed=1);; l.b",
    "l = nn.Layer();; l.register_buffer('b', T(2));; l.b = None;; [n for n, _ in l.named_buffers()]",
    "l = nn.Layer();; l.register_buffer('b', T(2));; del l.b;; hasattr(l, 'b')",
    "l = nn.Layer();; l.a = nn.Linear(2, 2);; del l.a;; [n for n, _ in l.named_sublayers()]",
    "l = nn.Layer();; l.w = paddle.create_parameter([2], 'float32');; l.w = None;; [n for n, _ in l.named_parameters()]",
    "l = nn.Layer();; l.w = paddle.create_parameter([2], 'float32');; del l.w;; [n for n, _ in l.named_parameters()]",
    "l = nn.Layer();; l.add_parameter('w', paddle.create_parameter([2], 'float32'));; [n for n, _ in l.named_parameters()]",
    "l = nn.Layer();; l.add_parameter('w', None);; [n for n, _ in l.named_parameters()]",
    "l = nn.Layer();; l.a = [nn.Linear(2, 2)];; len(l.parameters())",
    "l = nn.Layer();; l.s = l.t = nn.Linear(2, 2);; [n for n, _ in l.named_parameters()], [n for n, _ in l.named_sublayers()], len(l.parameters()), list(l.state_dict())",
    "'weight' in dir(nn.Linear(2, 2))",
    "nn.Linear(2, 2).full_name().startswith('linear_'), nn.Layer(name_scope='abc').full_name().startswith('abc_')",
    "l = nn.Layer('my');; l.full_name().rsplit('_', 1)[0]",
    "nn.Layer().extra_repr()",
    "nn.Linear(2, 3).extra_repr(), nn.Conv2D(2, 3, 3).extra_repr()",
    "l = nn.Linear(2, 2);; l.clear_gradients()",
    "l = nn.Linear(2, 2);; l(T(1, 2)).sum().backward();; l.clear_gradients(set_to_zero=False);; l.weight.grad",
    "import copy;; l = nn.Linear(2, 2);; m = copy.deepcopy(l);; [m.weight is l.weight, bool((m.weight == l.weight).all()), m.weight.name == l.weight.name]",
    "import pickle;; t = pickle.loads(pickle.dumps(T(2, 3)));; t",
    "import pickle;; t = pickle.loads(pickle.dumps(T(2, 3, grad=True)));; t.stop_gradient",
    "import copy;; t = T(2, grad=True);; copy.deepcopy(t).stop_gradient, copy.copy(t) is t",
    "import copy;; t = T(2, grad=True) * 2;; copy.deepcopy(t)",
    "l = nn.Linear(2, 2);; l.weight.set_value(np.ones([2, 2], 'float32'));; l.weight",
    "l = nn.Linear(2, 2);; l.weight.set_value(np.ones([3, 2], 'float32'))",
    "l = nn.Linear(2, 2);; paddle.assign(T(2, 2), l.weight);; bool((l.weight == T(2, 2)).all())",
    "l = nn.Linear(2, 2);; l.weight.__setitem__(0, 1.0)",
    "l = nn.Linear(2, 2);; l.weight.add_(T(2, 2))",
    "l = nn.Linear(2, 2);; g = paddle.no_grad();; g.__enter__();; l.weight.add_(T(2, 2));; g.__exit__(None, None, None);; l.weight.stop_gradient",
    "l = nn.BatchNorm1D(3);; l(T(4, 3));; [l._mean, l._variance]",
    "l = nn.BatchNorm1D(3, use_global_stats=True);; l(T(4, 3))",
    "l = nn.BatchNorm2D(3, momentum=0.5, epsilon=1e-3, weight_attr=False, bias_attr=False);; l(T(2, 3, 2, 2))",
    "l = nn.BatchNorm2D(3);; l._mean.name.rsplit('_', 1)[0].rsplit('.')[-1], l._mean.stop_gradient, l.weight.stop_gradient",
    "nn.utils.parameters_to_vector(constant(nn.Linear(2, 2)).parameters())",
    "l = constant(nn.Linear(2, 2));; nn.utils.vector_to_parameters(T(6), l.parameters());; l.parameters()",
    "l = constant(nn.Linear(2, 3));; nn.utils.weight_norm(l);; [n for n, _ in l.named_parameters()], l(T(1, 2))",
    "l = constant(nn.Linear(2, 3));; nn.utils.weight_norm(l, dim=None);; l.weight_g, l(T(1, 2))",
    "l = constant(nn.Linear(2, 3));; nn.utils.weight_norm(l);; nn.utils.remove_weight_norm(l);; [n for n, _ in l.named_parameters()]",
    "l = constant(nn.Linear(2, 3));; nn.utils.spectral_norm(l);; sorted(n for n, _ in l.named_parameters())",
    "paddle.summary(nn.Linear(2, 3), (1, 2))",
    "paddle.flops(nn.Sequential(nn.Conv2D(2, 3, 3), nn.ReLU()), [1, 2, 5, 5])",
    "nn.initializer.calculate_gain('leaky_relu', 0.1), nn.initializer.calculate_gain('relu'), nn.initializer.calculate_gain('tanh')",
    *[
        f"paddle.seed(3);; nn.Linear(4, 5, weight_attr=nn.initializer.{i}).weight"
        for i in (
            "Constant(0.3)",
            "Normal()",
            "Normal(1.0, 0.5)",
            "Uniform()",
            "Uniform(-0.5, 0.5)",
            "XavierNormal()",
            "XavierUniform()",
            "KaimingNormal()",
            "KaimingUniform()",
            "TruncatedNormal()",
            "TruncatedNormal(0.0, 1.0, a=-1.0, b=1.0)",
            "XavierNormal(fan_in=2, fan_out=3, gain=2.0)",
            "KaimingUniform(fan_in=3, negative_slope=0.1, nonlinearity='leaky_relu')",
        )
    ],
    "nn.Conv2D(2, 2, 3, weight_attr=nn.initializer.Dirac()).weight",
    "nn.Conv2DTranspose(2, 2, 4, weight_attr=nn.initializer.Bilinear()).weight",
    "w = nn.Linear(3, 3, weight_attr=nn.initializer.Orthogonal()).weight;; paddle.matmul(w, w, transpose_y=True).round()",
    "paddle.seed(1);; [nn.Linear(2, 2).weight, nn.Conv2D(2, 2, 2).weight, nn.Embedding(3, 2).weight, nn.LSTM(2, 2).parameters()[0]]",
    "nn.initializer.set_global_initializer(nn.initializer.Constant(0.5), nn.initializer.Constant(0.1));; l = nn.Linear(2, 2);; nn.initializer.set_global_initializer(None);; [l.weight, l.bias]",
]
