"""fleet.util: what workers do together besides training."""

import json

from argosy._support import check_choice

__all__ = ["UtilBase"]

_OPERATIONS = ("sum", "min", "max")


def _encode(value):
    import numpy as np

    def plain(x):
        if isinstance(x, np.ndarray):
            return {"__array__": x.dtype.str, "shape": x.shape, "values": x.ravel().tolist()}
        if isinstance(x, np.generic):
            return x.item()
        raise TypeError(
            f"[fleet.util.all_gather] input: expected numbers, strings, lists, dicts or arrays, got "
            f"{type(x).__name__}."
        )

    return json.dumps(value, default=plain).encode()


def _decode(data):
    import numpy as np

    def shaped(x):
        if "__array__" in x:
            return np.array(x["values"], dtype=x["__array__"]).reshape(x["shape"])
        return x

    return json.loads(bytes(data).decode(), object_hook=shaped)


class UtilBase:
    """Collective work of a job's workers, files' shares, printing on one of them.

    Example:
        >>> fleet = argosy.distributed.fleet
        >>> _ = fleet.init()
        >>> fleet.util.all_reduce([1, 2], "max"), fleet.util.all_gather({"a": 1})
        ([1, 2], [{'a': 1}])
        >>> fleet.util.get_file_shard(["a", "b"])
        ['a', 'b']
        >>> fleet.util.barrier()
        >>> fleet.util.print_on_rank("hello", 0)
        hello
    """

    def __init__(self):
        self.role_maker = None
        self.dist_strategy = None
        self._client = lambda: None
        self._stopped = lambda: False

    def _set_role_maker(self, role_maker):
        self.role_maker = role_maker

    def _set_strategy(self, dist_strategy):
        self.dist_strategy = dist_strategy

    def _roles(self, what):
        if self.role_maker is None:
            raise RuntimeError(
                f"[fleet.util.{what}] fleet is not initialized. Do this: fleet.init()"
            )
        return self.role_maker

    def _partners(self, what, comm_world):
        """The client to talk through, or None when this process is alone among its kind."""
        roles = self._roles(what)
        check_choice(f"fleet.util.{what}", "comm_world", comm_world, ("worker", "server", "all"))
        if comm_world != "worker":
            alone = roles._is_non_distributed() or (
                comm_world == "server" and roles._is_server() and roles._server_num() == 1
            )
            if alone:
                return None
            raise NotImplementedError(
                f"[fleet.util.{what}] comm_world={comm_world!r}: servers take no part in "
                "collective work, only workers do. Do this: comm_world='worker', on workers."
            )
        if not roles._is_worker():
            raise RuntimeError(
                f"[fleet.util.{what}] comm_world='worker' was called on a server. Do this: call it "
                "where fleet.is_worker()."
            )
        if roles._worker_num() <= 1:
            return None
        client = self._client()
        if client is None:
            raise RuntimeError(
                f"[fleet.util.{what}] this worker is not connected. Do this: call it after "
                "fleet.init_worker()."
            )
        return client

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        """Sum, min or max of the workers' inputs, element by element.

        Args:
            input: a number, a list or tuple of numbers, or an array; equal shapes on all workers.
            mode (str): sum, min or max.
            comm_world (str): 'worker'.

        Returns:
            The same kind of thing as input (a list for a tuple), on every worker. Integers
            beyond 2^53 lose their last bits: numbers travel as float64.

        Raises:
            ValueError: mode is another one.
            TypeError: input is no numbers.
        """
        import numpy as np

        check_choice("fleet.util.all_reduce", "mode", mode, _OPERATIONS)
        array = np.asarray(input)
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"[fleet.util.all_reduce] input: expected numbers, got {type(input).__name__} of "
                f"dtype {array.dtype}."
            )
        client = self._partners("all_reduce", comm_world)
        if client is None:
            return list(input) if isinstance(input, tuple) else input
        values = np.array(array, dtype=np.float64).ravel()
        client.all_reduce(values, mode)
        dtype = array.dtype if array.dtype.kind != "b" else np.dtype("int64")
        if dtype.kind in "iu":
            values = np.rint(values)
        result = values.astype(dtype).reshape(array.shape)
        if isinstance(input, np.ndarray):
            return result
        return result.tolist() if array.ndim else result.item()

    def barrier(self, comm_world="worker"):
        """Waits until all workers have come here. On a server, and on a worker after stop_worker, where
        all have met for the last time, it returns at once.

        Args:
            comm_world (str): 'worker'.
        """
        if comm_world == "worker" and (self._roles("barrier")._is_server() or self._stopped()):
            return
        client = self._partners("barrier", comm_world)
        if client is not None:
            client.barrier("fleet.util.barrier")

    def all_gather(self, input, comm_world="worker"):
        """The workers' inputs.

        Args:
            input: Numbers, strings, lists, dicts or arrays.
            comm_world (str): 'worker'.

        Returns:
            list: By worker number.
        """
        client = self._partners("all_gather", comm_world)
        if client is None:
            return [input]
        return [_decode(data) for data in client.all_gather(_encode(input))]

    def get_file_shard(self, files):
        """This worker's share of a list of files.

        Args:
            files (list[str]): All of them.

        Returns:
            list[str]: Consecutive ones; the first workers have one more.

        Raises:
            TypeError: files is no list.
        """
        if not isinstance(files, list):
            raise TypeError(
                "files should be a list of file need to be read. ([fleet.util.get_file_shard] got "
                f"{type(files).__name__})"
            )
        roles = self._roles("get_file_shard")
        number, workers = roles._worker_index(), roles._worker_num()
        each, more = divmod(len(files), workers)
        start = number * each + min(number, more)
        return files[start : start + each + (number < more)]

    get_heter_file_shard = get_file_shard

    def print_on_rank(self, message, rank_id):
        """Prints a message on one worker.

        Args:
            message (str): It.
            rank_id (int): The worker's number.
        """
        if self._roles("print_on_rank")._worker_index() == rank_id:
            print(message, flush=True)
