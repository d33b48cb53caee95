"""More rows of `ops.py`: layers, losses, randomness, optimizers, and the cost of a call."""

from op_rows import row

NONE = ("", "")

# --- convolutions and pools ------------------------------------------------------------------------
IMAGE = "x=f(4,16,S,S); w=f(32,16,3,3); b=f(32)"
CONV = (8, 56)
row("conv2d", IMAGE, "F.conv2d(x, w, b, padding=1)", grad="x w b", sizes=CONV)
row("conv2d stride 2", IMAGE, "F.conv2d(x, w, b, 2, 1)", grad="x w b", sizes=CONV)
row("conv2d dilated", IMAGE, "F.conv2d(x, w, b, 1, 2, 2)", grad="x w b", sizes=CONV)
row("conv2d 1x1", "x=f(4,64,S,S); w=f(64,64,1,1)", "F.conv2d(x, w)", grad="x w", sizes=CONV)
row("conv2d 7x7", "x=f(4,3,S,S); w=f(32,3,7,7)", "F.conv2d(x, w, None, 2, 3)", grad="w", sizes=CONV)
row("conv2d depthwise", "x=f(4,64,S,S); w=f(64,1,3,3)",
    "F.conv2d(x, w, None, 1, 1, 1, 64)", grad="x w", sizes=CONV)  # fmt: skip
row("conv2d groups 4", "x=f(4,64,S,S); w=f(64,16,3,3)",
    "F.conv2d(x, w, None, 1, 1, 1, 4)", grad="x w", sizes=CONV)  # fmt: skip
row("conv2d one image", "x=f(1,3,S,S); w=f(8,3,3,3)", "F.conv2d(x, w)", sizes=(8, 224))
row("conv1d", "x=f(8,32,S); w=f(64,32,5)", "F.conv1d(x, w, None, 1, 2)", grad="x w",
    sizes=(16, 400))  # fmt: skip
row("conv3d", "x=f(2,8,S,S,S); w=f(16,8,3,3,3)", "F.conv3d(x, w, None, 1, 1)", grad="x w",
    sizes=(6, 24))  # fmt: skip
row("conv2d_transpose", "x=f(4,32,S,S); w=f(32,16,4,4)",
    "F.conv2d_transpose(x, w, None, 2, 1)", "F.conv_transpose2d(x, w, None, 2, 1)", grad="x w",
    sizes=(8, 28))  # fmt: skip
row("conv1d_transpose", "x=f(4,32,S); w=f(32,16,4)",
    "F.conv1d_transpose(x, w, None, 2, 1)", "F.conv_transpose1d(x, w, None, 2, 1)", grad="x w",
    sizes=(16, 400))  # fmt: skip
POOL = "x=f(8,16,S,S)"
row("max_pool2d", POOL, "F.max_pool2d(x, 2)", grad="x", sizes=CONV)
row("max_pool2d 3/2", POOL, "F.max_pool2d(x, 3, 2, 1)", grad="x", sizes=CONV)
row("avg_pool2d", POOL, "F.avg_pool2d(x, 2)", grad="x", sizes=CONV)
row("adaptive_avg_pool2d 1", POOL, "F.adaptive_avg_pool2d(x, 1)", grad="x", sizes=CONV)
row("adaptive_avg_pool2d 4", POOL, "F.adaptive_avg_pool2d(x, 4)", grad="x", sizes=CONV)
row("adaptive_max_pool2d 4", POOL, "F.adaptive_max_pool2d(x, 4)", grad="x", sizes=CONV)
row("max_pool1d", "x=f(8,64,S)", "F.max_pool1d(x, 2)", grad="x", sizes=(16, 1000))
row("avg_pool1d", "x=f(8,64,S)", "F.avg_pool1d(x, 2)", grad="x", sizes=(16, 1000))
row("max_pool3d", "x=f(2,8,S,S,S)", "F.max_pool3d(x, 2)", grad="x", sizes=(6, 24))
row("interpolate nearest", POOL, "F.interpolate(x, scale_factor=2)", grad="x", sizes=CONV)
row("interpolate bilinear", POOL, "F.interpolate(x, scale_factor=2, mode='bilinear')", grad="x",
    sizes=CONV)  # fmt: skip
