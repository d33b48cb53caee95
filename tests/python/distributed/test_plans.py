"""Models that are divided by plans, on a grid of one process, where all stays whole."""

import numpy as np
import pytest

import argosy
import argosy.distributed as dist
from argosy import nn

MESH = dist.ProcessMesh([[0]], dim_names=["dp", "mp"])
WHOLE = [dist.Replicate(), dist.Replicate()]


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(self.down(self.up(self.table(x))))


def divided(plans, model=None):
    model = Net() if model is None else model
    return dist.parallelize(model, None, MESH, {"mp_config": {"parallelize_plan": plans}})[0]


def along(place):
    return [dist.Replicate(), dist.Shard(place)]


def test_parameters_are_placed_and_the_model_trains():
    argosy.seed(1)
    model, same = Net(), Net()
    same.set_state_dict(model.state_dict())
    x = argosy.to_tensor([[1, 2, 3]])
    adam = argosy.optimizer.AdamW(0.1, parameters=model.parameters())
    other = argosy.optimizer.AdamW(0.1, parameters=same.parameters())
    plans = {
        "table": dist.RowWiseParallel(),
        "u.": dist.ColWiseParallel(),
        "down.weight": dist.RowWiseParallel(),
    }
    config = {"dp_config": {"sharding_level": 1}, "mp_config": {"parallelize_plan": plans}}
    got, optimizer = dist.parallelize(model, adam, MESH, config)
    assert got is model and optimizer is adam and dist.get_mesh() == MESH
    placed = {name: weight.placements for name, weight in model.named_parameters()}
    assert placed == {
        "table.weight": along(0), "up.weight": along(1), "up.bias": along(0), "down.weight": along(0),
        "down.bias": WHOLE, "norm.weight": WHOLE, "norm.bias": WHOLE,
    }  # fmt: skip
    for net, steps in ((model, optimizer), (same, other)):
        net(x).square().mean().backward()
        steps.step()
    for a, b in zip(model.parameters(), same.parameters()):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize(
    "plan,shape,placements",
    [
        (dist.SequenceParallelBegin(), [3, 2, 8], along(0)),
        (dist.SequenceParallelBegin(False), [2, 3, 8], along(0)),
        (dist.SequenceParallelEnd(), [3, 2, 8], None),
        (dist.SequenceParallelEnable(), [2, 3, 8], WHOLE),
        (dist.SequenceParallelDisable(), [2, 3, 8], along(0)),
        (dist.SequenceParallelDisable(False), [2, 3, 8], along(0)),
        (dist.ColWiseParallel(gather_output=True), [2, 3, 8], WHOLE),
        (dist.RowWiseParallel(is_input_parallel=False), [2, 3, 8], None),
        (dist.PrepareContextParallel(), [2, 3, 8], None),
        (dist.ContextParallel("all2all"), [2, 3, 8], None),
    ],
)
def test_sequences(plan, shape, placements):
    model = nn.Sequential(nn.Linear(4, 8))
    x = argosy.rand([2, 3, 4])
    want = model(x).numpy()
    seen = []
    model[0].register_forward_post_hook(lambda layer, inputs, output: seen.append(inputs[0].shape))
    y = divided({"0": plan}, model)(x)
    assert list(y.shape) == shape and y.placements == placements
    np.testing.assert_allclose(
        y.numpy(), want if list(y.shape) == [2, 3, 8] else want.transpose(1, 0, 2), rtol=1e-6
    )
    turned = isinstance(plan, (dist.SequenceParallelEnd, dist.SequenceParallelEnable)) or (
        isinstance(plan, dist.SequenceParallelDisable) and plan.need_transpose
    )
    assert list(seen[-1]) == ([3, 2, 4] if turned else [2, 3, 4])


def test_a_batch_that_is_divided_leaves_sequences_their_axis():
    x = dist.shard_tensor(argosy.rand([2, 3, 4]), MESH, [dist.Shard(0), dist.Replicate()])
    hook = dist.SequenceParallelBegin(False).sequence_parallel_begin(MESH)
    y, rest = hook(None, None, (x, "rest"))
    assert y.placements == [dist.Shard(0), dist.Shard(1)] and rest == "rest"
    with pytest.raises(ValueError, match=r"sequences are \[b, s, h\].*got \[2, 3\].*Do this"):
        hook(None, None, argosy.ones([2, 3]))


