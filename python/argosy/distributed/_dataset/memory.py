"""InMemoryDataset: samples that stay in memory, packed, and are shuffled there."""

from __future__ import annotations

import threading
import warnings
import weakref

from argosy import _core
from argosy._support import no_effect, unsupported

from .base import _SETTINGS, DatasetBase, _whole

_NAME = "InMemoryDataset"
_CANDIDATES = 10000
_FEED = "MultiSlotInMemoryDataFeed"


class InMemoryDataset(DatasetBase):
    r"""Samples of text files, loaded into memory: see DatasetBase for what a line holds.

    Zeros in slots of variable length are padding, as in Paddle, and are dropped while loading; a list
    of nothing but zeros keeps one.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> label = argosy.static.data("label", [-1, 1], "int64")
        >>> x = argosy.static.data("x", [-1, 2], "float32")
        >>> dataset = argosy.distributed.InMemoryDataset()
        >>> dataset.init(batch_size=2, use_var=[label, x], fea_eval=True)
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("1 1 2 0.5 2.5\n1 0 2 1.0 0.0\n1 1 2 4.0 0.5\n")
        ...     file.flush()
        ...     dataset.set_filelist([file.name])
        ...     dataset.preload_into_memory()
        ...     dataset.wait_preload_done()
        >>> dataset.local_shuffle()
        >>> dataset.global_shuffle()
        >>> dataset.slots_shuffle(["x"])
        >>> dataset.get_memory_data_size(), dataset.get_shuffle_data_size()
        (3, 3)
        >>> dataset.set_date(20261124)
        >>> dataset.update_settings(batch_size=3)
        >>> exe = argosy.static.Executor()
        >>> exe.infer_from_dataset(dataset=dataset)
        >>> dataset.release_memory()
        >>> dataset.get_memory_data_size()
        0
    """

    _more_settings = (
        "candidate_size", "data_feed_type", "fea_eval", "fleet_send_batch_size",
        "fleet_send_sleep_seconds", "merge_size", "parse_content", "parse_ins_id", "queue_num",
    )  # fmt: skip

    def __init__(self):
        super().__init__()
        self._parse_ins_id = self._parse_content = False
        self._merge_size = 0
        self._fea_eval = False
        self._records = None
        self._preload = None
        self._shuffled = 0

    def init(self, **kwargs):
        """Settings, as of QueueDataset.init, and these:

        Args:
            parse_ins_id (bool): Lines begin with '1 ID', the id of the sample.
            parse_content (bool): Then '1 TEXT' follows, which is passed over.
            merge_size (int): > 0: global_shuffle brings samples of one id together as one (lists are
                joined) and drops those of which there are not as many; parses ids.
            fea_eval (bool): slots_shuffle may be called.
            candidate_size, data_feed_type, queue_num, fleet_send_batch_size,
                fleet_send_sleep_seconds: Have no effect, and are told so where they are given.
        """
        super().init(**kwargs)
        self._init_distributed_settings(**kwargs)

    def _check_names(self, what, kwargs):
        # As Paddle, which passes over what it does not know.
        known = {**_SETTINGS, **dict.fromkeys(self._more_settings)}
        unknown = [name for name in kwargs if name not in known]
        if unknown:
            warnings.warn(
                f"[{type(self).__name__}.{what}] settings without effect: {unknown}; there are"
                f" {sorted(known)}.",
                stacklevel=4,
            )

    def _init_distributed_settings(self, **kwargs):
        if kwargs.get("merge_size", -1) > 0:
            self._set_merge_by_lineid(kwargs["merge_size"])
        if "parse_ins_id" in kwargs:
            self._set_parse_ins_id(kwargs["parse_ins_id"])
        if "parse_content" in kwargs:
            self._set_parse_content(kwargs["parse_content"])
        if kwargs.get("fea_eval"):
            self._set_fea_eval(kwargs.get("candidate_size", _CANDIDATES))
        for name in ("queue_num", "fleet_send_batch_size", "fleet_send_sleep_seconds"):
            if kwargs.get(name) is not None:
                getattr(self, f"_set_{name}")(kwargs[name])
        feed = kwargs.get("data_feed_type", _FEED)
        no_effect(_NAME, "lines are in MultiSlot form", data_feed_type=(feed, _FEED))

    def update_settings(self, **kwargs):
        """Changes settings.

        Args:
            kwargs: As of init.

        Raises:
            ValueError, TypeError: a setting is wrong.
        """
        self._check_names("update_settings", kwargs)
        self._apply(kwargs)
        self._init_distributed_settings(**kwargs)

    def _set_parse_ins_id(self, parse_ins_id):
        self._parse_ins_id = bool(parse_ins_id) or self._merge_size > 0

    def _set_parse_content(self, parse_content):
        self._parse_content = bool(parse_content)

    def _set_merge_by_lineid(self, merge_size=2):
        self._merge_size = _whole("merge_size", merge_size)
        self._parse_ins_id = True

    def _set_fea_eval(self, record_candidate_size, fea_eval=True):
        _whole("record_candidate_size", record_candidate_size)
        self._fea_eval = bool(fea_eval)
        no_effect(
            _NAME, "slots_shuffle draws from all samples in memory",
            record_candidate_size=(record_candidate_size, _CANDIDATES),
        )  # fmt: skip

    def _set_queue_num(self, queue_num):
        _whole("queue_num", queue_num)
        no_effect(_NAME, "samples are in one place for all threads", queue_num=(queue_num, None))

    def _set_fleet_send_batch_size(self, fleet_send_batch_size=1024):
        _whole("fleet_send_batch_size", fleet_send_batch_size)
        no_effect(
            _NAME, "pieces of 1 MiB are sent", fleet_send_batch_size=(fleet_send_batch_size, 1024)
        )

    def _set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds=0):
        _whole("fleet_send_sleep_seconds", fleet_send_sleep_seconds, 0)
        no_effect(
            _NAME, "who receives says when there is room",
            fleet_send_sleep_seconds=(fleet_send_sleep_seconds, 0),
        )  # fmt: skip

    def _format(self):
        slots = super()._format()[0]
        return (slots, self._parse_ins_id, self._parse_content, True)

    # --- loading ---

    def load_into_memory(self, is_shuffle=False):
        """Adds all samples of the files to those in memory.

        Args:
            is_shuffle (bool): Shuffle them, too.

        Raises:
            ValueError: a line is bad; RuntimeError: a pipe_command failed; OSError: no such file;
            TimeoutError: nothing moved for the timeout of the data set.
        """
        self.preload_into_memory()
        self.wait_preload_done()
        if is_shuffle:
            self.local_shuffle()

    def preload_into_memory(self, thread_num=None):
        """Begins to load, and returns.

        Args:
            thread_num (int, optional): Files that are read at the same time.

        Raises:
            RuntimeError: Loading is under way.
        """
        if self._preload is not None:
            raise RuntimeError(
                "[preload_into_memory] loading is under way. Do this: wait_preload_done() first."
            )
        readers = self.thread_num if thread_num is None else _whole("thread_num", thread_num)
        options = self._read_options(readers)
        if self._records is None:
            self._loaded_format = self._format()
            self._records = _core.records_new(self._loaded_format)
        self._check_format()
        self._preload = _Loading(self._records, options)

    def _check_format(self):
        if self._loaded_format != self._format():
            raise RuntimeError(
                "[InMemoryDataset] use_var or what else lines hold was changed, and samples of the old"
                " form are in memory. Do this: release_memory() first."
            )

    def wait_preload_done(self):
        """Waits for preload_into_memory, and raises what went wrong there."""
        loading = self._preload
        if loading is None:
            return
        try:
            loading.wait()
        finally:
            self._preload = None

    def release_memory(self):
        """Forgets all samples."""
        self.wait_preload_done()
        self._records = None
        self._shuffled = 0

    def _loaded(self, what):
        self.wait_preload_done()
        if self._records is None:
            raise RuntimeError(
                f"[InMemoryDataset.{what}] nothing is loaded. Do this: load_into_memory() first."
            )
        return self._records

    # --- order ---

    def local_shuffle(self):
        """Shuffles the samples of this process; argosy.seed says how."""
        records = self._loaded("local_shuffle")
        _core.records_shuffle(records, None)
        self._shuffled = _core.records_size(records)[0]

    def global_shuffle(self, fleet=None, thread_num=12):
        """Shuffles the samples of all workers: each goes to one of them by chance, or by its id if ids
        are parsed. Alone, or without a fleet, as local_shuffle.

        Args:
            fleet (Fleet, optional): Whose workers take part; all of them must call this.
            thread_num (int): Has no effect: one thread shuffles.
        """
        records = self._loaded("global_shuffle")
        _whole("thread_num", thread_num)
        no_effect("global_shuffle", "one thread shuffles", thread_num=(thread_num, 12))
        if fleet is not None and fleet.worker_num() > 1:
            from .exchange import exchange

            parts = _core.records_take_parts(records, fleet.worker_num(), None)
            for part in exchange(fleet, parts):
                _core.records_add_part(records, part)
        if self._merge_size:
            _core.records_merge(records, self._merge_size)
        self.local_shuffle()

    def slots_shuffle(self, slots):
        """Gives each sample the values of these slots of another, drawn out of all: how much worse the
        model does tells what the slots are worth. Each call starts from the samples as they were.
        Needs fea_eval=True.

        Args:
            slots (list[str]): Names of variables.

        Raises:
            RuntimeError: fea_eval is not set.
        """
        if not self._fea_eval:
            raise RuntimeError(
                "[slots_shuffle] this data set is for training. Do this: init(fea_eval=True)."
            )
        _core.records_shuffle_slots(self._loaded("slots_shuffle"), list(slots), None)

    # --- sizes ---

    def _size(self, fleet, value):
        if fleet is None or fleet.worker_num() <= 1:
            return value
        import numpy

        return int(fleet.util.all_reduce(numpy.array([value]), "sum", "worker")[0])

    def get_memory_data_size(self, fleet=None):
        """Samples in memory.

        Args:
            fleet (Fleet, optional): Of all its workers; default: of this process.

        Returns:
            int: How many.
        """
        self.wait_preload_done()
        local = 0 if self._records is None else _core.records_size(self._records)[0]
        return self._size(fleet, local)

    def get_shuffle_data_size(self, fleet=None):
        """Samples that the last shuffle left in memory.

        Args:
            fleet (Fleet, optional): Of all its workers; default: of this process.

        Returns:
            int: How many.
        """
        return self._size(fleet, self._shuffled)

    def get_bad_line_count(self):
        """How many lines were skipped (bad_lines='skip') while loading."""
        return 0 if self._records is None else _core.records_size(self._records)[2]

    def set_date(self, date):
        """Checks that something is a date. (Tables are told the day by fleet.set_date.)

        Args:
            date (int | str): Such as 20211111 or 211111.

        Raises:
            ValueError: It is none.
        """
        text = str(date)
        if len(text) not in (6, 8) or not text.isdigit():
            raise ValueError(f"[set_date] expected YYYYMMDD or YYMMDD, got {date!r}.")
        self._date = text

    def tdm_sample(self, tree_name, tree_path, tdm_layer_counts, start_sample_layer, with_hierarchy,
                   seed, id_slot):  # fmt: skip
        """Sampling of index trees: not in this version.

        Args:
            tree_name, tree_path, tdm_layer_counts, start_sample_layer: Of the tree.
            with_hierarchy, seed, id_slot: How to draw.

        Raises:
            NotImplementedError: always.

        Example:
            >>> argosy.distributed.InMemoryDataset().tdm_sample("t", "t", [], 0, True, 0, 0)
            Traceback (most recent call last):
            NotImplementedError
        """
        raise NotImplementedError(
            "[tdm_sample] there is no sampling of index trees. Do this: sample in the data generator."
        )

    def _start(self, threads):
        records = self._loaded("train_from_dataset")
        self._check_format()
        return _core.records_batches(records, self._batch_size)