row("interpolate bicubic", POOL, "F.interpolate(x, scale_factor=2, mode='bicubic')", sizes=CONV)
row("grid_sample", "x=f(4,8,S,S); g=f(4,S,S,2)", "F.grid_sample(x, g, align_corners=True)",
    grad="x g", sizes=CONV)  # fmt: skip
row("pixel_shuffle", "x=f(4,16,S,S)", "F.pixel_shuffle(x, 2)", grad="x", sizes=CONV)

# --- normalization ---------------------------------------------------------------------------------
NORM = POOL + "; w=f(16); b=f(16); m=f(16); v=pos(16)"
row("batch_norm", NORM, "F.batch_norm(x, m, v, w, b, training=True)", grad="x w b", sizes=CONV)
row("batch_norm eval", NORM, "F.batch_norm(x, m, v, w, b)", grad="x", sizes=CONV)
row("batch_norm 2-d", "x=f(S,64); w=f(64); b=f(64); m=f(64); v=pos(64)",
    "F.batch_norm(x, m, v, w, b, training=True)", grad="x w b")  # fmt: skip
row("layer_norm", "x=f(S,256); w=f(256); b=f(256)", "F.layer_norm(x, [256], w, b)", grad="x w b",
    sizes=(4, 4000))  # fmt: skip
row("group_norm", NORM, "F.group_norm(x, 4, 1e-5, w, b)", "F.group_norm(x, 4, w, b, 1e-5)",
    grad="x w b", sizes=CONV)  # fmt: skip
row("instance_norm", NORM, "F.instance_norm(x, weight=w, bias=b)", grad="x w b", sizes=CONV)
row("normalize", "x=f(S,S)", "F.normalize(x, axis=1)", "F.normalize(x, dim=1)", grad="x")
row("local_response_norm", POOL, "F.local_response_norm(x, 5)", sizes=CONV)
for function in ("softmax", "log_softmax"):
    row(function, "x=f(S,S)", f"F.{function}(x, -1)", grad="x")
    row(function + " 0", "x=f(S,S)", f"F.{function}(x, 0)", grad="x")
row("softmax narrow", "x=f(S*S,10)", "F.softmax(x, -1)", grad="x", sizes=(16, 300))

# --- losses ----------------------------------------------------------------------------------------
row("cross_entropy", "x=f(S,100); k=i(100,S)", "F.cross_entropy(x, k)", grad="x", sizes=(16, 5000))
row("cross_entropy smooth", "x=f(S,100); k=i(100,S)",
    "F.cross_entropy(x, k, label_smoothing=0.1)", grad="x", sizes=(16, 5000))  # fmt: skip
row("cross_entropy wide", "x=f(S,10000); k=i(10000,S)", "F.cross_entropy(x, k)", grad="x",
    sizes=(4, 64))  # fmt: skip
row("cross_entropy soft", "x=f(S,100); k=uniform(S,100)", "F.cross_entropy(x, k, soft_label=True)",
    "F.cross_entropy(x, k)", grad="x", sizes=(16, 5000))  # fmt: skip
row("nll_loss", "x=f(S,100); k=i(100,S)", "F.nll_loss(x, k)", grad="x", sizes=(16, 5000))
for loss in ("mse_loss", "l1_loss", "smooth_l1_loss"):
    row(loss, "x=f(S,S); y=f(S,S)", f"F.{loss}(x, y)", grad="x")
row("kl_div", "x=f(S,S); y=uniform(S,S)", "F.kl_div(x, y)", check=False, grad="x")
row("bce", "x=uniform(S,S); y=uniform(S,S)", "F.binary_cross_entropy(x, y)", grad="x")
row("bce logits", "x=f(S,S); y=uniform(S,S)", "F.binary_cross_entropy_with_logits(x, y)", grad="x")
row("cosine_embedding", "x=f(S,S); y=f(S,S); k=i(2,S)*2-1", "F.cosine_embedding_loss(x, y, k)",
    grad="x y")  # fmt: skip
row("triplet", "x=f(S,64); y=f(S,64); z=f(S,64)", "F.triplet_margin_loss(x, y, z)", grad="x")