@pytest.mark.parametrize(
    "plan",
    [
        dist.PrepareLayerInput(lambda process_mesh: lambda layer, inputs: inputs),
        dist.PrepareLayerOutput(lambda process_mesh: lambda layer, inputs, output: output),
        dist.SequenceParallelBegin(),
        dist.ConvParallel(),
        dist.ContextParallel(),
    ],
)
def test_plans_that_divide_no_parameters_take_none(plan):
    layer = nn.Conv2D(1, 1, 1)
    with pytest.raises(
        ValueError, match=r"shard_param_list: expected none.*got \['weight'\]. Do this"
    ):
        plan.apply(layer, MESH, ["weight"])
    plan.apply(layer, MESH, [])


def test_context_plans_refuse_grids_of_several_processes():
    mesh = dist.ProcessMesh([0, 1], ["sep"])
    with pytest.raises(NotImplementedError, match=r"\[ContextParallel\] .*got one of 2. Do this"):
        dist.ContextParallel().apply(nn.Linear(2, 2), mesh, [])


def test_hooks_of_plans():
    def before(process_mesh):
        return lambda layer, inputs: (inputs[0] * len(process_mesh.dim_names),)

    def behind(process_mesh):
        return lambda layer, inputs, output: output + process_mesh.size

    model = nn.Sequential(nn.Identity(), nn.Identity())
    plans = {
        "0": [dist.PrepareLayerInput(before), dist.PrepareLayerOutput(behind)],
        "nobody": dist.ColWiseParallel(),
    }
    with pytest.warns(UserWarning, match="names of plans: nobody. Do this: correct them"):
        model = divided(plans, model)
    assert model(argosy.ones([1])).tolist() == [3.0]
    for plan in (dist.PrepareLayerInput, dist.PrepareLayerOutput):
        with pytest.raises(
            AssertionError, match="fn: expected a function of process_mesh.*got NoneType"
        ):
            plan()


def test_images():
    model = nn.Sequential(nn.Conv2D(2, 3, 3, padding=1))
    seen = []
    divided({"0": dist.ConvParallel()}, model)
    model[0].register_forward_post_hook(
        lambda layer, inputs, output: seen.append(inputs[0].placements)
    )
    assert model(argosy.ones([1, 2, 4, 4])).shape == [1, 3, 4, 4] and seen == [along(3)]
    with pytest.raises(TypeError, match="expected a Conv2D, got Linear"):
        divided({"up": dist.ConvParallel()})
    with pytest.raises(ValueError, match="data_format: expected one of NCHW, NHWC, got 'NCL'"):
        dist.ConvParallel().conv_parallel_start(MESH, "NCL")


def test_what_cannot_be_divided_is_named():
    net, plan = Net(), {"mp_config": {"parallelize_plan": {"up": dist.ColWiseParallel()}}}
    with pytest.raises(NotImplementedError, match="expected a mesh of one, got one of 2"):
        dist.parallelize(net, None, dist.ProcessMesh([0, 1], ["mp"]), plan)
    with pytest.raises(AssertionError, match="mp_config needs an axis 'mp', got .'x'."):
        dist.parallelize(net, None, dist.ProcessMesh([0], ["x"]), plan)
    with pytest.raises(AssertionError, match="pp_config needs an axis 'pp'"):
        dist.parallelize(net, None, MESH, {"pp_config": {"split_spec": "up"}})
    with pytest.raises(
        AssertionError, match=r"parallelize_plan\['up'\]: expected PlanBase, got int"
    ):
        divided({"up": 3})
    with pytest.raises(ValueError, match="config: expected one of dp_config.*got 'tp_config'"):
        dist.parallelize(net, None, MESH, {"tp_config": {}})
    with pytest.raises(ValueError, match="sharding_level: expected one of"):
        dist.parallelize(net, None, MESH, {"dp_config": {"sharding_level": 4}})
    with pytest.raises(ValueError, match="expected one with an axis 'mp', got .'x'."):
        dist.ColWiseParallel().apply(net.up, dist.ProcessMesh([0], ["x"]), [])
    with pytest.raises(
        ValueError, match=r"weight: expected a parameter of 2 dimensions, got \[4\]"
    ):
        divided({"norm": dist.RowWiseParallel()})
    with pytest.raises(ValueError, match="backend: expected one of p2p, all2all, got 'tcp'"):
        dist.ContextParallel("tcp")
    with pytest.warns(UserWarning, match="nothing is divided, as config is None"):
        assert dist.parallelize(net) == (net, None)
    with pytest.raises(NotImplementedError, match="device_num is not supported: expected 1, got 8"):
        dist.to_distributed(net, None, None, 8)
    with pytest.raises(AssertionError, match="scaler: expected a GradScaler, got int"):
        dist.shard_scaler(3)
    with pytest.raises(NotImplementedError, match="expected a mesh of one, got one of 2"):
        dist.ShardingStage2("x", dist.ProcessMesh([0, 1], ["x"]))


