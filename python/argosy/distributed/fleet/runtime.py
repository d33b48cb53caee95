"""What fleet asks of the parameter server: the interface between the public API and its engine.

`fleet.distributed_optimizer(..).minimize(loss)` lets the optimizer write its operations into the
program, then calls `argosy.distributed.ps.make_runtime(programs, startup_programs, optimizer,
strategy, role_maker)`. That rewrites the programs in place (on a worker they become the trainer's
part) and returns a `Runtime`, to which all later calls of fleet go. There is one runtime for a
process; it lives until the process ends.
"""

import abc
import os

from argosy._job import is_on

__all__ = ["Runtime", "ServiceSettings"]

_DURABILITY = ("none", "snapshot", "log")


class ServiceSettings:
    """How the processes of a job reach each other, as the launcher's environment says it.

    token: of the job's workers (ARGOSY_JOB_TOKEN); '' on loopback, where servers then make their own.
    admin_token: who knows it may save, load, shrink, end a day and stop the servers
        (ARGOSY_JOB_ADMIN_TOKEN); '': who knows the token may.
    certificate_authority, certificate, certificate_key: PEM files of TLS (ARGOSY_TLS_CA,
        ARGOSY_TLS_CERT, ARGOSY_TLS_KEY), '' for none.
    client_certificate_authority: PEM file, where servers ask for certificates of clients too
        (ARGOSY_TLS_CLIENT_CA); client_certificate, client_certificate_key: a worker's
        (ARGOSY_TLS_CLIENT_CERT, ARGOSY_TLS_CLIENT_KEY).
    insecure: servers and tokens may go beyond loopback without TLS (ARGOSY_INSECURE=1).
    save_roots: directories that servers save into and load from, with all below them
        (ARGOSY_PS_SAVE_ROOTS, between them os.pathsep); [] for the working directory.
    durability: none, snapshot or log (ARGOSY_PS_DURABILITY).
    directory: of a server's snapshots and log (ARGOSY_PS_DIRECTORY; each server has its own
        folder `server-<index>` in it), '' for none.
    snapshot_every: seconds between snapshots, 0 for never (ARGOSY_PS_SNAPSHOT_SECONDS).
    connect_seconds, call_seconds: deadlines of a client (ARGOSY_PS_CONNECT_SECONDS,
        ARGOSY_PS_CALL_SECONDS).
    idle_seconds: a server to which no worker has come for so long ends with an error
        (ARGOSY_PS_IDLE_SECONDS; a week, 0 for never).
    prefetch: async workers fetch the rows of the next batch while they compute
        (ARGOSY_PS_PREFETCH=1).
    """

    def __init__(self, environ=None):
        environ = os.environ if environ is None else environ
        self.token = environ.get("ARGOSY_JOB_TOKEN", "")
        self.admin_token = environ.get("ARGOSY_JOB_ADMIN_TOKEN", "")
        self.certificate_authority = environ.get("ARGOSY_TLS_CA", "")
        self.certificate = environ.get("ARGOSY_TLS_CERT", "")
        self.certificate_key = environ.get("ARGOSY_TLS_KEY", "")
        self.client_certificate_authority = environ.get("ARGOSY_TLS_CLIENT_CA", "")
        self.client_certificate = environ.get("ARGOSY_TLS_CLIENT_CERT", "")
        self.client_certificate_key = environ.get("ARGOSY_TLS_CLIENT_KEY", "")
        roots = environ.get("ARGOSY_PS_SAVE_ROOTS", "").split(os.pathsep)
        self.save_roots = [os.path.abspath(root) for root in roots if root]
        self.insecure = is_on(environ, "ARGOSY_INSECURE")
        self.durability = environ.get("ARGOSY_PS_DURABILITY", "") or "none"
        self.directory = environ.get("ARGOSY_PS_DIRECTORY", "")
        self.snapshot_every = _seconds(environ, "ARGOSY_PS_SNAPSHOT_SECONDS", 0)
        self.connect_seconds = _seconds(environ, "ARGOSY_PS_CONNECT_SECONDS", 120)
        self.call_seconds = _seconds(environ, "ARGOSY_PS_CALL_SECONDS", 60)
        self.idle_seconds = _seconds(environ, "ARGOSY_PS_IDLE_SECONDS", 7 * 86400)
        self.prefetch = is_on(environ, "ARGOSY_PS_PREFETCH")
        if self.durability not in _DURABILITY:
            raise ValueError(
                f"[fleet] ARGOSY_PS_DURABILITY must be one of {', '.join(_DURABILITY)}, "
                f"got {self.durability!r}."
            )
        if self.durability != "none" and not self.directory:
            raise ValueError(
                f"[fleet] durability {self.durability!r} needs a directory for snapshots and log. "
                "Do this: argosy launch --durability_dir DIRECTORY, or set ARGOSY_PS_DIRECTORY."
            )

    def server_directory(self, index):
        """The folder of server `index`, '' when nothing is kept."""
        return os.path.join(self.directory, f"server-{index}") if self.directory else ""