# --- embeddings, attention, recurrence -------------------------------------------------------------
row("embedding", "k=i(1000,S,S); w=f(1000,64)", "F.embedding(k, w)", grad="w", sizes=(8, 100))
row("dropout", "x=f(S,S)", "F.dropout(x, 0.3)", grad="x", check=False)
row("attention", "x=f(2,S,4,32); y=f(2,S,4,32); z=f(2,S,4,32)",
    "F.scaled_dot_product_attention(x, y, z)",
    "F.scaled_dot_product_attention(x.transpose(1, 2), y.transpose(1, 2), z.transpose(1, 2))"
    ".transpose(1, 2)", grad="x y z", sizes=(8, 256))  # fmt: skip
row("attention causal", "x=f(2,S,4,32); y=f(2,S,4,32); z=f(2,S,4,32)",
    "F.scaled_dot_product_attention(x, y, z, is_causal=True)",
    "F.scaled_dot_product_attention(x.transpose(1, 2), y.transpose(1, 2), z.transpose(1, 2),"
    " is_causal=True).transpose(1, 2)", grad="x y z", sizes=(8, 256))  # fmt: skip
for kind, torch_kind in (("LSTM", "LSTM"), ("GRU", "GRU"), ("SimpleRNN", "RNN")):
    row(kind, "x=f(8,S,32)", "L(x)", grad="L x", check=False, sizes=(4, 100),
        setup=(f"L = nn.{kind}(32, 64)", f"L = nn.{torch_kind}(32, 64, batch_first=True)"))  # fmt: skip
row("LSTM 2 both", "x=f(8,S,32)", "L(x)", grad="L x", check=False, sizes=(4, 50),
    setup=("L = nn.LSTM(32, 64, 2, direction='bidirect')",
           "L = nn.LSTM(32, 64, 2, batch_first=True, bidirectional=True)"))  # fmt: skip
row(
    "LSTMCell",
    "x=f(S,32)",
    "L(x)",
    check=False,
    sizes=(4, 256),
    setup=("L = nn.LSTMCell(32, 64)",) * 2,
)
row(
    "GRUCell",
    "x=f(S,32)",
    "L(x)",
    check=False,
    sizes=(4, 256),
    setup=("L = nn.GRUCell(32, 64)",) * 2,
)
ENCODER = ("L = nn.TransformerEncoderLayer(64, 4, 128, 0.0)",
           "L = nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)")  # fmt: skip
row("encoder layer", "x=f(4,S,64)", "L(x)", grad="L", check=False, sizes=(4, 128), setup=ENCODER)

# --- randomness ------------------------------------------------------------------------------------
row("rand", "", "p.rand([S, S])", check=False)
row("randn", "", "p.randn([S, S])", check=False)
row("randint", "", "p.randint(0, 100, [S, S])", check=False)
row("randperm", "", "p.randperm(S * S)", check=False)
row("normal", "", "p.normal(1.0, 2.0, [S, S])", "t.normal(1.0, 2.0, [S, S])", check=False)
row("uniform_", "x=f(S,S)", "x.uniform_(-1, 1)", check=False)
row("bernoulli", "x=uniform(S,S)", "p.bernoulli(x)", check=False)
row("multinomial", "x=uniform(S,S)", "p.multinomial(x, 5, True)", check=False)
row("multinomial apart", "x=uniform(S,S)", "p.multinomial(x, 5)", check=False)
row("poisson", "x=pos(S,S)", "p.poisson(x)", check=False, sizes=(16, 300))
row("exponential_", "x=f(S,S)", "x.exponential_()", check=False)
row("gumbel_softmax", "x=f(S,S)", "F.gumbel_softmax(x)", check=False)

# --- transforms ------------------------------------------------------------------------------------
row("rfft", "x=f(S,S)", "p.fft.rfft(x)", sizes=(16, 1024))
row("fft", "x=f(S,S)", "p.fft.fft(x)", sizes=(16, 1000))
row("fft2", "x=f(S,S)", "p.fft.fft2(x)", sizes=(16, 512))
row("irfft", "x=f(S,S)", "p.fft.irfft(p.fft.rfft(x))", sizes=(16, 1024))

