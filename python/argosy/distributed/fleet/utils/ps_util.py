"""Prediction with tables that stay on servers."""

__all__ = ["DistributedInfer"]


class DistributedInfer:
    """Runs a trained program whose tables are too large for one machine.

    Args:
        main_program (Program, optional): the program up to its loss; the default one.
        startup_program (Program, optional): its startup program; the default one.

    Servers stay inside init_distributed_infer_env; workers return from it and run
    get_dist_infer_program(). In a job whose workers train, that is all: no environment is made.
    """

    def __init__(self, main_program=None, startup_program=None):
        from argosy import static

        self._main = main_program or static.default_main_program()
        self._startup = startup_program or static.default_startup_program()
        self._program = None

    def init_distributed_infer_env(self, exe, loss, role_maker=None, dirname=None):
        """Starts servers with the model in dirname, and connects workers to them.

        Args:
            exe (Executor): runs the startup program on workers.
            loss (Variable): of the main program; names what was trained.
            role_maker (optional): as in fleet.init, when fleet is not initialized yet.
            dirname (str, optional): what save_persistables wrote.
        """
        from argosy import optimizer, static
        from argosy.distributed import fleet

        if fleet.fleet._role_maker is None:
            fleet.init(role_maker)
        self._program = self._main.clone(for_test=True)
        if fleet.fleet._runtime is None:
            # The rule is never used: nothing is pushed.
            strategy = fleet.DistributedStrategy()
            strategy.a_sync = True
            chosen = fleet.distributed_optimizer(optimizer.SGD(0.0), strategy)
            with static.program_guard(self._main, self._startup):
                chosen.minimize(loss, self._startup)
            if dirname is not None:
                fleet.fleet._runtime.take_tables(dirname)
            self._program = self._main.clone(for_test=True)
        if fleet.is_server():
            fleet.init_server(dirname)
            fleet.run_server()
            return
        exe.run(self._startup)
        fleet.init_worker()
        if dirname is not None and fleet.fleet._role_maker._is_non_distributed():
            fleet.load_model(dirname, 0)

    def get_dist_infer_program(self):
        """The program to run on workers: it looks rows up on the servers and changes nothing."""
        if self._program is None:
            from argosy.distributed import fleet

            runtime = fleet.fleet._runtime
            if runtime is None:
                raise RuntimeError(
                    "[DistributedInfer] there are no servers yet. Do this: call"
                    " init_distributed_infer_env(..), or fleet.init and minimize, before."
                )
            self._program = self._main.clone(for_test=True)
            runtime.look_up(self._program)
        return self._program
