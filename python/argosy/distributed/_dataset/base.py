"""What the data sets of train_from_dataset share: settings, and the form of their slots."""

from __future__ import annotations

from argosy import _core
from argosy._support import check_choice, dtype_name, no_effect, unsupported
from argosy._waits import checked_seconds, data_timeout

_READ_AHEAD = 4  # batches that wait for each thread

_SETTINGS = {
    "batch_size": 1, "thread_num": 1, "use_var": (), "pipe_command": "cat", "input_type": 0,
    "fs_name": "", "fs_ugi": "", "download_cmd": "cat", "bad_lines": "error", "timeout": None,
}  # fmt: skip


def _whole(name, value, least=1):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"[dataset] {name}: expected an integer >= {least}, got {value!r}.")
    return value


def _text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"[dataset] {name}: expected a str, got {type(value).__name__}.")
    return value


class DatasetBase:
    """Text files in MultiSlot form, of which batches are made.

    A line is a sample. For each variable of ``use_var``, in order, it has a count and as many numbers:
    ``1 17 3 0.5 0.25 1``. A variable with lod_level 1 takes any count (0 too) and becomes a batch of
    sequences; another takes as many numbers as its sizes after the first say. int64 variables take
    unsigned feature signs up to 2**64 - 1 and hold the same bits. Blank lines are passed over. Files
    may be packed by gzip.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 2], "float32")
        >>> dataset = argosy.distributed.QueueDataset()
        >>> dataset.init(batch_size=2, use_var=[x])
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write("2 0.5 2.5\\n2 1.0 0.0\\n")
        ...     file.flush()
        ...     dataset.set_filelist([file.name])
        ...     exe = argosy.static.Executor()
        ...     exe.infer_from_dataset(dataset=dataset)
        >>> dataset.get_bad_line_count()
        0
    """

    def __init__(self):
        self.thread_num = 1
        self.filelist = []
        self._vars = []
        self._batch_size = 1
        self._pipe_command = "cat"
        self._input_type = 0
        self._fs_name = self._fs_ugi = ""
        self._download_cmd = "cat"
        self._skip_bad_lines = False
        self._timeout = data_timeout()
        self._last_source = None

    def init(self, **kwargs):
        """Settings of the data set.

        Args:
            batch_size (int): Samples in a batch.
            thread_num (int): Threads that train (unless train_from_dataset says how many) and read.
            use_var (list): Variables, in the order of the slots in a line.
            pipe_command (str): A shell command that gets each file on stdin, unpacked, and writes
                lines. Each file has its own process. 'cat': none.
            input_type (int): 0, lines are samples; others have no effect.
            fs_name, fs_ugi (str): Of the file system of files named hdfs:.. or afs:.., which
                `hadoop fs -cat` fetches.
            download_cmd (str): Fetches such files instead: called with the name as last argument.
            bad_lines (str): 'error', a line that cannot be read raises ValueError with file, line
                number and reason; 'skip', it is counted (get_bad_line_count) and left out.
            timeout (float): Seconds without a byte read or written by a file, pipe_command or
                download, after which it is a TimeoutError; also those that threads wait for each
                other. math.inf: for ever. None: what ARGOSY_DATA_TIMEOUT says, 600.
            kwargs: All of these.

        Raises:
            ValueError, TypeError: a setting is wrong.
        """
        self._check_names("init", kwargs)
        values = {**_SETTINGS, **{k: v for k, v in kwargs.items() if k in _SETTINGS}}
        self._apply(values)

    def _set_use_ps_gpu(self, use_ps_gpu):
        """Whether tables lie on GPUs: no."""
        if use_ps_gpu:
            raise NotImplementedError(
                "[dataset] _set_use_ps_gpu: tables on GPUs are not supported. Do this: give False."
            )

    # Settings besides those of _SETTINGS.
    _more_settings = ()

    def _check_names(self, what, kwargs):
        for name in kwargs:
            if name not in _SETTINGS and name not in self._more_settings:
                known = sorted((*_SETTINGS, *self._more_settings))
                raise ValueError(
                    f"[{type(self).__name__}.{what}] there is no setting '{name}'; there are {known}."
                )

    def _apply(self, values):
        for name, value in values.items():
            if name == "thread_num":
                self._set_thread(value)
            elif name in ("fs_name", "fs_ugi"):
                setattr(self, f"_{name}", _text(name, value))
            elif name in _SETTINGS:
                getattr(self, f"_set_{name}")(value)

    def _set_batch_size(self, batch_size):
        self._batch_size = _whole("batch_size", batch_size)

    def _set_thread(self, thread_num):
        self.thread_num = _whole("thread_num", thread_num)

    def _set_use_var(self, var_list):
        self._vars = [_slot(v) for v in var_list]
        names = [name for name, _, _, _ in self._vars]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"[dataset] use_var: '{name}' is there twice.")

    def _set_pipe_command(self, pipe_command):
        self._pipe_command = _text("pipe_command", pipe_command)

    def _set_fea_eval(self, record_candidate_size, fea_eval=True):
        unsupported(
            "set_fea_eval", "use InMemoryDataset, whose slots can be shuffled",
            fea_eval=(bool(fea_eval), False),
        )  # fmt: skip

    def _set_input_type(self, input_type):
        self._input_type = _whole("input_type", input_type, 0)
        no_effect("dataset", "lines are samples", input_type=(input_type, 0))

    def _set_hdfs_config(self, fs_name, fs_ugi):
        self._fs_name, self._fs_ugi = _text("fs_name", fs_name), _text("fs_ugi", fs_ugi)

    def _set_download_cmd(self, download_cmd):
        self._download_cmd = _text("download_cmd", download_cmd)

    def _set_bad_lines(self, bad_lines):
        check_choice("dataset", "bad_lines", bad_lines, ("error", "skip"))
        self._skip_bad_lines = bad_lines == "skip"

    def _set_timeout(self, timeout):
        self._timeout = (
            data_timeout() if timeout is None else checked_seconds("[dataset] timeout", timeout)
        )

    def set_filelist(self, filelist):
        """Sets the files of this worker, in the order in which they are read.

        Args:
            filelist (list[str]): Paths.

        Raises:
            TypeError: It is no list of paths.
        """
        if isinstance(filelist, str) or not all(isinstance(f, str) for f in filelist):
            raise TypeError(f"[set_filelist] expected a list of paths, got {filelist!r}.")
        self.filelist = list(filelist)

    def get_bad_line_count(self):
        """How many lines were skipped (bad_lines='skip') in the last pass or load.

        Returns:
            int: That.
        """
        if self._last_source is None:
            return 0
        return _core.data_progress(self._last_source)["bad_lines"]

    def _check_use_var_with_data_generator(self, var_list, data_generator_class, test_file):
        """Raises ValueError or TypeError unless what a DataGenerator makes of the lines of test_file
        fits the variables: as many slots, none empty, floats for float32, ints for others."""
        with open(test_file) as f:
            for line in f:
                for sample in data_generator_class.generate_sample(line)():
                    _check_sample(sample, var_list)

    def _desc(self):
        """The settings as text."""
        lines = [f'name: "{type(self).__name__}"', f"batch_size: {self._batch_size}"]
        for name, dtype, ragged, row in self._vars:
            kind = "float" if dtype == "float32" else "uint64"
            sizes = "" if ragged else f" shape: {[-1, *row]}"
            lines.append(f'slots {{ name: "{name}" type: "{kind}" is_dense: {not ragged}{sizes} }}')
        lines.append(f'pipe_command: "{self._pipe_command}"')
        return "\n".join(lines) + "\n"

    def _format(self):
        if not self._vars:
            raise RuntimeError(
                f"[{type(self).__name__}] it is not said which variables the lines hold. Do this:"
                " init(use_var=[..])."
            )
        return (self._vars, False, False, False)

    def _remote_command(self):
        if self._download_cmd != "cat":
            return self._download_cmd
        command = "hadoop fs"
        if self._fs_name:
            command += f" -D fs.default.name={self._fs_name}"
        if self._fs_ugi:
            command += f" -D hadoop.job.ugi={self._fs_ugi}"
        return command + " -cat"

    def _read_options(self, readers, lanes=1):
        if not self.filelist:
            raise RuntimeError(
                f"[{type(self).__name__}] there are no files. Do this: set_filelist([..])."
            )
        return (
            self._format(), self.filelist, self._batch_size, readers, lanes,
            max(_READ_AHEAD * lanes, 8), self._pipe_command, self._remote_command(),
            self._skip_bad_lines, self._timeout,
        )  # fmt: skip

    def _start(self, threads):
        """A source of batches for this many threads."""
        raise NotImplementedError