# --- optimizers ------------------------------------------------------------------------------------
PARAMETERS = """
layers = nn.LayerList([nn.Linear(S, S) for _ in range(20)])
ps = layers.parameters()
sum([(w * w).sum() for w in ps]).backward()
"""
TORCH_PARAMETERS = """
layers = nn.ModuleList([nn.Linear(S, S) for _ in range(20)])
ps = list(layers.parameters())
sum([(w * w).sum() for w in ps]).backward()
"""


def optimizer_row(name, paddle, torch):
    setup = (
        PARAMETERS + f"opt = p.optimizer.{paddle}",
        TORCH_PARAMETERS + f"opt = t.optim.{torch}",
    )
    row(f"{name} 40 parameters", "", "opt.step()", setup=setup, check=False, sizes=(16, 256))


optimizer_row("SGD", "SGD(0.001, ps)", "SGD(ps, 0.001)")
optimizer_row("Momentum", "Momentum(0.001, 0.9, ps)", "SGD(ps, 0.001, 0.9)")
optimizer_row("Adam", "Adam(0.001, parameters=ps)", "Adam(ps, 0.001)")
optimizer_row("AdamW", "AdamW(0.001, parameters=ps)", "AdamW(ps, 0.001)")
optimizer_row("Adagrad", "Adagrad(0.001, parameters=ps)", "Adagrad(ps, 0.001)")
optimizer_row("RMSProp", "RMSProp(0.001, parameters=ps)", "RMSprop(ps, 0.001)")
row("clear_grad", "", "opt.clear_grad(False)", "opt.zero_grad(True)", check=False, sizes=(16,),
    setup=(PARAMETERS + "opt = p.optimizer.SGD(0.001, ps)",
           TORCH_PARAMETERS + "opt = t.optim.SGD(ps, 0.001)"))  # fmt: skip
row("clip_grad_norm_", "", "nn.utils.clip_grad_norm_(ps, 1.0)", check=False, sizes=(16, 256),
    setup=(PARAMETERS, TORCH_PARAMETERS))  # fmt: skip

# --- what a call costs -----------------------------------------------------------------------------
TINY = (4,)
row("call x + y", "x=f(S); y=f(S)", "x + y", grad="x y", sizes=TINY)
row("call keyword", "x=f(S,S)", "x.sum(axis=1, keepdim=True)", sizes=TINY)
row("call axis list", "x=f(S,S)", "p.sum(x, axis=[0, 1])", sizes=TINY)
row("call transpose", "x=f(S,S)", "x.transpose([1, 0])", "x.permute([1, 0])", sizes=TINY)
row("call x[mask]", "x=f(S); c=b(0.5,S)", "x[c]", sizes=TINY)
row("call x[list]", "x=f(S)", "x[[0, 2]]", sizes=TINY)
row("call x[i, j]", "x=f(S,S)", "x[1, 2]", sizes=TINY)
row("call x[..., 1]", "x=f(S,S)", "x[..., 1]", sizes=TINY)
row("call x[1:3, :2]", "x=f(S,S)", "x[1:3, :2]", sizes=TINY)
row("call x[::2]", "x=f(S,S)", "x[::2]", sizes=TINY)
row("call x[i] = v", "x=f(S,S)", "x.__setitem__(1, 2.0)", check=False, sizes=TINY)
row("call concat", "x=f(S)", "p.concat([x, x, x])", "t.cat([x, x, x])", sizes=TINY)
row("call stack", "x=f(S)", "p.stack([x, x, x], axis=0)", sizes=TINY)
row("call reshape", "x=f(S,S)", "x.reshape([2, -1])", sizes=TINY)
row("call unsqueeze", "x=f(S,S)", "x.unsqueeze(-1)", sizes=TINY)
row("call split", "x=f(S,S)", "x.split(2, axis=0)", "x.split(2, dim=0)", sizes=TINY)
row("call where", "x=f(S,S); c=b(0.5,S,S)", "p.where(c, x, x)", sizes=TINY)
row("call full", "", "p.full([S], 1.0)", sizes=TINY)
row("call arange", "", "p.arange(0, S)", sizes=TINY)
row("call to_tensor list", "", "p.to_tensor([1.0, 2.0])", "t.tensor([1.0, 2.0])", sizes=TINY)
row("call to_tensor number", "", "p.to_tensor(1.0)", "t.tensor(1.0)", sizes=TINY)
row("call to_tensor array", "", "p.to_tensor(a)", "t.tensor(a)", sizes=TINY,
    setup=("a = np.ones(4, np.float32)",) * 2)  # fmt: skip