def test_functions_and_layers_of_parts():
    leaf = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
    x = dist.shard_tensor(leaf, MESH, WHOLE)
    double = dist.local_map(lambda a, b: (a * b, b), [WHOLE, None], [WHOLE, None])
    y, two = double(x, 2)
    assert y.placements == WHOLE and y.tolist() == [2.0, 4.0] and two == 2
    y.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]
    other = dist.local_map(lambda a: a, [WHOLE], [along(0)])
    with pytest.raises(
        ValueError, match="in_placements: expected .*Shard.*, got a tensor placed as"
    ):
        other(x)
    assert dist.local_map(lambda a: a, [along(0)], [along(0)], reshard_inputs=True)(
        x
    ).placements == along(0)
    with pytest.raises(
        AssertionError, match="process_mesh: expected a ProcessMesh, as no argument"
    ):
        dist.local_map(lambda a: a, [WHOLE])(argosy.ones([2]))
    assert dist.local_map(lambda a: a, [WHOLE], process_mesh=MESH)(argosy.ones([2])).is_dist()

    class Sum(dist.LocalLayer):
        def __init__(self):
            super().__init__([(MESH, WHOLE)], [None])

        def forward(self, x):
            assert not x.is_dist()
            return x.sum()

    assert Sum()(x).is_dist() and float(Sum()(x)) == 3
    with pytest.raises(AssertionError, match="expected 1 tensors, as many as placements, got 2"):
        Sum()(x, x)


def test_parts_of_grids_and_placements():
    grid = dist.ProcessMesh([[1, 0], [2, 3]], ["a", "b"])
    assert grid.get_submesh_with_dim("a").process_ids == [0, 3]
    assert grid.get_submesh_with_dim("b").process_ids == [1, 0]
    same = dist.ProcessMesh([[1, 0], [2, 3]], ["a", "b"])
    assert grid.unique_id == same.unique_id != MESH.unique_id
    with pytest.raises(AssertionError, match=r"dim_name: expected one of \['a', 'b'\], got 'c'"):
        grid.get_submesh_with_dim("c")
    with pytest.raises(AssertionError, match=r"process 0 is none of \[5\]"):
        dist.ProcessMesh([5]).get_submesh_with_dim("d0")
    group = MESH.get_group("mp")
    assert group.ranks == [0] and MESH.get_group("dp") is group
    with pytest.raises(AssertionError, match="dim_name: expected one of .*got None"):
        MESH.get_group()
    shard = dist.Shard(1)
    assert (shard.get_split_factor(), shard.get_co_shard_order()) == (1, 0)
    shard.set_split_factor(3)
    assert repr(shard) == "Shard(dim=1, split_factor=3)" and shard != dist.Shard(1)
    attr = dist.DistAttr(MESH, ["mp", None])
    assert attr.sharding_specs == ["mp", None] and attr.dims_mapping == [1, -1]
    with pytest.raises(ValueError, match="expected names of .*, got 'x'"):
        dist.DistAttr(MESH, ["x"])
    with pytest.raises(ValueError, match="mesh: expected a ProcessMesh, got NoneType"):
        dist.DistAttr(None, [])
    with pytest.raises(ValueError, match="sharding_specs: expected a list, got NoneType"):
        dist.DistAttr(MESH, None)
    with pytest.raises(AssertionError, match="expected names of axes or None, got 0"):
        dist.DistAttr(MESH, [0])