def _slot(v):
    """(name, dtype, ragged, sizes of a row) of a variable."""
    dtype = dtype_name(v.dtype)
    if dtype not in ("float32", "int64", "int32"):
        raise ValueError(
            f"[dataset] use_var: '{v.name}' is {dtype}, and slots are of float32, int64 or int32."
            " Do this: declare the variable so, and cast it in the Program."
        )
    row = list(v.shape)[1:]
    if any(s < 0 for s in row):
        raise ValueError(
            f"[dataset] use_var: '{v.name}' {list(v.shape)} leaves open how many numbers a sample"
            " has. Do this: give the sizes after the first, or lod_level=1 for lists of any length."
        )
    return v.name, v.dtype, v.lod_level > 0, row


def _check_sample(sample, var_list):
    if len(sample) != len(var_list):
        raise ValueError(
            f"var length mismatch error: var_list = {len(var_list)} vs data_generator ="
            f" {len(sample)}"
        )
    for v, (name, values) in zip(var_list, sample):
        if len(values) == 0:
            raise ValueError(f"var length error: var {name}'s length in data_generator is 0")
        wanted = float if v.dtype == "float32" else int
        if not all(isinstance(value, wanted) for value in values):
            raise TypeError(
                f"var dtype mismatch error: var name = {name}, var type in var_list ="
                f" {wanted.__name__}, while var in data_generator contains non-{wanted.__name__}"
                f" value, which is {values}. Do this: check that the order of var_list is that of the"
                " data generator."
            )


