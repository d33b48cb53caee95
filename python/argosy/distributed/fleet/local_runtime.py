"""The runtime of a program that runs alone: there are no servers, parameters lie in this process."""

import os

from .runtime import Runtime

__all__ = ["LocalRuntime"]

_MODEL = "__model__"


class LocalRuntime(Runtime):
    """Trains in this process; init_worker, stop_worker and the server's calls have nothing to do."""

    def __init__(self, programs):
        self._programs = programs

    def _program(self, program):
        from argosy import static

        if program is not None:
            return program
        return self._programs[0] if self._programs else static.default_main_program()

    def init_worker(self, scopes=None):
        pass

    def stop_worker(self):
        pass

    def init_server(self, dirname=None, var_names=None):
        pass

    def run_server(self):
        pass

    def save_persistables(self, dirname, main_program=None, mode=0):
        from argosy import static

        static.io.save_persistables(static.Executor(), dirname, self._program(main_program))

    def save_inference_model(
        self, dirname, feeded_var_names, target_vars, main_program=None, mode=0
    ):
        from argosy import static

        program = self._program(main_program)
        feeds = [program.global_block().var(name) for name in feeded_var_names]
        path = os.path.join(dirname, _MODEL)
        static.save_inference_model(path, feeds, target_vars, static.Executor(), program=program)
        alone = os.path.join(dirname, "dnn_plugin")  # where programs look for the Program alone
        os.makedirs(alone, exist_ok=True)
        static.io._write(os.path.join(alone, _MODEL), static.io.load_from_file(path + ".pdmodel"))

    def load_model(self, dirname, mode=0):
        from argosy import static

        static.io.load_persistables(static.Executor(), dirname, self._program(None))

    def load_inference_model(self, dirname, mode=0):
        """Nothing: static.load_inference_model brings the parameters with the program."""

    def save_dense_params(self, executor, dirname, scope, program, var_names=None):
        from argosy import static

        program = self._program(program)
        chosen = None
        if var_names is not None:
            chosen = [program.global_block().var(name) for name in var_names]
        with static.scope_guard(static.global_scope() if scope is None else scope):
            if chosen is None:
                static.io.save_params(static.Executor(), dirname, program)
            else:
                static.io.save_vars(static.Executor(), dirname, program, chosen)

    def _no_tables(self, what):
        raise RuntimeError(
            f"[fleet.{what}] this program runs alone and has no tables. Do this: start it with "
            "`argosy launch --servers N --workers N`."
        )

    def save_one_table(self, table_id, path, mode):
        self._no_tables("save_one_table")

    def load_one_table(self, table_id, path, mode):
        self._no_tables("load_one_table")

    def save_cache_model(self, dirname, mode=0, table_id=0):
        return 0

    def shrink(self, threshold=None):
        pass

    def set_date(self, table_id, day_id):
        pass

    def print_table_stat(self, table_id, pass_id=0, threshold=0):
        self._no_tables("print_table_stat")
