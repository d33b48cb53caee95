"""summary and flops: rows, totals, and that the network is left as it was."""

import pytest

import argosy
from argosy import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1D(4)
        self.frozen = nn.Linear(4, 2)
        self.unused = nn.Linear(9, 9)
        for p in self.frozen.parameters():
            p.stop_gradient = True

    def forward(self, x):
        return self.frozen(self.norm(self.first(self.first(x))))


def test_summary(capsys):
    with argosy.utils.unique_name.guard():
        net = Net()
    net.train()
    assert argosy.summary(net, (5, 4)) == {"total_params": 20 + 16 + 10, "trainable_params": 28}
    text = capsys.readouterr().out
    rows = [line.split() for line in text.splitlines()]
    assert ["Linear-1", "[[5,", "4]]", "[5,", "4]", "20"] in rows  # once, though it ran twice
    assert ["BatchNorm1D-1", "[[5,", "4]]", "[5,", "4]", "16"] in rows
    assert ["Linear-2", "[[5,", "4]]", "[5,", "2]", "10"] in rows
    assert "Linear-3" not in text
    assert text.splitlines()[:5] == [  # columns of at least 15, 20, 20 and 15
        "-" * 75,
        " Layer (type)       Input Shape          Output Shape         Param #    ",
        "=" * 75,
        "   Linear-1           [[5, 4]]              [5, 4]              20       ",
        " BatchNorm1D-1        [[5, 4]]              [5, 4]              16       ",
    ]
    assert "Total params: 46" in text and "Non-trainable params: 18" in text
    assert net.training and not net._forward_post_hooks


def test_summary_of_recurrent_layers(capsys):
    class Tagger(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding, self.rnn = nn.Embedding(5, 3), nn.GRU(3, 4, num_layers=2)

        def forward(self, x):
            return self.rnn(self.embedding(x))

    with argosy.utils.unique_name.guard():
        tagger, lstm = Tagger(), nn.LSTM(3, 4)
    size = sum(p.size for p in tagger.parameters())
    assert size == 15 + 228
    wanted = {"total_params": size, "trainable_params": size}
    assert argosy.summary(tagger, (2, 5), dtypes="int64") == wanted
    assert "     GRU-1          [[2, 5, 3]]      [[2, 5, 4], [2, 2, 4]]       228" in (
        capsys.readouterr().out
    )
    assert argosy.summary(lstm, (2, 5, 3)) == {"total_params": 144, "trainable_params": 144}
    assert capsys.readouterr().out.splitlines()[3] == (
        "    LSTM-1          [[2, 5, 3]]      [[2, 5, 4], [[1, 2, 4], [1, 2, 4]]]       144      "
    )


def test_summary_of_what_is_no_tensor(capsys):
    class Inner(nn.Layer):
        def forward(self, x, mask, names):
            return x, None

    class Outer(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x, None, [x, "a"])[0]

    argosy.summary(Outer(), (2, 3))
    assert "[[2, 3], None, [[2, 3], None]]" in capsys.readouterr().out


def test_summary_counts_parameters_and_no_buffers():
    net = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1D(2))
    net[0].register_buffer("index", argosy.arange(7))
    net.register_buffer("table", argosy.zeros([9]))
    assert argosy.summary(net, (1, 4)) == {"total_params": 10 + 8, "trainable_params": 14}


def test_inputs_of_summary():
    class Two(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 2), nn.Linear(3, 2)

        def forward(self, x, y):
            return self.a(x) + self.b(y)

    wanted = {"total_params": 18, "trainable_params": 18}
    assert argosy.summary(Two(), [(1, 4), (1, 3)]) == wanted

    class OneOfTwo(Two):
        def forward(self, both):
            x, y = both.values() if isinstance(both, dict) else both
            return super().forward(x, y)

    given = {"x": argosy.zeros([1, 4]), "y": argosy.zeros([1, 3])}
    assert argosy.summary(OneOfTwo(), input=given) == wanted
    assert argosy.summary(OneOfTwo(), input=list(given.values())) == wanted
    assert argosy.summary(OneOfTwo(), input=tuple(given.values())) == wanted
    linear = nn.Linear(4, 2)
    for size in ((None, 4), (-1, 4), [(2, 4)], (4,)):
        assert argosy.summary(linear, size)["total_params"] == 10
    assert argosy.summary(nn.Embedding(4, 2), (3,), dtypes="int64")["total_params"] == 8


@pytest.mark.parametrize(
    "size,error,text",
    [
        (None, ValueError, "neither input_size nor input"),
        ((0, 4), ValueError, "greater than zero, got 0"),
        ((1.5, 4), TypeError, "must be ints"),
        ("a", TypeError, "got str"),
    ],
)
def test_bad_sizes(size, error, text):
    with pytest.raises(error, match=text):
        argosy.summary(nn.Linear(4, 2), size)


# From Paddle 3.3.1.
TABLE = [
    (lambda: nn.Linear(64, 5), [2, 64], 640),
    (lambda: nn.Conv2D(3, 8, 3, padding=1), [2, 3, 16, 16], 114688),
    (lambda: nn.Conv1D(3, 8, 3, bias_attr=False), [2, 3, 16], 2016),
    (lambda: nn.Conv2D(4, 8, 3, groups=2), [1, 4, 8, 8], 5472),
    (lambda: nn.Conv2DTranspose(8, 4, 2, stride=2), [2, 8, 8, 8], 67584),
    (lambda: nn.BatchNorm2D(8), [2, 8, 16, 16], 8192),
    (lambda: nn.AvgPool2D(2), [2, 8, 16, 16], 1024),
    (lambda: nn.AdaptiveAvgPool2D(4), [2, 4, 16, 16], 2176),
    (lambda: nn.LeakyReLU(), [2, 4, 16, 16], 2048),
    (lambda: nn.ReLU(), [2, 4], 0),
]


@pytest.mark.parametrize("make,shape,wanted", TABLE)
def test_flops(make, shape, wanted):
    net = nn.Sequential(make())
    net.train()
    assert argosy.flops(net, shape) == wanted
    assert net.training and net[0].training


def test_rows_of_flops_are_in_the_order_of_the_layers(capsys):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.second, self.first, self.unused = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
            self.shared = nn.ReLU()

        def forward(self, x):
            return self.shared(self.second(self.shared(self.first(x))))

    net = Net()
    assert argosy.flops(net, [1, 4], print_detail=True) == 32
    lines = capsys.readouterr().out.splitlines()
    shown = [line.split()[1] for line in lines if line.startswith("| ")][1:]
    assert shown == [layer.full_name() for layer in (net.second, net.first, net.shared)]


def test_flops_of_ones_own(capsys):
    def count(layer, inputs, output):
        layer.total_ops += 7 * inputs[0].shape[0]

    net = nn.Sequential(nn.Linear(4, 2), nn.Softmax())
    assert argosy.flops(net, [3, 4], custom_ops={nn.Linear: count}, print_detail=True) == 21
    text = capsys.readouterr().out
    assert "Linear: counted by the given function." in text
    assert "Softmax: no rule to count it" in text
    assert "Total Flops: 21     Total Params: 10" in text
    assert "| Layer Name " in text
    with pytest.raises(TypeError, match="expected nn.Layer, got int"):
        argosy.flops(3, [1])