class QueueDataset(DatasetBase):
    r"""Files that are read while they are trained on, in the order of the list: see DatasetBase.

    With one thread batches come in order. With several, each reader takes the next file.

    Example:
        >>> import pathlib, tempfile
        >>> argosy.enable_static()
        >>> clicks = argosy.static.data("clicks", [-1, 1], "int64", lod_level=1)  # any number of them
        >>> loss = argosy.static.nn.embedding(clicks, [100, 4]).mean()
        >>> _ = argosy.optimizer.SGD(0.1).minimize(loss)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> dataset = argosy.distributed.QueueDataset()
        >>> dataset.init(batch_size=2, use_var=[clicks], pipe_command="tr ',' ' '", bad_lines="skip")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = [pathlib.Path(folder, name) for name in ("monday", "tuesday")]
        ...     for file in files:
        ...         _ = file.write_text("2,17,3\nno number\n1,8\n")
        ...     dataset.set_filelist([str(file) for file in files])
        ...     exe.train_from_dataset(dataset=dataset)
        >>> dataset.get_bad_line_count()
        2
    """

    def _start(self, threads):
        # Parsing is a small part of training; a command is not.
        readers = threads if self._pipe_command not in ("", "cat") else (threads + 3) // 4
        self._last_source = _core.data_read(self._read_options(readers, threads))
        return self._last_source


class FileInstantDataset(QueueDataset):
    """As QueueDataset, each pass reading the files anew.

    Example:
        >>> issubclass(argosy.distributed.fleet.FileInstantDataset, argosy.distributed.QueueDataset)
        True
    """