def test_state_says_where_in_the_whole_it_lies():
    part = dist.shard_weight("w", argosy.ones([2, 3]), 1, dist.Group(2, 9, [4, 5, 6, 7]))
    assert (part.local_shape, part.global_shape, part.global_offset) == ((2, 3), (2, 12), (0, 6))
    assert "global_shape=(2, 12)" in str(part) and "key=w" in str(part)
    with pytest.raises(
        ValueError, match="axis: expected one of 2 axes of the tensor, from 0 on, got 2"
    ):
        dist.shard_weight("w", argosy.ones([2, 3]), 2, dist.Group(0, 9, [0]))
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1D(3))
    state = net.sharded_state_dict("net.")
    assert set(state) == {f"net.{name}" for name in net.state_dict()}
    assert state["net.0.weight"].local_tensor is net[0].weight
    ruled = dist.build_sharded_state_dict({"w": argosy.ones([4])}, {"w": 0}, "x.")
    assert ruled["x.w"].global_shape == (4,)
    full = list(net.full())
    assert [name for name, _ in full] == sorted(net.state_dict())
    halves = [list(net.full(num_splits=2, shard_idx=i)) for i in (0, 1)]
    assert [name for half in halves for name, _ in half] == [name for name, _ in full]
    with pytest.raises(NotImplementedError, match="aoa_config is not supported"):
        net.full({"a": []})

    linear = nn.Linear(2, 3)
    adam = argosy.optimizer.AdamW(parameters=linear.parameters())
    assert adam.sharded_state_dict(linear.sharded_state_dict()) == {}
    linear(argosy.ones([1, 2])).sum().backward()
    adam.step()
    state = adam.sharded_state_dict(linear.sharded_state_dict("fc."))
    assert {name: part.global_shape for name, part in state.items()} == {
        f"fc.{name}.{kind}_0": shape if kind[:6] == "moment" else (1,)
        for name, shape in (("weight", (2, 3)), ("bias", (3,)))
        for kind in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    }


def test_groups_that_hold_nothing_of_a_gpu():
    assert (
        dist.shutdown_process_group()
        is dist.restart_process_group()
        is dist.create_nccl_config()
        is None
    )
    with pytest.raises(TypeError, match="group: expected Group, got int"):
        dist.shutdown_process_group(3)
    with pytest.raises(TypeError, match="group: expected Group, got int"):
        dist.restart_process_group(3)


def test_a_config_that_is_refused_changes_nothing():
    model, before = argosy.nn.Sequential(argosy.nn.Linear(2, 2)), dist.get_mesh()
    plans = {"parallelize_plan": {"0": dist.ColWiseParallel()}}
    refused = [
        ({"mp_config": plans, "dp_config": {"sharding_level": 7}}, "sharding_level: expected one of"),
        ({"mp_config": {**plans, "plan": {}}}, "mp_config. unknown arguments: .* got plan"),
        ({"mp_config": {"parallelize_plan": {"a(": dist.ColWiseParallel()}}}, "no regular expression"),
        ({"mp_config": plans, "dp_config": {"sharding_mesh_dim": "x"}}, "needs an axis 'x'"),
    ]  # fmt: skip
    mesh = dist.ProcessMesh([[0]], ["dp", "mp"])
    for config, text in refused:
        with pytest.raises((ValueError, AssertionError), match=text):
            dist.parallelize(model, None, mesh, config)
        assert dist.get_mesh() is before and not model[0].weight.is_dist()


def test_parts_of_a_state_that_there_are_not():
    with pytest.raises(ValueError, match="shard_idx: expected one from 0 .* got 2 of 2"):
        argosy.nn.Linear(2, 2).full(num_splits=2, shard_idx=2)


def test_a_plan_that_refuses_a_layer_leaves_the_model_as_it_was():
    model = nn.Sequential(nn.Linear(2, 2), nn.Conv2D(1, 1, 3))
    kept = dist.ProcessMesh([0], ["kept"])
    bias = dist.shard_tensor(model[0].bias, kept, [dist.Replicate()])
    hook = model[0].register_forward_post_hook(lambda layer, x, y: y + 1)
    zeros = dist.PrepareLayerInput(lambda process_mesh: lambda layer, x: x[0] * 0)
    plans = {
        "0": [dist.ColWiseParallel(gather_output=True), zeros],
        "1": dist.ColWiseParallel(),  # of a weight of four dimensions
    }
    dist.set_mesh(kept)
    with pytest.raises(ValueError, match="expected a parameter of 1 or 2 dimensions"):
        divided(plans, model)
    assert dist.get_mesh() is kept
    assert not model[0].weight.is_dist() and bias.process_mesh is kept
    for layer in model.sublayers(include_self=True):
        assert not layer._forward_pre_hooks
        assert len(layer._forward_post_hooks) == (layer is model[0])
    x = argosy.ones([1, 2])
    assert model[0](x).tolist() == (x @ model[0].weight + model[0].bias + 1).tolist()
    hook.remove()
