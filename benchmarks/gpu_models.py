"""ResNet-50 and a GPT in Argosy and in PyTorch, with the same weights, and their training steps in bfloat16
mixed precision. Used by gpu.py."""

import torch

import argosy as p

F = p.nn.functional
TF = torch.nn.functional
WORDS = 50304


def steps_of(model, loss, optimizer, inputs, level="O1"):
    """(an eager training step, the same captured): functions without arguments that give the loss.
    Each call of one trains the model."""

    def of_model(*args):
        with p.amp.auto_cast(dtype="bfloat16", level=level):
            return loss(model(args[0]), args[1])

    def eager():
        value = of_model(*inputs)
        value.backward()
        optimizer.step()
        optimizer.clear_grad()
        return value

    compiled = p.jit.compile_step(of_model, None, optimizer)
    return eager, lambda: compiled(*inputs)


def their_step(model, loss, optimizer, inputs):
    def step():
        with torch.autocast("cuda", torch.bfloat16):
            value = loss(model(inputs[0]), inputs[1])
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return value.detach()

    return step


# --- ResNet-50 ---


class Bottleneck(torch.nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(width)
        self.conv2 = torch.nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(width)
        self.conv3 = torch.nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = torch.nn.BatchNorm2d(4 * width)
        self.downsample = None
        if stride > 1 or inputs != 4 * width:
            self.downsample = torch.nn.Sequential(
                torch.nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                torch.nn.BatchNorm2d(4 * width),
            )

    def forward(self, x):
        y = TF.relu(self.bn1(self.conv1(x)), inplace=True)
        y = TF.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        return TF.relu(y + (x if self.downsample is None else self.downsample(x)), inplace=True)


class ResNet50(torch.nn.Module):
    """Under the names of argosy.vision.models.resnet50."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(64)
        inputs = 64
        for i, (width, count) in enumerate(zip((64, 128, 256, 512), (3, 4, 6, 3)), 1):
            blocks = []
            for k in range(count):
                blocks.append(Bottleneck(inputs, width, 2 if k == 0 and i > 1 else 1))
                inputs = 4 * width
            setattr(self, f"layer{i}", torch.nn.Sequential(*blocks))
        self.fc = torch.nn.Linear(2048, 1000)

    def forward(self, x):
        x = TF.max_pool2d(TF.relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def copy_weights(ours, theirs):
    """Ours into theirs, by name; Linear keeps its weight the other way round."""
    linear = {n + ".weight" for n, m in theirs.named_modules() if isinstance(m, torch.nn.Linear)}
    found = {}
    for name, value in ours.state_dict().items():
        name = name.replace("._mean", ".running_mean").replace("._variance", ".running_var")
        array = torch.from_numpy(value.cpu().numpy().copy())
        found[name] = array.t() if name in linear else array
    missing, unexpected = theirs.load_state_dict(found, strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    assert not missing and not unexpected, f"weights differ: {missing[:3]}, {unexpected[:3]}"


def resnet_steps(x, y, tx, ty):
    """(eager, captured, theirs, theirs by torch.compile), from the same weights each; captured()
    and the last() make those steps."""

    def both(theirs=None):
        p.seed(11)
        model = p.vision.models.resnet50()
        if theirs is not None:
            copy_weights(model, theirs)
        optimizer = p.optimizer.Momentum(0.01, 0.9, parameters=model.parameters())
        return steps_of(model, F.cross_entropy, optimizer, (x, y))

    theirs = ResNet50().cuda().to(memory_format=torch.channels_last)
    eager = both(theirs)[0]

    def their(model):
        optimizer = torch.optim.SGD(theirs.parameters(), 0.01, 0.9)
        return their_step(model, TF.cross_entropy, optimizer, (tx, ty))

    return eager, lambda: both()[1], their(theirs), lambda: their(torch.compile(theirs))


# --- GPT ---


class Block(p.nn.Layer):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = p.nn.LayerNorm(size), p.nn.LayerNorm(size)
        self.qkv, self.out = p.nn.Linear(size, 3 * size), p.nn.Linear(size, size)
        self.up, self.down = p.nn.Linear(size, 4 * size), p.nn.Linear(4 * size, size)

    def forward(self, x):
        b, s, size = x.shape
        qkv = self.qkv(self.norm1(x)).reshape([b, s, 3, self.heads, size // self.heads])
        q, k, v = qkv.unbind(2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.reshape([b, s, size]))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate=True))


class Gpt(p.nn.Layer):
    def __init__(self, size=768, layers=12, heads=12, length=1024):
        super().__init__()
        self.words, self.places = p.nn.Embedding(WORDS, size), p.nn.Embedding(length, size)
        self.blocks = p.nn.LayerList([Block(size, heads) for _ in range(layers)])
        self.norm, self.head = p.nn.LayerNorm(size), p.nn.Linear(size, WORDS, bias_attr=False)

    def forward(self, ids):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class TheirBlock(torch.nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(size), torch.nn.LayerNorm(size)
        self.qkv, self.out = torch.nn.Linear(size, 3 * size), torch.nn.Linear(size, size)
        self.up, self.down = torch.nn.Linear(size, 4 * size), torch.nn.Linear(4 * size, size)

    def forward(self, x):
        b, s, size = x.shape
        qkv = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, size // self.heads)
        q, k, v = (t.transpose(1, 2) for t in qkv.unbind(2))
        y = TF.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, size))
        return x + self.down(TF.gelu(self.up(self.norm2(x)), approximate="tanh"))


class TheirGpt(torch.nn.Module):
    def __init__(self, size=768, layers=12, heads=12, length=1024):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, size)
        self.places = torch.nn.Embedding(length, size)
        self.blocks = torch.nn.ModuleList([TheirBlock(size, heads) for _ in range(layers)])
        self.norm, self.head = torch.nn.LayerNorm(size), torch.nn.Linear(size, WORDS, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def words_loss(logits, labels):
    return F.cross_entropy(logits.reshape([-1, WORDS]), labels.reshape([-1]))


def their_words_loss(logits, labels):
    return TF.cross_entropy(logits.view(-1, WORDS), labels.reshape(-1))


def their_gpt_step(model, tx, ty):
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    return their_step(model, their_words_loss, optimizer, (tx, ty))


def gpt_steps(x, y, tx, ty):
    """(eager, captured, theirs, theirs by torch.compile), from the same weights each; captured()
    and the last() make those steps."""

    def both(theirs=None):
        p.seed(11)
        model = Gpt()
        if theirs is not None:
            copy_weights(model, theirs)
        optimizer = p.optimizer.AdamW(1e-4, parameters=model.parameters())
        return steps_of(model, words_loss, optimizer, (x, y))

    theirs = TheirGpt().cuda()
    eager = both(theirs)[0]
    their = their_gpt_step(theirs, tx, ty)
    return eager, lambda: both()[1], their, lambda: their_gpt_step(torch.compile(theirs), tx, ty)


# --- a GPT of 1.3 billion parameters ---

LARGE = {"size": 2048, "layers": 24, "heads": 16, "length": 2048}


def large_gpt_steps(x, y, form):
    """(model, step, captured) in bfloat16 with float32 copies (O2): captured is the step of the same
    model and optimizer as one Program."""
    p.seed(11)
    model = Gpt(**form)
    optimizer = p.optimizer.AdamW(1e-4, parameters=model.parameters(), multi_precision=True)
    model, optimizer = p.amp.decorate(model, optimizer, level="O2", dtype="bfloat16")
    return model, *steps_of(model, words_loss, optimizer, (x, y), "O2")


def their_large_loss(model, form, tx, ty):
    """The loss of PyTorch's model with the memory of our weights."""
    with torch.device("meta"):
        theirs = TheirGpt(**form)
    linear = {n + ".weight" for n, m in theirs.named_modules() if isinstance(m, torch.nn.Linear)}
    weights = {
        name: torch.from_dlpack(value.detach()) for name, value in model.state_dict().items()
    }
    weights = {n: w.t() if n in linear else w for n, w in weights.items()}
    theirs.load_state_dict(weights, assign=True)
    with torch.no_grad(), torch.autocast(tx.device.type, torch.bfloat16):
        return float(their_words_loss(theirs(tx), ty))


def large_gpt_work(form, tokens):
    """FLOPs of a training step: 6 for each weight of a product and token, and those of causal
    attention, of which half the scores count."""
    size, layers, length = form["size"], form["layers"], form["length"]
    weights = 12 * layers * size * size + size * WORDS
    return (6 * weights + 6 * layers * size * length) * tokens
