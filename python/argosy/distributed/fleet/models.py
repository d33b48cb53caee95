"""What a job of the parameter server saves, loads and asks of its tables."""

import logging

from argosy._support import listed, no_effect, only_known

from ._arguments import check_executor, checked_mode, local_folder

_logger = logging.getLogger("argosy.fleet")


class Models:
    """The part of Fleet that is about models. ``_worker(what)`` gives the runtime of this worker."""

    def save(self, dirname, feed=[], fetch=[], **configs):
        """save_inference_model when feed and fetch are given, else save_persistables.

        Args:
            dirname (str): The folder.
            feed (list[Tensor | str]): What an inference model is fed.
            fetch (list[Tensor]): What it predicts.
            configs: mode (int), main_program (Program), executor (Executor).

        Raises:
            ValueError: There is only one of feed and fetch, or another name in configs.
        """
        only_known("fleet.save", configs, ("mode", "main_program", "executor"))
        mode = configs.get("mode", 0)
        program = configs.get("main_program")
        feed, fetch = listed(feed), listed(fetch)
        if not feed and not fetch:
            self.save_persistables(configs.get("executor"), dirname, program, mode)
            return
        if not feed or not fetch:
            raise ValueError("[fleet.save] an inference model needs both feed and fetch.")
        feed = [getattr(one, "name", one) for one in feed]
        self.save_inference_model(configs.get("executor"), dirname, feed, fetch, program, mode=mode)

    def save_persistables(self, executor, dirname, main_program=None, mode=0):
        """Saves all parameters, tables included, into a folder. Called by worker 0, or by all: then modes 1 and
        the shrink of 3 are the first worker's.

        Args:
            executor (Executor | None): Where the Program runs.
            dirname (str): The folder.
            main_program (Program, optional): Whose; default: that of minimize.
            mode (int): 0 rows with the state of their optimizer, 1 rows changed since the last save,
                2 what serving needs, 3 as 0 after a shrink.

        Example:
            >>> import tempfile
            >>> argosy.enable_static()
            >>> fleet = argosy.distributed.fleet
            >>> _ = fleet.init()
            >>> ids = argosy.static.data("ids", [2, 1], "int64")
            >>> loss = argosy.static.nn.sparse_embedding(ids, [10, 4]).mean()
            >>> _ = fleet.distributed_optimizer(argosy.optimizer.SGD(0.1)).minimize(loss)
            >>> exe = argosy.static.Executor()
            >>> _ = exe.run(argosy.static.default_startup_program())
            >>> fleet.init_worker()
            >>> _ = exe.run(feed={"ids": np.int64([[1], [2]])}, fetch_list=[loss])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     fleet.save_persistables(exe, folder)
            ...     fleet.load_model(folder, 0)
            >>> fleet.shrink()
            >>> fleet.stop_worker()
        """
        check_executor("save_persistables", executor)
        self._worker("save_persistables").save_persistables(
            local_folder("save_persistables", dirname),
            main_program,
            checked_mode(mode, "save_persistables"),
        )

    def save_inference_model(
        self,
        executor,
        dirname,
        feeded_var_names,
        target_vars,
        main_program=None,
        export_for_deployment=True,
        mode=0,
    ):
        """Saves what predicts target_vars from feeded_var_names: the pruned program, its dense
        parameters, and tables as save_persistables(mode).

        Args:
            executor (Executor): Where the Program runs.
            dirname (str): The folder.
            feeded_var_names (list[str]): What it is fed.
            target_vars (list[Tensor]): What it predicts.
            main_program (Program, optional): Whose; default: the default one.
            export_for_deployment (bool): Has no effect; False gives a warning.
            mode (int): See save_persistables.
        """
        check_executor("save_inference_model", executor)
        if not export_for_deployment:
            no_effect(
                "fleet.save_inference_model", "what is saved is always what predicts",
                export_for_deployment=(export_for_deployment, True),
            )  # fmt: skip
        self._worker("save_inference_model").save_inference_model(
            local_folder("save_inference_model", dirname),
            listed(feeded_var_names),
            listed(target_vars),
            main_program,
            checked_mode(mode, "save_inference_model"),
        )

    def load_model(self, path, mode):
        """Loads what save_persistables wrote; called by all workers, none of which trains on
        before the first has loaded it.

        Args:
            path (str): The folder.
            mode (int): As given to save_persistables.
        """
        self._worker("load_model").load_model(
            local_folder("load_model", path), checked_mode(mode, "load_model")
        )

    def load_inference_model(self, path, mode):
        """Loads the tables that save_inference_model wrote.

        Args:
            path (str): The folder.
            mode (int): As given to save_inference_model.
        """
        self._worker("load_inference_model").load_inference_model(
            local_folder("load_inference_model", path), checked_mode(mode, "load_inference_model")
        )

    def save_one_table(self, table_id, path, mode):
        """Saves one table as save_persistables does all; `argosy show` prints the
        tables of a program with their numbers.

        Args:
            table_id (int): The number of the table.
            path (str): The folder.
            mode (int): As of save_persistables.
        """
        self._worker("save_one_table").save_one_table(
            table_id, local_folder("save_one_table", path), checked_mode(mode, "save_one_table")
        )

    def load_one_table(self, table_id, path, mode):
        """Loads one table from what save_one_table or save_persistables wrote; the
        others stay as they are.

        Args:
            table_id (int): The number of the table.
            path (str): The folder.
            mode (int): As given when it was saved.
        """
        self._worker("load_one_table").load_one_table(
            table_id, local_folder("load_one_table", path), checked_mode(mode, "load_one_table")
        )

    def save_dense_params(self, executor, dirname, scope, program, var_names=None):
        """Saves dense parameters as the servers have them.

        Args:
            executor (Executor | None): Where the Program runs.
            dirname (str): The folder.
            scope (Scope): Where the parameters are.
            program (Program): Whose parameters.
            var_names (list[str], optional): Which; default: all.
        """
        check_executor("save_dense_params", executor)
        self._worker("save_dense_params").save_dense_params(
            executor, local_folder("save_dense_params", dirname), scope, program, var_names
        )

    def save_cache_model(self, dirname, **configs):
        """Saves the rows shown most often, for a serving cache. How many: the strategy's
        sparse_table_cache_rate (0.00055) of the table's rows, rounded up; all rows of a table that counts
        no shows.

        Args:
            dirname (str): The folder.
            configs: table_id (int): the table, 0 by default; mode has no effect.

        Returns:
            int: How many rows there are.
        """
        only_known("fleet.save_cache_model", configs, ("mode", "table_id"))
        no_effect(
            "fleet.save_cache_model", "rows are saved with their state, as mode 0 does",
            mode=(configs.get("mode", 0), 0),
        )  # fmt: skip
        return self._worker("save_cache_model").save_cache_model(
            local_folder("save_cache_model", dirname),
            checked_mode(configs.get("mode", 0), "save_cache_model"),
            configs.get("table_id", 0),
        )

    def save_cache_table(self, table_id, pass_id, mem_cache_key_threshold=4000000000):
        """Waits until a table has all that this worker sent. Nothing is moved: a table on
        disk keeps the rows used last in memory by itself, as many as its memory_rows say.

        Args:
            table_id (int): The number of the table.
            pass_id (int): For the log.
            mem_cache_key_threshold (int): Has no effect; another one than the default gives a warning.
        """
        no_effect(
            "fleet.save_cache_table", "memory_rows of a table says how many rows are in memory",
            mem_cache_key_threshold=(mem_cache_key_threshold, 4000000000),
        )  # fmt: skip
        _logger.info("save_cache_table: table %s, pass %s", table_id, pass_id)
        self._worker("save_cache_table").save_cache_table(table_id)

    def check_save_pre_patch_done(self):
        """Does nothing: saves are whole when they return.

        Example:
            >>> argosy.distributed.fleet.check_save_pre_patch_done()
        """

    def shrink(self, threshold=None):
        """Ends a day of the tables: scores decay, rows below delete_threshold of the table's accessor
        are deleted. Called by worker 0, or by all: then the first does it.

        Args:
            threshold (float, optional): Has no effect, which a warning says.
        """
        no_effect(
            "fleet.shrink",
            "set delete_threshold of the table's accessor",
            threshold=(threshold, None),
        )
        self._worker("shrink").shrink(threshold)

    def set_date(self, table_id, day_id):
        """Tells the tables that a day begins: all of them, once, however many are told so.
        Called by worker 0, or by all.

        Args:
            table_id (int): The number of a table.
            day_id (int | str): The day.
        """
        self._worker("set_date").set_date(table_id, day_id)

    def print_table_stat(self, table_id, pass_id, threshold):
        """Prints the size of a table.

        Args:
            table_id (int): Its number.
            pass_id (int): For the log.
            threshold (int): Has no effect; another one than 0 gives a warning.
        """
        no_effect("fleet.print_table_stat", "all rows are counted", threshold=(threshold, 0))
        self._worker("print_table_stat").print_table_stat(table_id, pass_id, threshold)
