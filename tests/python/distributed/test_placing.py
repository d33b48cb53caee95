"""Grids of processes, tensors placed on one process, and layers that nobody divides."""

import numpy as np
import pytest

import argosy
import argosy.distributed as dist
from argosy.distributed import fleet
from argosy.distributed.fleet import meta_parallel


def test_topologies():
    grid = fleet.CommunicateTopology(["data", "pipe", "model"], [2, 2, 2])
    assert str(grid.get_coord(5)) == "Coordinate(data=1, pipe=0, model=1)"
    assert grid.get_rank(data=1, pipe=0, model=1) == 5
    assert grid.get_axis_list("pipe", 0) == [0, 1, 4, 5]
    assert grid.get_comm_list("model") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert grid.get_fused_ranks(["data", "model"]) == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert (grid.get_dim("pipe"), grid.world_size(), grid.get_rank_from_stage(5, pipe=1)) == (
        2,
        8,
        7,
    )
    with pytest.raises(ValueError, match="rank: expected one below 8, got 8"):
        grid.get_coord(8)
    with pytest.raises(ValueError, match="a number for each of 2 axes, got 1"):
        fleet.CommunicateTopology(["data", "model"], [2])
    with pytest.raises(NotImplementedError, match="1 place along the axis 'pipe', got 2"):
        fleet.HybridCommunicateGroup(grid)
    with pytest.raises(ValueError, match="topology: expected one of 1 processes, got one of 2"):
        fleet.HybridCommunicateGroup(fleet.CommunicateTopology(["data"], [2]))


def test_the_groups_of_one_process():
    fleet.init(is_collective=True)
    groups = fleet.get_hybrid_communicate_group()
    assert groups is fleet.get_hybrid_communicate_group()
    for axis in ("data", "model", "pipe", "sharding", "sep"):
        assert getattr(groups, f"get_{axis}_parallel_rank")() == 0
        assert getattr(groups, f"get_{axis}_parallel_world_size")() == 1
        assert getattr(groups, f"get_{axis}_parallel_group")().ranks == [0]
    assert groups.get_parallel_mode() == dist.ParallelMode.DATA_PARALLEL
    assert (groups.get_stage_id(), groups.get_rank_from_stage(0)) == (0, 0)


def test_degrees_of_a_strategy():
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1}
    fleet.init(is_collective=True, strategy=strategy)
    for name in ("dp_degree", "mp_degree", "pp_degree"):
        strategy = fleet.DistributedStrategy()
        strategy.hybrid_configs = {name: 2}
        with pytest.raises(NotImplementedError, match=f"{name} is not supported: .* there are 1"):
            fleet.init(is_collective=True, strategy=strategy)


def test_layers_that_could_be_divided():
    argosy.seed(1)
    x = argosy.rand([3, 4])
    column = meta_parallel.ColumnParallelLinear(4, 6, has_bias=False)
    row = meta_parallel.RowParallelLinear(6, 5)
    assert column.bias is None and row.bias.shape == [5]
    np.testing.assert_allclose(
        row(column(x)).numpy(), x.numpy() @ column.weight.numpy() @ row.weight.numpy(), rtol=1e-5
    )
    table = meta_parallel.VocabParallelEmbedding(7, 2)
    np.testing.assert_array_equal(table(argosy.to_tensor([3])).numpy(), table.weight.numpy()[3:4])
    logits, labels = argosy.rand([3, 4]), argosy.to_tensor([0, -100, 3])
    losses = meta_parallel.ParallelCrossEntropy()(logits, labels)
    assert losses.shape == [3, 1] and losses[1].item() == 0
    expected = -np.log(np.exp(logits.numpy()[0])[0] / np.exp(logits.numpy()[0]).sum())
    np.testing.assert_allclose(losses[0].item(), expected, rtol=1e-5)
    two = dist.Group(0, 99, [0, 1])
    with pytest.raises(NotImplementedError, match="a group of one, got one of 2"):
        meta_parallel.RowParallelLinear(2, 2, mp_group=two)