class _Loading:
    """A thread that loads; an error is kept for wait()."""

    def __init__(self, records, options):
        self._error = None
        # Not the thread's own end: a join that Ctrl-C interrupts takes it for ended.
        self._ended = threading.Event()
        threading.Thread(target=self._run, args=(records, options), daemon=True).start()
        # No thread may be in C++ while the interpreter ends.
        self._stop = weakref.finalize(self, _stop_loading, records, self._ended)

    def _run(self, records, options):
        try:
            _core.records_load(records, options)
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def wait(self):
        try:
            while not self._ended.wait(0.1):
                pass
        except BaseException:
            self._stop()
            raise
        if self._error is not None:
            raise self._error


def _stop_loading(records, ended):
    while not ended.is_set():  # it may not have begun
        _core.records_stop_loading(records)
        ended.wait(0.01)


class BoxPSDataset(InMemoryDataset):
    """InMemoryDataset with the pass marks of programs written for BoxPS, which do nothing here.

    Example:
        >>> dataset = argosy.distributed.fleet.BoxPSDataset()
        >>> dataset.begin_pass()
        >>> dataset.end_pass(need_save_delta=False)
    """

    def begin_pass(self):
        """Does nothing: tables are reached by steps, not by passes."""

    def end_pass(self, need_save_delta):
        """Does nothing: see begin_pass.

        Args:
            need_save_delta (bool): Only False.

        Raises:
            NotImplementedError: need_save_delta is true.
        """
        unsupported(
            "end_pass", "fleet.save_persistables(exe, dirname, mode=1)",
            need_save_delta=(bool(need_save_delta), False),
        )  # fmt: skip
