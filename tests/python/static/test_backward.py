"""append_backward and gradients."""

import numpy as np
import pytest

import argosy
from argosy import nn, static


def run(fetches, **feed):
    return static.Executor().run(feed=feed, fetch_list=fetches)


def scalar(name, stop=False):
    x = static.data(name, [1], "float32")
    x.stop_gradient = stop
    return x


def one(value):
    return np.array([value], "float32")


def test_a_variable_written_twice():
    v = scalar("v")
    y = v * v
    argosy.assign(y, output=v)
    (g,) = static.gradients(y + v, v)
    assert run([g, v], v=one(3)) == [12, 9]


def test_a_parameter_written_by_assign(start):
    w = static.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(3.0))
    y = w * w
    argosy.assign(y, output=w)
    pairs = static.append_backward((y + w).sum())
    exe = start()
    assert exe.run(fetch_list=[pairs[0][1]])[0] == 12
    assert np.array(static.global_scope().find_var(w.name).get_tensor()) == 9


def test_second_and_third_order():
    x = scalar("x")
    y = x * x * x * x
    (g,) = static.gradients([y], [x])
    (gg,) = static.gradients([g], [x])
    (ggg,) = static.gradients(gg, x)
    assert run([g, gg, ggg], x=one(2)) == [32, 48, 48]
    assert g.name == "x@GRAD"


def test_gradient_penalty_trains(start):
    x = static.data("x", [None, 2], "float32")
    x.stop_gradient = False
    critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    (g,) = static.gradients(critic(x), x)
    penalty = ((g.square().sum(1).sqrt() - 1) ** 2).mean()
    argosy.optimizer.Adam(0.05).minimize(penalty)
    exe = start()
    data = np.random.default_rng(0).standard_normal((32, 2)).astype("float32")
    values = [exe.run(feed={"x": data}, fetch_list=[penalty])[0] for _ in range(40)]
    assert values[-1] < 0.2 * values[0]


def test_several_targets_and_weights():
    x, y = scalar("x"), scalar("y")
    a, b = x * y, x + 2 * y
    gx, gy = static.gradients([a, b], [x, y], [None, argosy.full([1], 10.0)])
    assert run([gx, gy], x=one(3), y=one(5)) == [5 + 10, 3 + 20]
    with pytest.raises(ValueError, match="same number"):
        static.gradients([a, b], [x], [None])
    with pytest.raises(ValueError, match="shapes"):
        static.gradients([a], [x], [argosy.full([1, 1], 1.0)])
    with pytest.raises(TypeError, match="expected Variables"):
        static.gradients(3, x)


def test_no_gradient():
    x, y = scalar("x"), scalar("y")
    middle = x * y
    assert static.gradients(x * 2, y) == [None]
    (g,) = static.gradients(middle * x, x, no_grad_set={middle})
    assert run([g], x=one(3), y=one(5)) == [15]
    frozen = middle.detach() * x
    (g,) = static.gradients(frozen, x)
    assert run([g], x=one(3), y=one(5)) == [15]


def test_no_gradient_of_what_is_to_have_none():
    x, y = scalar("x"), scalar("y")
    g, none = static.gradients(x * y, [x, y], no_grad_set={"y"})
    assert none is None
    assert run([g], x=one(3), y=one(5)) == [5]


def test_control_flow_gradients():
    x = scalar("x")
    y = static.nn.cond(x.sum() > 0, lambda: x * x, lambda: -x)
    i = argosy.full([1], 0, "int64")
    _, z = static.nn.while_loop(lambda i, z: i < 3, lambda i, z: [i + 1, z * x], [i, y])
    (g,) = static.gradients(z, x)
    assert run([z, g], x=one(2)) == [32, 80]
    assert run([z, g], x=one(-1)) == [-1, 4]


def test_append_backward_errors():
    x = static.data("x", [None, 3], "float32")
    y = static.nn.fc(x, 2)
    with pytest.raises(ValueError, match="one element"):
        static.append_backward(static.data("z", [3]))
    with pytest.raises(TypeError, match="expected a Variable"):
        static.append_backward(3)
    with pytest.raises(ValueError, match="no parameter 'nobody'"):
        static.append_backward(y.mean(), ["nobody"])
    with pytest.raises(RuntimeError, match="append_backward"):
        y.mean().backward()
    pairs = static.append_backward(y.mean(), no_grad_set={"fc_0.b_0"})
    assert [p.name for p, _ in pairs] == ["fc_0.w_0"]


def test_static_pylayer():
    x = scalar("x")
    y = static.nn.static_pylayer(lambda v: v * v, [x], lambda dy: dy * 7)
    (g,) = static.gradients(y * 2, x)
    plain = static.nn.static_pylayer(lambda v: v * v, [x])
    assert static.gradients(plain, x) == [None]
    assert run([y, g, plain], x=one(3)) == [9, 14, 9]
    with pytest.raises(TypeError, match="forward_fn"):
        static.nn.static_pylayer(3, [x])


@pytest.mark.parametrize("loop", [False, True])
def test_a_refused_gradient_leaves_the_program_as_it_was(loop):
    """Of an op in a branch or a loop: what comes next belongs to the Program, as forward."""
    x = static.data("x", [4, 2, 5], "float32")
    x.stop_gradient = False
    label = argosy.full([2, 2], 1, "int32")
    lengths = argosy.full([2], 4, "int64"), argosy.full([2], 2, "int64")

    def loss(v):
        return nn.functional.ctc_loss(v, label, *lengths)

    if loop:
        rounds = static.data("rounds", [1], "int32")
        _, total = static.nn.while_loop(
            lambda i, total: i < rounds,
            lambda i, total: [i + 1, total + loss(x * total)],
            [argosy.zeros([1], "int32"), argosy.ones([1])],
        )
    else:
        total = static.nn.cond(x.sum() > 0, lambda: loss(x), lambda: x.sum())
    (g,) = static.gradients(total, x)
    with pytest.raises(NotImplementedError, match="no second derivative"):
        static.gradients((g * g).sum(), x)
    y = static.nn.fc(
        x.sum([1, 2]).unsqueeze(0), 1, weight_attr=argosy.ParamAttr("w"), bias_attr=False
    )
    ops = static.default_main_program().clone(for_test=True).global_block().ops
    assert "w" in [name for o in ops for name in o.input_arg_names]
    exe = static.Executor()
    exe.run(static.default_startup_program())
    feed = {"x": np.ones([4, 2, 5], "float32")}
    if loop:
        feed["rounds"] = np.array([2], "int32")
    w, found = exe.run(feed=feed, fetch_list=["w", y])
    np.testing.assert_allclose(found, [10 * w.sum(0)], rtol=1e-5)