def test_random_states_under_names():
    meta_parallel.model_parallel_random_seed(7)
    tracker = meta_parallel.get_rng_state_tracker()
    before = argosy.get_rng_state()
    with tracker.rng_state():
        first = argosy.rand([3])
    with tracker.rng_state():
        second = argosy.rand([3])
    assert not (first == second).all()
    outside = argosy.rand([3])
    argosy.set_rng_state(before)
    assert (argosy.rand([3]) == outside).all()  # nothing was drawn of the outer state
    meta_parallel.model_parallel_random_seed(7)
    with tracker.rng_state():
        assert (argosy.rand([3]) == first).all()
    with pytest.raises(ValueError, match="state nobody does not exist"):
        with tracker.rng_state("nobody"):
            pass
    with pytest.raises(ValueError, match="already exists"):
        tracker.add("model_parallel_rng", 1)


def test_a_pipeline_of_one_stage():
    argosy.seed(2)
    made = [
        meta_parallel.SharedLayerDesc("first", argosy.nn.Linear, None, "weight", 4, 4),
        argosy.nn.functional.tanh,
        meta_parallel.LayerDesc(argosy.nn.Linear, 4, 4),
        meta_parallel.SharedLayerDesc(
            "first", argosy.nn.Linear, lambda layer, x: x @ layer.weight.T, "weight", 4, 4
        ),
    ]
    plain = meta_parallel.PipelineLayer(made, num_stages=1)
    assert len(plain.parameters()) == 4
    argosy.seed(2)
    again = meta_parallel.PipelineLayer(made, recompute_interval=2)
    again.set_state_dict(plain.state_dict())
    x = argosy.rand([2, 4])
    for net in (plain, again):
        net(x).sum().backward()
    for a, b in zip(plain.parameters(), again.parameters()):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="expected 1 stage, got 2"):
        meta_parallel.PipelineLayer(made, num_stages=2)
    with pytest.raises(TypeError, match="expected a class derived from nn.Layer"):
        meta_parallel.LayerDesc(argosy.nn.functional.tanh)


MESH = dist.ProcessMesh([0], dim_names=["x"])


def test_meshes():
    mesh = dist.ProcessMesh(shape=[2, 3], process_ids=range(6), dim_names=["a", "b"])
    assert (mesh.shape, mesh.ndim, mesh.dim_names, mesh.size) == ([2, 3], 2, ["a", "b"], 6)
    assert mesh == dist.ProcessMesh([[0, 1, 2], [3, 4, 5]], ["a", "b"]) != MESH
    assert mesh.get_mesh_with_dim("b").process_ids == [0, 3, 1, 4, 2, 5]
    assert mesh.get_mesh_with_dim("b", 1).process_ids == [1, 4]
    assert mesh.get_rank_by_dim_and_process_id("b", 9) == -1
    assert str(MESH) == "shape [1], process_ids [0], dim_names ['x']"
    for wrong, kind, text in (
        ("x", ValueError, "expected a list or an array of ranks, got str"),
        ([0.5], ValueError, "expected ranks"),
        ([0, 0], AssertionError, "must be different"),
    ):
        with pytest.raises(kind, match=text):
            dist.ProcessMesh(wrong)
    with pytest.raises(AssertionError, match="expected 1 different names"):
        dist.ProcessMesh([0], ["a", "b"])


def test_tensors_placed_on_one_process():
    x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    placed = dist.shard_tensor(x, MESH, [dist.Shard(0)])
    assert placed.process_mesh == MESH and placed.placements == [dist.Shard(0)]
    assert placed.is_dist() and not x.is_dist() and x.placements is None
    whole = dist.reshard(placed, MESH, [dist.Replicate()])
    assert whole.placements == [dist.Replicate()] and placed.placements == [dist.Shard(0)]
    assert not dist.unshard_dtensor(placed).is_dist()
    given = dist.shard_tensor([1, 2], MESH, [dist.Partial()], dtype="float64", stop_gradient=False)
    assert given.dtype == argosy.float64 and not given.stop_gradient
    x.stop_gradient = False
    dist.shard_tensor(x, MESH, [dist.Shard(1)]).sum().backward()
    assert x.grad.numpy().tolist() == [[1, 1], [1, 1]]
    several = dist.ProcessMesh([0, 1])
    with pytest.raises(NotImplementedError, match="expected a mesh of one, got one of 2"):
        dist.shard_tensor(x, several, [dist.Shard(0)])
    with pytest.raises(ValueError, match="for each of 1 axes of the mesh"):
        dist.shard_tensor(x, MESH, [dist.Shard(0), dist.Shard(1)])
    with pytest.raises(TypeError, match="mesh: expected a ProcessMesh, got list"):
        dist.reshard(x, [0], [dist.Shard(0)])


