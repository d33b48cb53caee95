"""paddle.incubate.asp: n of m neighbours are zero."""

import itertools

import numpy as np
import pytest

import argosy as paddle
from argosy.incubate import asp

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def forget():
    yield
    asp.reset_excluded_layers()


def largest_kept(row, n):
    """Sum of all but the n smallest sizes."""
    return np.sort(np.abs(row))[n:].sum()


@pytest.mark.parametrize("n, m", [(2, 4), (1, 2), (1, 4), (3, 4)])
@pytest.mark.parametrize("shape", [(8, 16), (5, 7), (1, 3), (3, 4)])
def test_rows_keep_their_largest_numbers(n, m, shape):
    x = RNG.standard_normal(shape)
    mask = asp.get_mask_1d(x, n, m)
    assert mask.shape == shape and set(np.unique(mask)) <= {0, 1}
    assert asp.check_mask_1d(x * mask, n, m)
    wide = np.pad(x, [(0, 0), (0, -shape[1] % m)])
    wanted = sum(largest_kept(r, n) for r in wide.reshape(-1, m))
    np.testing.assert_allclose(np.abs(x * mask).sum(), wanted)


@pytest.mark.parametrize("algorithm", [asp.get_mask_2d_greedy, asp.get_mask_2d_best])
@pytest.mark.parametrize("shape", [(8, 16), (5, 7), (1, 3), (4, 4)])
def test_blocks_keep_two_in_rows_and_columns(algorithm, shape):
    x = RNG.standard_normal(shape)
    mask = algorithm(x, 2, 4)
    assert mask.shape == shape and set(np.unique(mask)) <= {0, 1}
    wide = np.pad(mask, [(0, -shape[0] % 4), (0, -shape[1] % 4)])
    for i, j in itertools.product(range(0, wide.shape[0], 4), range(0, wide.shape[1], 4)):
        block = wide[i : i + 4, j : j + 4]
        assert block.sum(0).max() <= 2 and block.sum(1).max() <= 2
    assert asp.check_mask_2d(x * mask, 2, 4)


def test_the_best_mask_is_the_best_of_all():
    rows = [r for r in itertools.product([0, 1], repeat=4) if sum(r) == 2]
    masks = [np.array(p) for p in itertools.product(rows, repeat=4) if (np.sum(p, 0) <= 2).all()]
    assert len(masks) == 90
    for _ in range(20):
        x = RNG.standard_normal((4, 4))
        best = max(np.abs(x * mask).sum() for mask in masks)
        np.testing.assert_allclose(np.abs(x * asp.get_mask_2d_best(x, 2, 4)).sum(), best)


def greedy(x, n):
    """One block, number by number."""
    m = len(x)
    mask = np.zeros((m, m))
    for place in np.argsort(np.abs(x).reshape(-1))[::-1]:
        i, j = divmod(int(place), m)
        if mask[i].sum() < n and mask[:, j].sum() < n:
            mask[i, j] = 1
    return mask


@pytest.mark.parametrize("n, m", [(2, 4), (1, 4), (3, 5)])
def test_the_greedy_mask_takes_number_by_number(n, m):
    x = RNG.standard_normal((2 * m, 3 * m))
    mask = asp.get_mask_2d_greedy(x, n, m)
    for i, j in itertools.product(range(0, 2 * m, m), range(0, 3 * m, m)):
        assert (mask[i : i + m, j : j + m] == greedy(x[i : i + m, j : j + m], n)).all()


@pytest.mark.parametrize("shape", [(16,), (8, 16), (3, 5, 8), (3, 3, 8, 6)])
@pytest.mark.parametrize("algorithm", list(asp.MaskAlgo))
def test_masks_of_up_to_four_dimensions(shape, algorithm):
    x = RNG.standard_normal(shape).astype("float32")
    mask = asp.create_mask(x, algorithm)
    assert mask.shape == shape and mask.dtype == x.dtype
    assert asp.check_sparsity(x * mask, asp.CheckMethod.get_checking_method(algorithm))
    if len(shape) == 4:  # along the third axis
        first = asp.create_mask(x.transpose(0, 1, 3, 2).reshape(-1, 8), algorithm)
        assert (mask.transpose(0, 1, 3, 2).reshape(-1, 8) == first).all()


