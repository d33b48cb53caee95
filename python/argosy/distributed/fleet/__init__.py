"""Training with parameter servers: every method of Fleet as a function, and what they take."""

from . import base, data_generator, metrics, utils
from .base.distributed_strategy import DistributedStrategy
from .base.role_maker import PaddleCloudRoleMaker, Role, UserDefinedRoleMaker
from .base.topology import CommunicateTopology, HybridCommunicateGroup
from .base.util_factory import UtilBase
from .data_generator import MultiSlotDataGenerator, MultiSlotStringDataGenerator
from .dataset import (
    BoxPSDataset,
    DatasetBase,
    FileInstantDataset,
    InMemoryDataset,
    QueueDataset,
)
from .fleet import Fleet
from .utils.log_util import get_log_level_code, get_log_level_name, set_log_level  # noqa: F401

fleet = Fleet()
util = fleet.util

init = fleet.init
is_first_worker = fleet.is_first_worker
is_worker = fleet.is_worker
is_server = fleet.is_server
is_coordinator = fleet.is_coordinator
worker_index = fleet.worker_index
rank = fleet.rank
worker_num = fleet.worker_num
nranks = fleet.nranks
world_size = fleet.world_size
server_index = fleet.server_index
server_num = fleet.server_num
node_num = fleet.node_num
local_rank = fleet.local_rank
rank_in_node = fleet.rank_in_node
local_device_ids = fleet.local_device_ids
world_device_ids = fleet.world_device_ids
worker_endpoints = fleet.worker_endpoints
server_endpoints = fleet.server_endpoints
barrier_worker = fleet.barrier_worker
all_reduce = fleet.all_reduce
distributed_optimizer = fleet.distributed_optimizer
distributed_model = fleet.distributed_model
get_hybrid_communicate_group = fleet.get_hybrid_communicate_group
distributed_scaler = fleet.distributed_scaler
minimize = fleet.minimize
init_worker = fleet.init_worker
init_server = fleet.init_server
run_server = fleet.run_server
stop_worker = fleet.stop_worker
save = fleet.save
save_persistables = fleet.save_persistables
save_inference_model = fleet.save_inference_model
load_model = fleet.load_model
load_inference_model = fleet.load_inference_model
save_one_table = fleet.save_one_table
load_one_table = fleet.load_one_table
save_dense_params = fleet.save_dense_params
save_cache_model = fleet.save_cache_model
save_cache_table = fleet.save_cache_table
check_save_pre_patch_done = fleet.check_save_pre_patch_done
shrink = fleet.shrink
set_date = fleet.set_date
print_table_stat = fleet.print_table_stat
_final_strategy = fleet._final_strategy
amp_init = fleet.amp_init
collective_perf = fleet.collective_perf
get_fl_client = fleet.get_fl_client
get_loss_scaling = fleet.get_loss_scaling
init_coordinator = fleet.init_coordinator
make_fl_strategy = fleet.make_fl_strategy
qat_init = fleet.qat_init

__all__ = [
    "CommunicateTopology",
    "DistributedStrategy",
    "Fleet",
    "HybridCommunicateGroup",
    "MultiSlotDataGenerator",
    "MultiSlotStringDataGenerator",
    "PaddleCloudRoleMaker",
    "Role",
    "UserDefinedRoleMaker",
    "UtilBase",
    "utils",
]


def __getattr__(name):
    # Layers and what stands on them, loaded when they are asked for.
    if name in ("auto", "meta_parallel"):
        import importlib

        module = "auto_parallel" if name == "auto" else "fleet.meta_parallel"
        return importlib.import_module(f"argosy.distributed.{module}")
    raise AttributeError(f"module 'argosy.distributed.fleet' has no attribute {name!r}")