def test_layers_and_loaders_placed_on_one_process():
    layer = argosy.nn.Linear(3, 4)

    def place(name, sublayer, mesh):
        sublayer.weight = dist.shard_tensor(sublayer.weight, mesh, [dist.Shard(0)])

    seen = []
    dist.shard_layer(
        layer, MESH, place, lambda inputs, mesh: seen.append("in") or inputs,
        lambda outputs, mesh: seen.append("out") or outputs,
    )  # fmt: skip
    assert layer.weight.placements == [dist.Shard(0)] and layer.bias.placements == [
        dist.Replicate()
    ]
    sgd = dist.shard_optimizer(argosy.optimizer.SGD(0.1, parameters=layer.parameters()))
    before = layer.weight.numpy()
    for batch in dist.shard_dataloader([argosy.ones([2, 3])], MESH):
        layer(batch).mean().backward()
        sgd.step()
    assert seen == ["in", "out"] and not np.array_equal(layer.weight.numpy(), before)
    assert dist.split(argosy.to_tensor([1]), (5, 2), "embedding").shape == [1, 2]
    with pytest.raises(NotImplementedError, match="num_partitions=1, got 2"):
        dist.split(argosy.ones([1, 2]), (2, 2), "linear", num_partitions=2)
    with pytest.raises(ValueError, match="expected 'linear' or 'embedding', got 'conv'"):
        dist.split(argosy.ones([1, 2]), (2, 2), "conv")


def test_parameters_are_sent_along_one_place():
    from argosy.distributed.fleet.utils import hybrid_parallel_util as util
    from argosy.distributed.parallel import sync_params_buffers

    fleet.init(is_collective=True)
    groups = fleet.get_hybrid_communicate_group()
    layer = argosy.nn.Linear(2, 2)
    before = layer.weight.numpy()
    util.broadcast_dp_parameters(layer, groups)
    util.broadcast_mp_parameters(layer, groups)
    util.broadcast_sharding_parameters(layer, groups)
    sync_params_buffers(layer)
    layer(argosy.ones([1, 2])).sum().backward()
    util.fused_allreduce_gradients(layer.parameters(), groups, scale=2.0)
    assert layer.bias.grad.tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    with pytest.raises(ValueError, match="src_rank: expected the first of the group, 0, got 1"):
        sync_params_buffers(layer, src_rank=1)
    with pytest.raises(TypeError, match="model: expected a Layer, got int"):
        util.broadcast_mp_parameters(3, groups)


def test_state_is_not_divided(tmp_path, monkeypatch):
    from argosy.distributed import sharding

    layer = argosy.nn.Linear(2, 2)
    sgd = argosy.optimizer.SGD(parameters=layer.parameters())
    assert sharding.group_sharded_parallel(layer, sgd, "p_g_os") == (layer, sgd, None)
    sharding.save_group_sharded_model(layer, str(tmp_path / "saved"), sgd)
    loaded = argosy.load(str(tmp_path / "saved" / "model.pdmodel"))
    np.testing.assert_array_equal(loaded["weight"].numpy(), layer.weight.numpy())
    with pytest.raises(ValueError, match="level"):
        sharding.group_sharded_parallel(layer, sgd, "all")
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    with pytest.raises(NotImplementedError, match="expected one process, got 2"):
        sharding.group_sharded_parallel(layer, sgd, "os")


def test_a_barrier_beside_the_group():
    assert dist.collective.all_reduce is dist.all_reduce
    dist.gloo_release()
    with pytest.raises(RuntimeError, match=r"\[gloo_barrier\] the processes are not connected"):
        dist.gloo_barrier()
    with pytest.raises(ValueError, match="got 2 of 2"):
        dist.gloo_init_parallel_env(2, 2, "here")
    dist.gloo_init_parallel_env(0, 1, "here")
    with pytest.raises(RuntimeError, match="connected already"):
        dist.gloo_init_parallel_env(0, 1, "here")
    dist.gloo_barrier()
    dist.gloo_release()
