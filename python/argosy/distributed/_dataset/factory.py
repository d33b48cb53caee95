"""Data sets by their old names: DatasetFactory, and set_* instead of init."""

from __future__ import annotations

from . import base, memory


class DatasetFactory:
    """Makes data sets by the name of their class."""

    def create_dataset(self, datafeed_class="QueueDataset"):
        """A data set whose settings are made by set_batch_size, set_use_var and so on.

        Args:
            datafeed_class (str): 'QueueDataset', 'InMemoryDataset', 'FileInstantDataset' or
                'BoxPSDataset'.
        """
        made = _CLASSES.get(datafeed_class)
        if made is None:
            raise ValueError(
                f"datafeed class {datafeed_class} does not exist; there are {sorted(_CLASSES)}."
            )
        return made()


class _Settings:
    """The setters of the old interface."""

    def set_batch_size(self, batch_size):
        """Samples in a batch."""
        self._set_batch_size(batch_size)

    def set_thread(self, thread_num):
        """Threads that train and read."""
        self._set_thread(thread_num)

    def set_use_var(self, var_list):
        """Variables, in the order of the slots in a line."""
        self._set_use_var(var_list)

    def set_pipe_command(self, pipe_command):
        """A shell command between files and parser."""
        self._set_pipe_command(pipe_command)

    def set_input_type(self, input_type):
        """Has no effect."""
        self._set_input_type(input_type)

    def set_hdfs_config(self, fs_name, fs_ugi):
        """Of the file system of files named hdfs:.. or afs:..."""
        self._set_hdfs_config(fs_name, fs_ugi)

    def set_download_cmd(self, download_cmd):
        """Fetches such files."""
        self._set_download_cmd(download_cmd)

    def set_bad_lines(self, bad_lines):
        """'error' or 'skip'."""
        self._set_bad_lines(bad_lines)

    def set_timeout(self, timeout):
        """Seconds without a byte; math.inf: for ever."""
        self._set_timeout(timeout)

    def set_fea_eval(self, record_candidate_size, fea_eval=True):
        """Whether slots_shuffle may be called: of data sets in memory."""
        self._set_fea_eval(record_candidate_size, fea_eval)

    def desc(self):
        """The settings as text."""
        return self._desc()

    def _no_shuffle(self, what):
        raise NotImplementedError(
            f"{type(self).__name__} does not support {what}. Do this: use InMemoryDataset."
        )


class QueueDataset(_Settings, base.QueueDataset):
    """See argosy.distributed.QueueDataset."""

    def local_shuffle(self):
        """Not for files that are read as they come."""
        self._no_shuffle("local shuffle")

    def global_shuffle(self, fleet=None):
        """Not for files that are read as they come."""
        self._no_shuffle("global shuffle")


class FileInstantDataset(QueueDataset):
    """See argosy.distributed.QueueDataset."""


class _MemorySettings(_Settings):
    def set_queue_num(self, queue_num):
        """Has no effect."""
        self._set_queue_num(queue_num)

    def set_parse_ins_id(self, parse_ins_id):
        """Whether lines begin with the id of the sample."""
        self._set_parse_ins_id(parse_ins_id)

    def set_parse_content(self, parse_content):
        """Whether lines have content that is passed over."""
        self._set_parse_content(parse_content)

    def set_merge_by_lineid(self, merge_size=2):
        """Whether samples of one id become one."""
        self._set_merge_by_lineid(merge_size)

    def set_fleet_send_batch_size(self, fleet_send_batch_size=1024):
        """Has no effect."""
        self._set_fleet_send_batch_size(fleet_send_batch_size)

    def set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds=0):
        """Has no effect."""
        self._set_fleet_send_sleep_seconds(fleet_send_sleep_seconds)


class InMemoryDataset(_MemorySettings, memory.InMemoryDataset):
    """See argosy.distributed.InMemoryDataset."""


class BoxPSDataset(_MemorySettings, memory.BoxPSDataset):
    """See argosy.distributed.InMemoryDataset."""


_CLASSES = {
    c.__name__: c for c in (QueueDataset, InMemoryDataset, FileInstantDataset, BoxPSDataset)
}