def _seconds(environ, name, default):
    text = environ.get(name, "")
    try:
        value = float(text) if text else float(default)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise ValueError(f"[fleet] {name} must be a number of seconds >= 0, got {text!r}.")
    return value


class Runtime(abc.ABC):
    """One process's part in a job of the parameter server.

    client: argosy._ps.Client of a worker from init_worker() on, else None. fleet.util and fleet.metrics
        use its barrier(name), all_reduce(array of float64, in place, operation) and
        all_gather(bytes) -> list of bytes.
    stopped: stop_worker() has returned, and init_worker() was not called since.
    """

    client = None
    stopped = False

    def progress(self):
        """What train_from_dataset prints of the service: bytes sent and received so far, and how many
        steps wait to be sent, as a dict of 'sent', 'received', 'waiting'; {} where there is none."""
        return {}

    @abc.abstractmethod
    def init_worker(self, scopes=None):
        """Connects to the servers (which may start later, until the connect deadline), gives the
        first values of dense parameters (worker 0; the others wait for them and take them), and
        installs the Remote that the trainer's operations use. scopes: of the programs, in their
        order; None for the global one."""

    @abc.abstractmethod
    def stop_worker(self):
        """Sends what still waits, and waits until all workers have come here. Servers can be asked,
        and told to save, until the process ends; with the last worker's process they end."""

    @abc.abstractmethod
    def init_server(self, dirname=None, var_names=None):
        """Makes the tables. dirname: a model of save_persistables that they start from (saved by
        any number of servers); var_names: only these parameters."""

    def take_tables(self, dirname):
        """Lets tables be laid out as those of the model in dirname, for programs that only predict
        and do not know what trained it."""

    @abc.abstractmethod
    def run_server(self):
        """Serves at this server's endpoint until the last worker has left, or SIGTERM."""

    @abc.abstractmethod
    def save_persistables(self, dirname, main_program=None, mode=0):
        """All tables into dirname (on the servers' disks) and dense parameters. mode: 0 rows with
        state, 1 changed rows, 2 what serving needs, 3 as 0 after a shrink. Called by worker 0."""

    @abc.abstractmethod
    def save_inference_model(
        self, dirname, feeded_var_names, target_vars, main_program=None, mode=0
    ):
        """The pruned program, its dense parameters, and tables as save_persistables(mode)."""

    @abc.abstractmethod
    def load_model(self, dirname, mode=0):
        """What save_persistables wrote, into running servers and this worker's dense parameters."""

    @abc.abstractmethod
    def load_inference_model(self, dirname, mode=0):
        """Tables of save_inference_model, into running servers."""

    @abc.abstractmethod
    def save_one_table(self, table_id, path, mode):
        """Table table_id into path."""

    @abc.abstractmethod
    def load_one_table(self, table_id, path, mode):
        """Table table_id from path."""

    @abc.abstractmethod
    def save_dense_params(self, executor, dirname, scope, program, var_names=None):
        """Dense parameters as the servers have them, pulled and saved into dirname."""

    @abc.abstractmethod
    def save_cache_model(self, dirname, mode=0, table_id=0):
        """The rows shown most often, for a serving cache. Returns how many were written."""

    def look_up(self, program):
        """Lets a program that is not trained look up what this job trains."""

    def save_cache_table(self, table_id):
        """Waits until the table has what this worker sent; without servers it has."""

    @abc.abstractmethod
    def shrink(self, threshold=None):
        """Ends the day of every sparse table: decays scores, deletes rows below the threshold (None:
        the accessor's own)."""

    @abc.abstractmethod
    def set_date(self, table_id, day_id):
        """Tells the tables that a new day begins."""

    @abc.abstractmethod
    def print_table_stat(self, table_id, pass_id=0, threshold=0):
        """Prints rows and bytes of table_id over all servers."""
