"""The class behind the module argosy.distributed.fleet."""

import copy
import logging

from argosy._framework import in_dynamic_mode
from argosy._support import listed

from ._arguments import local_folder
from .base.collective_switches import check_collective
from .base.distributed_strategy import DistributedStrategy
from .base.role_maker import PaddleCloudRoleMaker, RoleMakerBase
from .base.topology import CommunicateTopology, HybridCommunicateGroup
from .base.util_factory import UtilBase
from .distributed_optimizer import DistributedOptimizer
from .models import Models
from .performance import Performance
from .refused import Refused

# What stands on layers and optimizers is imported in functions: generators of data, which a job starts
# for each of its files, need none of it.

__all__ = ["DistributedOptimizer", "Fleet"]

_logger = logging.getLogger("argosy.fleet")


class Fleet(Models, Performance, Refused):
    """A job of the parameter server as one of its processes sees it.

    A program calls init, then distributed_optimizer(..).minimize(loss); servers go on with
    init_server and run_server, workers with init_worker, training, and stop_worker. Run alone (no
    servers in the environment) the same program trains in this process. The module
    argosy.distributed.fleet has every method as a function.

    Example:
        >>> argosy.enable_static()
        >>> fleet = argosy.distributed.fleet.Fleet()
        >>> _ = fleet.init()
        >>> fleet.is_worker(), fleet.is_first_worker(), fleet.is_server(), fleet.is_coordinator()
        (True, True, False, False)
        >>> fleet.worker_index(), fleet.worker_num(), fleet.server_num(), fleet.node_num()
        (0, 1, 0, 1)
        >>> fleet.local_rank(), fleet.server_endpoints(), len(fleet.local_device_ids())
        (0, [], 1)
        >>> len(fleet.world_device_ids()), fleet.all_reduce(np.array([1.0])).tolist()
        (1, [1.0])
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> loss = argosy.static.nn.fc(x, 1).mean()
        >>> sgd = fleet.distributed_optimizer(argosy.optimizer.SGD(0.1))
        >>> _ = sgd.minimize(loss)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> fleet.init_worker()
        >>> len(exe.run(feed={"x": np.ones([2, 3], "float32")}, fetch_list=[loss]))
        1
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fleet.save(folder + "/state", executor=exe)
        ...     fleet.save_inference_model(exe, folder + "/model", ["x"], [loss])
        >>> fleet.barrier_worker(), fleet.stop_worker()
        (None, None)

        >>> fleet.collective_perf("allreduce")  # of a collective job: this one is not
        >>> group = argosy.distributed.new_group([0])
        >>> for measure in (fleet.allreduce_perf, fleet.reduce_perf, fleet.broadcast_perf,
        ...                 fleet.allgather_perf, fleet.reduce_scatter_perf):
        ...     measure(1, argosy.ones([2]), group, 8, -1)
        >>> for refused in (fleet.make_fl_strategy, fleet.init_coordinator, fleet.get_fl_client,
        ...                 lambda: fleet.qat_init(None), lambda: fleet.amp_init(None),
        ...                 fleet.get_loss_scaling):
        ...     try:
        ...         refused()
        ...     except (NotImplementedError, RuntimeError) as error:
        ...         assert "Do this" in str(error)

    What only a job with servers has (its workers ask them)::

        fleet.init_server("folder"); fleet.run_server()  # in the servers
        fleet.save_one_table(0, "folder", 0); fleet.load_one_table(0, "folder", 0)
        fleet.save_dense_params(exe, "folder", scope, program)
        fleet.load_inference_model("folder", 0)
        fleet.save_cache_model("folder", table_id=0); fleet.save_cache_table(0, 1)
        fleet.set_date(0, "20261127"); fleet.print_table_stat(0, 1, 0)
    """

    def __init__(self):
        self._role_maker = None
        self._user_defined_strategy = None
        self._is_collective = False
        self._runtime = None
        self._optimizer = None
        self._eager_optimizer = None  # what distributed_optimizer gave last
        self._applied = None  # settings of distributed_model, when it was called last
        self._hybrid_group = None
        self._util = UtilBase()
        self._util._client = self._client
        self._util._stopped = lambda: self._runtime is not None and self._runtime.stopped

    # The job

    def _client(self):
        if self._is_collective:
            from .collective_client import group_client

            return group_client()
        return None if self._runtime is None else self._runtime.client

    def init(self, role_maker=None, is_collective=False, strategy=None, log_level="INFO"):
        """Finds this process's place in the job.

        Args:
            role_maker (optional): UserDefinedRoleMaker or PaddleCloudRoleMaker; the latter by
                default, which reads the environment.
            is_collective (bool): training without servers; several processes are connected, as by
                init_parallel_env.
            strategy (DistributedStrategy, optional): used where distributed_optimizer gets none.
            log_level (int|str): of fleet's messages.

        Returns:
            Fleet: This one.

        Raises:
            ValueError: An argument is of the wrong type, or the environment is incomplete.
        """
        if not isinstance(is_collective, bool):
            raise ValueError(
                "`is_collective` should be instance of `bool`, but got "
                f"{type(is_collective)} ([fleet.init])"
            )
        if role_maker is None:
            role_maker = PaddleCloudRoleMaker(is_collective=is_collective)
        elif not isinstance(role_maker, RoleMakerBase):
            raise ValueError(
                "`role_maker` should be subclass of `RoleMakerBase`, but got "
                f"{type(role_maker)} ([fleet.init])"
            )
        if strategy is None:
            strategy = DistributedStrategy()
        elif not isinstance(strategy, DistributedStrategy):
            raise TypeError(
                f"[fleet.init] strategy: expected DistributedStrategy, got {type(strategy).__name__}."
            )
        _logger.setLevel(log_level)
        role_maker._generate_role()
        is_collective = is_collective or role_maker._is_collective
        if is_collective:
            check_collective(strategy, "fleet.init")
            if role_maker._worker_num() > 1:
                from argosy.distributed.parallel import init_parallel_env

                init_parallel_env()
        self._is_collective = is_collective
        self._role_maker = role_maker
        self._user_defined_strategy = copy.deepcopy(strategy)
        self._runtime = None
        self._optimizer = None
        self._eager_optimizer = None
        self._applied = None
        self._hybrid_group = None
        self._util._set_role_maker(role_maker)
        self._util._set_strategy(self._user_defined_strategy)
        return self

    def _roles(self):
        if self._role_maker is None:
            raise RuntimeError("[fleet] fleet is not initialized. Do this: fleet.init()")
        return self._role_maker

    def is_first_worker(self):
        """Whether this is worker 0.

        Returns:
            bool: That.
        """
        return self._roles()._is_first_worker()

    def is_worker(self):
        """Whether this process trains.

        Returns:
            bool: That.
        """
        return self._roles()._is_worker()

    def is_server(self):
        """Whether this process keeps parameters.

        Returns:
            bool: That.
        """
        return self._roles()._is_server()

    def is_coordinator(self):
        """Whether this process coordinates federated training.

        Returns:
            bool: False.
        """
        return False

    def worker_index(self):
        """The number of this worker.

        Returns:
            int: From 0 on.
        """
        return self._roles()._worker_index()

    rank = worker_index

    def worker_num(self):
        """How many workers the job has.

        Returns:
            int: 1 or more.
        """
        return self._roles()._worker_num()

    nranks = world_size = worker_num

    def server_index(self):
        """The number of this server.

        Returns:
            int: From 0 on.

        Example:
            >>> fleet = argosy.distributed.fleet
            >>> _ = fleet.init(fleet.UserDefinedRoleMaker(
            ...     current_id=1, role=fleet.Role.SERVER, worker_num=1,
            ...     server_endpoints=["127.0.0.1:6000", "127.0.0.1:6001"],
            ... ))
            >>> fleet.server_index(), fleet.server_num(), fleet.is_server()
            (1, 2, True)
        """
        return self._roles()._server_index()

    def server_num(self):
        """How many servers the job has.

        Returns:
            int: 0 when it runs alone.
        """
        return self._roles()._server_num()

    def node_num(self):
        """On how many hosts the job runs.

        Returns:
            int: 1 or more.
        """
        return self._roles()._get_node_num()

    def local_rank(self):
        """The number of this worker on its host.

        Returns:
            int: From 0 on.
        """
        return self._roles()._get_local_rank()

    rank_in_node = local_rank

    def local_device_ids(self):
        """Devices of this process.

        Returns:
            list: Their numbers.
        """
        return self._roles()._get_local_device_ids()

    def world_device_ids(self):
        """Devices of all workers.

        Returns:
            list: For each worker a list.
        """
        return self._roles()._get_world_device_ids()

    def worker_endpoints(self, to_string=False):
        """Addresses of the workers.

        Args:
            to_string (bool): Whether to join them by commas.

        Returns:
            list[str] | str: Each as ip:port.

        Example:
            >>> fleet = argosy.distributed.fleet
            >>> _ = fleet.init(fleet.UserDefinedRoleMaker(
            ...     current_id=0, role=fleet.Role.WORKER, worker_endpoints=["127.0.0.1:7000"],
            ...     server_endpoints=["127.0.0.1:6000", "127.0.0.1:6001"],
            ... ))
            >>> fleet.worker_endpoints(), fleet.server_endpoints(to_string=True)
            (['127.0.0.1:7000'], '127.0.0.1:6000,127.0.0.1:6001')
        """
        out = self._roles()._get_trainer_endpoints()
        return ",".join(out) if to_string else out

    def server_endpoints(self, to_string=False):
        """Addresses of the servers.

        Args:
            to_string (bool): Whether to join them by commas.

        Returns:
            list[str] | str: Each as ip:port.
        """
        out = self._roles()._get_pserver_endpoints()
        return ",".join(out) if to_string else out

    @property
    def util(self):
        """Collective work of workers: all_reduce, all_gather, barrier, get_file_shard."""
        return self._util

    def barrier_worker(self):
        """Waits until all workers have come here."""
        self._util.barrier("worker")

    def all_reduce(self, input, mode="sum"):
        """Sum, min or max over workers; see UtilBase.all_reduce.

        Args:
            input (numpy.ndarray | list | number): This worker's numbers.
            mode (str): 'sum', 'min' or 'max'.

        Returns:
            numpy.ndarray: Those of all.
        """
        return self._util.all_reduce(input, mode, "worker")

    # The program

    def distributed_optimizer(self, optimizer, strategy=None):
        """The optimizer as strategy wants it: for a Program one whose minimize divides it.

        Eager training without servers takes of a strategy: lamb (for Adam), lars (for Momentum),
        gradient_merge (step() updates once in k_steps calls) and localsgd with their configs; what
        concerns the model is distributed_model's. Without any of them the optimizer itself is given.

        Args:
            optimizer (Optimizer): what updates the parameters.
            strategy (DistributedStrategy, optional): else the one of init.

        Returns:
            Optimizer | DistributedOptimizer: That.

        Raises:
            TypeError: strategy is none, or the optimizer is not the one that lamb or lars stands for.
            NotImplementedError: A switch is not supported here.
            RuntimeError: distributed_model was called before, with other settings for the model.
        """
        self._roles()
        if strategy is not None:
            if not isinstance(strategy, DistributedStrategy):
                raise TypeError(
                    "[fleet.distributed_optimizer] strategy: expected DistributedStrategy, got "
                    f"{type(strategy).__name__}."
                )
            self._user_defined_strategy = copy.deepcopy(strategy)
            self._util._set_strategy(self._user_defined_strategy)
        eager = in_dynamic_mode() and (self._is_collective or self._roles()._is_non_distributed())
        if self._is_collective or in_dynamic_mode():
            check_collective(self._user_defined_strategy, "fleet.distributed_optimizer")
        self._optimizer = DistributedOptimizer(self, optimizer)
        if not eager:
            return self._optimizer
        from .collective_model import check_applied
        from .collective_optimizer import with_strategy

        check_applied(self._applied, self._user_defined_strategy)
        # Without a program there is nothing to divide, and other code may want the very class.
        self._eager_optimizer = with_strategy(
            optimizer, self._user_defined_strategy, self.worker_num() > 1
        )
        return self._eager_optimizer

    def distributed_model(self, model):
        """The model as the strategy wants it, changed in place; with several processes DataParallel of it.

        Eager training takes of a strategy: amp and amp_configs, recompute (checkpoints: names of
        sublayers), sync_batch_norm, fp16_allreduce, communication_hook, communication_algorithm,
        find_unused_parameters, fuse_grad_size_in_MB, last_comm_group_size_MB.

        Args:
            model (Layer): What is trained.

        Returns:
            Layer: The model, or DataParallel of it.

        Raises:
            NotImplementedError: A switch is not supported, or there are servers.
            ValueError: Settings contradict each other, or name no sublayer.

        Example:
            >>> _ = argosy.distributed.fleet.init(is_collective=True)
            >>> layer = argosy.nn.Linear(2, 2)
            >>> argosy.distributed.fleet.distributed_model(layer) is layer
            True
        """
        strategy = self._user_defined_strategy
        several = self._roles()._worker_num() > 1
        check_collective(strategy, "fleet.distributed_model")
        if several and not self._is_collective:
            raise NotImplementedError(
                "[fleet.distributed_model] servers train static programs only. Do this:"
                " fleet.init(is_collective=True), without servers."
            )
        from .collective_model import distribute, model_settings

        self._applied = model_settings(strategy)
        return distribute(
            model,
            strategy,
            several,
            lambda: getattr(self._eager_optimizer, "keeps_gradients", False),
        )

    def get_hybrid_communicate_group(self):
        """The groups of this process along the axes of the job; all processes make the first call.

        Returns:
            HybridCommunicateGroup: All processes are along "data".

        Example:
            >>> _ = argosy.distributed.fleet.init(is_collective=True)
            >>> argosy.distributed.fleet.get_hybrid_communicate_group().get_data_parallel_rank()
            0
        """
        if self._hybrid_group is None:
            topology = CommunicateTopology(dims=[self.worker_num(), 1, 1, 1, 1, 1])
            self._hybrid_group = HybridCommunicateGroup(topology)
        return self._hybrid_group

    def get_hybrid_parallel_topology(self):
        """The places of all processes along the axes of the job.

        Returns:
            CommunicateTopology: That of get_hybrid_communicate_group.

        Example:
            >>> _ = argosy.distributed.fleet.init(is_collective=True)
            >>> argosy.distributed.fleet.fleet.get_hybrid_parallel_topology().world_size()
            1
        """
        return self.get_hybrid_communicate_group().topology()

    def distributed_scaler(self, scaler):
        """The scaler, changed in place: processes agree on whether gradients are finite, and gradient_merge
        keeps the scale as it is between two updates.

        Args:
            scaler (GradScaler): It.

        Returns:
            GradScaler: The same.

        Example:
            >>> scaler = argosy.amp.GradScaler(enable=False)
            >>> _ = argosy.distributed.fleet.init(is_collective=True)
            >>> argosy.distributed.fleet.distributed_scaler(scaler) is scaler
            True
        """
        from .collective_scaler import with_agreement

        return with_agreement(
            scaler,
            self._is_collective and self.worker_num() > 1,
            lambda: getattr(self._eager_optimizer, "only_counted", False),
        )

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """Adds gradients and updates of loss to its program, then divides it: on a worker the
        program becomes the trainer's part, in place. Without servers, gradients become averages over
        the workers.

        Args:
            loss (Variable|list[Variable]): what is minimized; a list of several programs' losses.
            startup_program (Program|list[Program], optional): of loss's program.
            parameter_list (list, optional): what is updated; all trainable parameters by default.
            no_grad_set (set, optional): what gets no gradient.

        Returns:
            tuple: Update operations, and [(parameter, gradient)]; of the last loss of a list.

        Raises:
            RuntimeError: There is no optimizer.
        """
        if self._optimizer is None:
            raise RuntimeError(
                "[fleet.minimize] there is no optimizer. Do this: "
                "fleet.distributed_optimizer(optimizer, strategy).minimize(loss)"
            )
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)

    def _minimize(self, optimizer, loss, startup_program, parameter_list, no_grad_set):
        from argosy import static

        from .static_collective import begin_alike, exchange_gradients

        losses = listed(loss)
        if not isinstance(losses[0], static.Variable):
            if not self._is_collective and not self._roles()._is_non_distributed():
                raise NotImplementedError(
                    "[fleet.minimize] servers train static programs only, and loss is a Tensor. "
                    "Do this: call argosy.enable_static() before the model is built."
                )
            return optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
        if isinstance(startup_program, (list, tuple)):
            startups = list(startup_program)
        else:
            startups = [startup_program or static.default_startup_program()] * len(losses)
        if len(startups) != len(losses):
            raise ValueError(
                f"[fleet.minimize] {len(losses)} losses but {len(startups)} startup programs."
            )
        for one, startup in zip(losses, startups):
            together = self._is_collective and self.worker_num() > 1
            if together:
                exchange_gradients(one.block.program, self._user_defined_strategy)
            out = optimizer.minimize(one, startup, parameter_list, no_grad_set)
            if together:
                begin_alike(startup)
        self._runtime = None
        programs = [one.block.program for one in losses]
        self._runtime = self._make_runtime(programs, startups, optimizer)
        for program in programs:
            self._describe_training(program)
        return out

    def _describe_training(self, program):
        """What train_from_dataset is told of the program; programs change it between passes."""
        known = {} if program._fleet_opt is None else program._fleet_opt
        known["mpi_size"] = self.worker_num()
        known["mpi_rank"] = self.worker_index()
        for name, value in self._user_defined_strategy.trainer_desc_configs.items():
            if value or name not in known:
                known[name] = value
        program._fleet_opt = known

    def _make_runtime(self, programs, startups, optimizer):
        from argosy.static import train

        from .local_runtime import LocalRuntime

        train.service_progress = self._progress
        if self._is_collective:
            return LocalRuntime(programs)
        from argosy.distributed import ps

        runtime = ps.make_runtime(
            programs, startups, optimizer, self._user_defined_strategy, self._role_maker
        )
        return LocalRuntime(programs) if runtime is None else runtime

    def _progress(self):
        return {} if self._runtime is None else self._runtime.progress()

    # Servers and workers

    def _part(self, what):
        roles = self._roles()
        if self._runtime is None:
            if not roles._is_non_distributed():
                raise RuntimeError(
                    f"[fleet.{what}] no program was divided between workers and servers. Do this: "
                    "fleet.distributed_optimizer(optimizer, strategy).minimize(loss) before."
                )
            from .local_runtime import LocalRuntime

            self._runtime = LocalRuntime([])
        return self._runtime

    def _worker(self, what):
        part = self._part(what)
        if not self._roles()._is_worker():
            raise RuntimeError(
                f"[fleet.{what}] was called on a server. Do this: call it where fleet.is_worker()."
            )
        return part

    def init_worker(self, scopes=None):
        """Connects this worker to the servers; training may begin when it returns.

        Args:
            scopes (list[Scope], optional): of each program of minimize; the global one by default.
        """
        self._worker("init_worker").init_worker(scopes)

    def init_server(self, *args, **kwargs):
        """Makes this server's tables: init_server(dirname=None, var_names=None).

        Args:
            args: dirname (str): a model that save_persistables wrote, to start from; var_names
                (list[str]): which of its tables; default: all.
            kwargs: The same by name.

        Raises:
            RuntimeError: It was called on a worker.
            TypeError: These are other arguments.
        """
        part = self._part("init_server")
        if not self._roles()._is_server() and not self._roles()._is_non_distributed():
            raise RuntimeError(
                "[fleet.init_server] was called on a worker. Do this: call it where "
                "fleet.is_server()."
            )
        names = dict(zip(("dirname", "var_names"), args))
        if len(args) > 2 or set(names) & set(kwargs) or set(kwargs) - {"dirname", "var_names"}:
            raise TypeError(
                "[fleet.init_server] expected (dirname=None, var_names=None), got "
                f"{len(args)} arguments and {sorted(kwargs)}."
            )
        names |= kwargs
        if names.get("dirname"):
            names["dirname"] = local_folder("init_server", names["dirname"])
        part.init_server(**names)

    def run_server(self):
        """Serves until the job has ended: all workers have called stop_worker and their processes have
        ended, or this process gets SIGTERM.

        Raises:
            RuntimeError: It was called on a worker.
            TimeoutError: No worker has come for ARGOSY_PS_IDLE_SECONDS (a week).
        """
        part = self._part("run_server")
        if not self._roles()._is_server() and not self._roles()._is_non_distributed():
            raise RuntimeError(
                "[fleet.run_server] was called on a worker. Do this: call it where "
                "fleet.is_server()."
            )
        part.run_server()

    def stop_worker(self):
        """Ends this worker's training: what waits is sent, and all workers meet. Models can still be
        saved: servers end with the process of the last worker.
        """
        self._worker("stop_worker").stop_worker()

    def _final_strategy(self):
        self._roles()
        return self._user_defined_strategy