def test_checks_say_no():
    assert asp.check_mask_1d(np.array([[0, 1, 0, 4, 6], [1, 0, 0, 1, 7]]), 2, 4)
    assert not asp.check_mask_1d(np.array([[0, 1, 5, 4], [1, 0, 0, 1]]), 2, 4)
    assert not asp.check_mask_2d(np.ones((4, 4)), 2, 4)
    # Each row is fine, and that is enough.
    assert asp.check_mask_2d(np.array([[1, 1, 0, 0]] * 4), 2, 4)


def test_density():
    assert asp.calculate_density(np.array([[0, 1, 3, 0], [1, 1, 0, 1]])) == 0.625


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: asp.create_mask(np.ones(4), "mask_1d"), AssertionError, "expected a MaskAlgo"),
        (lambda: asp.check_sparsity(np.ones(4), "check"), AssertionError, "expected a CheckMethod"),
        (lambda: asp.create_mask(np.ones((1, 1, 1, 1, 4))), ValueError, "1 to 4 dimensions"),
        (lambda: asp.get_mask_1d(np.ones(4), 2, 4), AssertionError, "expected a matrix"),
        (lambda: asp.get_mask_2d_best(np.ones((8, 8)), 4, 8), ValueError, "MASK_2D_GREEDY"),
        (lambda: asp.prune_model(paddle.nn.Linear(4, 4), mask_algo="mask"), AssertionError, "mask_algo"),
        (lambda: asp.prune_model(3), TypeError, "expected a Layer or a Program"),
        (lambda: asp.prune_model(paddle.nn.Linear(4, 4)), AssertionError, "decorated optimizer"),
        (lambda: asp.add_supported_layer(3), TypeError, "expected a name or a Layer"),
    ],
)  # fmt: skip
def test_bad_arguments(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = paddle.nn.Conv2D(4, 8, 3)
        self.norm = paddle.nn.BatchNorm2D(8)
        self.head = paddle.nn.Sequential(paddle.nn.Linear(32, 16), paddle.nn.Linear(16, 3))

    def forward(self, x):
        return self.head(paddle.flatten(self.norm(self.conv(x)), 1))


def is_sparse(weight, algorithm="mask_1d"):
    method = asp.CheckMethod.CHECK_1D if algorithm == "mask_1d" else asp.CheckMethod.CHECK_2D
    return asp.check_sparsity(weight.T, method)


@pytest.mark.parametrize("algorithm", ["mask_1d", "mask_2d_greedy", "mask_2d_best"])
def test_pruned_weights_stay_pruned(algorithm):
    net = Net()
    optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), weight_decay=0.1)
    optimizer = asp.decorate(optimizer)
    before = net.head[0].weight.numpy()
    masks = asp.prune_model(net, mask_algo=algorithm)
    pruned = [net.conv.weight, net.head[0].weight, net.head[1].weight]
    assert {p.name for p in pruned} <= set(masks)
    assert (net.head[0].weight.numpy() == before * masks[net.head[0].weight.name]).all()
    for _ in range(3):
        net(paddle.randn([5, 4, 4, 4])).square().mean().backward()
        optimizer.step()
        optimizer.clear_grad()
        for weight in pruned:
            assert is_sparse(weight.numpy(), algorithm)
            assert asp.calculate_density(weight.numpy()) <= 0.5
    assert asp.calculate_density(net.norm.weight.numpy()) == 1
    assert (net.head[0].weight.numpy() != before * masks[net.head[0].weight.name]).any()