row("call item", "x=f(1)", "x.item()", sizes=TINY)
row("call float", "x=f(1)", "float(x)", sizes=TINY)
row("call bool", "x=f(1)", "bool(x > 0)", sizes=TINY)
row("call numpy", "x=f(S)", "x.numpy()", sizes=TINY)
row("call tolist", "x=f(S,S)", "x.tolist()", sizes=TINY)
row("call shape", "x=f(S,S)", "list(x.shape)", sizes=TINY)
row("call len", "x=f(S,S)", "len(x)", sizes=TINY)
row("call dtype", "x=f(S,S)", "x.dtype == p.float32", check=False, sizes=TINY)
row("call detach", "x=f(S,S)", "x.detach()", sizes=TINY)
row("call astype", "x=f(S,S)", "x.astype('float64')", "x.to(t.float64)", sizes=TINY)
row("call cast same", "x=f(S,S)", "x.astype('float32')", "x.to(t.float32)", sizes=TINY)
row("call clip", "x=f(S)", "x.clip(min=0.0, max=1.0)", sizes=TINY)
row("call softmax", "x=f(S)", "F.softmax(x, axis=-1)", "F.softmax(x, dim=-1)", sizes=TINY)
row("call linear", "x=f(S,S); w=f(S,S); b=f(S)", "F.linear(x, w, b)", "F.linear(x, w, b)",
    grad="w b", check=False, sizes=TINY)  # fmt: skip
row("call Linear", "x=f(S,S)", "L(x)", grad="L", check=False, sizes=TINY,
    setup=("L = nn.Linear(S, S)",) * 2)  # fmt: skip
row("call ReLU", "x=f(S,S)", "L(x)", sizes=TINY, setup=("L = nn.ReLU()",) * 2)
row("call Dropout eval", "x=f(S,S)", "L(x)", sizes=TINY,
    setup=("L = nn.Dropout(0.5); L.eval()",) * 2)  # fmt: skip
row("call LayerNorm", "x=f(S,S)", "L(x)", sizes=TINY, setup=("L = nn.LayerNorm(S)",) * 2)
row("call Embedding", "k=i(9,S)", "L(k)", check=False, sizes=TINY,
    setup=("L = nn.Embedding(9, 4)",) * 2)  # fmt: skip
row("call Sequential", "x=f(S,S)", "L(x)", grad="L", check=False, sizes=TINY,
    setup=("L = nn.Sequential(nn.Linear(S, S), nn.ReLU(), nn.Linear(S, S))",) * 2)  # fmt: skip
row("call no_grad", "", "run()", check=False, sizes=TINY,
    setup=("def run():\n  with p.no_grad():\n    pass", "def run():\n  with t.no_grad():\n    pass"))  # fmt: skip
row("call state_dict", "", "L.state_dict()", check=False, sizes=TINY,
    setup=("L = nn.Linear(S, S)",) * 2)  # fmt: skip
row("call mean backward", "x=f(S,S); w=f(S,S)", "((x * w) ** 2).mean()", grad="w", sizes=TINY)
LOADER = """
from {0}.utils.data import DataLoader
class Data({1}):
    def __len__(self): return 320
    def __getitem__(self, i): return np.full(8, i, np.float32), i
def run():
    for batch in DataLoader(Data(), batch_size=32): pass
"""
LOADER_PADDLE = """
class Data(p.io.Dataset):
    def __len__(self): return 320
    def __getitem__(self, i): return np.full(8, i, np.float32), i
def run():
    for batch in p.io.DataLoader(Data(), batch_size=32): pass
"""
row("call DataLoader", "", "run()", check=False, sizes=TINY,
    setup=(LOADER_PADDLE, LOADER.format("torch", "object")))  # fmt: skip