def test_minimize_masks_too():
    layer = paddle.nn.Linear(8, 8)
    optimizer = asp.decorate(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
    asp.prune_model(layer)
    loss = layer(paddle.randn([4, 8])).square().mean()
    loss.backward()
    optimizer.minimize(loss)
    assert asp.calculate_density(layer.weight.numpy()) == 0.5


def test_layers_are_excluded_and_included_again():
    net = Net()
    asp.set_excluded_layers([net.conv.full_name(), net.head[0].full_name()])
    asp.decorate(paddle.optimizer.SGD(0.1, parameters=net.parameters()))
    asp.prune_model(net)
    assert asp.calculate_density(net.conv.weight.numpy()) == 1
    assert asp.calculate_density(net.head[1].weight.numpy()) == 0.5
    asp.reset_excluded_layers()
    asp.decorate(paddle.optimizer.SGD(0.1, parameters=net.parameters()))
    asp.prune_model(net)
    assert asp.calculate_density(net.conv.weight.numpy()) == 0.5


def test_small_layers_stay_with_a_warning():
    layer = paddle.nn.Linear(3, 8)
    with pytest.warns(UserWarning, match="is not pruned"):
        asp.prune_model(layer, with_mask=False)
    assert asp.calculate_density(layer.weight.numpy()) == 1


def test_layers_and_pruning_of_ones_own():
    class OwnLayer(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([4, 4])

        def forward(self, x):
            return x @ self.w

    def all_but_the_first(weight, m, n, algorithm, name):
        assert (m, n, algorithm) == (4, 2, asp.MaskAlgo.MASK_1D) and name == layer.w.name
        mask = np.zeros_like(weight)
        mask[0] = 1
        return weight * mask, mask

    layer = OwnLayer()
    assert layer.w.name not in asp.prune_model(layer, with_mask=False)
    asp.add_supported_layer(OwnLayer, all_but_the_first)
    optimizer = asp.decorate(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
    asp.prune_model(layer)
    layer(paddle.ones([1, 4])).sum().backward()
    optimizer.step()
    assert not layer.w.numpy()[1:].any() and layer.w.numpy()[0].all()


def test_state_has_the_masks():
    layer = paddle.nn.Linear(8, 8)
    optimizer = asp.decorate(paddle.optimizer.Adam(0.1, parameters=layer.parameters()))
    asp.prune_model(layer)
    layer(paddle.ones([1, 8])).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()
    name = f"{layer.weight.name}.asp_mask"
    mask = state[name].numpy().copy()
    state[name] = paddle.to_tensor(1 - mask)
    optimizer.set_state_dict(state)
    optimizer.step()
    assert not (layer.weight.numpy() * mask).any()
    del state[name]
    with pytest.raises(AssertionError, match="asp_mask is missing"):
        optimizer.set_state_dict(state)


def test_other_methods_are_the_optimizers():
    layer = paddle.nn.Linear(8, 8)
    optimizer = asp.decorate(paddle.optimizer.SGD(0.25, parameters=layer.parameters()))
    assert optimizer.get_lr() == 0.25


def test_static_programs():
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 8], "float32")
            hidden = paddle.static.nn.fc(x, 16, activation="relu")
            out = paddle.static.nn.fc(hidden, 1)
            loss = paddle.mean(out * out)
            optimizer = asp.decorate(paddle.optimizer.Adam(0.01))
            optimizer.minimize(loss, startup)
        exe = paddle.static.Executor()
        with paddle.static.scope_guard(paddle.static.Scope()):
            with pytest.raises(AssertionError, match="has no mask"):
                asp.prune_model(_other_program())
            exe.run(startup)
            masks = asp.prune_model(main)
            assert len(masks) == 2
            scope = paddle.static.global_scope()
            for _ in range(3):
                exe.run(
                    main,
                    feed={"x": RNG.standard_normal((4, 8)).astype("float32")},
                    fetch_list=[loss],
                )
                for name in masks:
                    weight = np.array(scope.find_var(name).get_tensor())
                    assert is_sparse(weight) and asp.calculate_density(weight) == 0.5
        names = {p.name for p in asp.ASPHelper._get_not_ASP_relevant_vars(main)}
        assert not any("asp_mask" in name for name in names) and set(masks) <= names
    finally:
        paddle.disable_static()


def _other_program():
    """A Program whose optimizer is not decorated."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        paddle.static.nn.fc(paddle.static.data("x", [None, 8], "float32"), 4)
    return main
