"""File systems behind one interface: this machine's, and Hadoop's through its command line."""

import concurrent.futures
import functools
import os
import secrets
import shutil
import subprocess
import time

__all__ = [
    "ExecuteError",
    "FS",
    "FSFileExistsError",
    "FSFileNotExistsError",
    "FSShellCmdAborted",
    "FSTimeOut",
    "HDFSClient",
    "LocalFS",
]


class ExecuteError(Exception):
    """A command of the file system failed."""


class FSFileExistsError(Exception):
    """The target exists."""


class FSFileNotExistsError(Exception):
    """The source does not exist."""


class FSTimeOut(Exception):
    """An operation failed again and again until its time was over."""


class FSShellCmdAborted(ExecuteError):
    """The command could not be run, or was killed."""


class FS:
    """What a file system can do.

    Example:
        >>> import os, tempfile
        >>> fs = argosy.distributed.fleet.utils.LocalFS()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     a, b = os.path.join(folder, "a"), os.path.join(folder, "b")
        ...     fs.touch(a)
        ...     fs.mv(a, b)
        ...     fs.rename(b, a)
        ...     fs.mkdirs(b)
        ...     fs.is_file(a), fs.is_dir(b), fs.is_exist(b), fs.list_dirs(folder), fs.ls_dir(folder)
        ...     fs.delete(b)
        (True, True, True, ['b'], (['b'], ['a']))
        >>> fs.need_upload_download()
        False
    """

    def ls_dir(self, fs_path):
        """What is in a folder.

        Args:
            fs_path (str): The folder.

        Returns:
            tuple[list[str], list[str]]: Names of folders, names of files; none if it does not exist.
        """
        raise NotImplementedError

    def is_file(self, fs_path):
        """Whether something is a file.

        Args:
            fs_path (str): Its path.

        Returns:
            bool: That.
        """
        raise NotImplementedError

    def is_dir(self, fs_path):
        """Whether something is a folder.

        Args:
            fs_path (str): Its path.

        Returns:
            bool: That.
        """
        raise NotImplementedError

    def is_exist(self, fs_path):
        """Whether there is such a file or folder.

        Args:
            fs_path (str): Its path.

        Returns:
            bool: That.
        """
        raise NotImplementedError

    def upload(self, local_path, fs_path):
        """Copies from this machine.

        Args:
            local_path (str): From where.
            fs_path (str): To where.
        """
        raise NotImplementedError

    def download(self, fs_path, local_path):
        """Copies to this machine.

        Args:
            fs_path (str): From where.
            local_path (str): To where.
        """
        raise NotImplementedError

    def mkdirs(self, fs_path):
        """Makes a folder and those above it.

        Args:
            fs_path (str): Its path.
        """
        raise NotImplementedError

    def delete(self, fs_path):
        """Removes a file or a folder with all in it; nothing if it does not exist.

        Args:
            fs_path (str): Its path.
        """
        raise NotImplementedError

    def need_upload_download(self):
        """Whether files must be copied to be read.

        Returns:
            bool: That.
        """
        raise NotImplementedError

    def rename(self, fs_src_path, fs_dst_path):
        """Gives a file or folder another name.

        Args:
            fs_src_path (str): The old path.
            fs_dst_path (str): The new one.
        """
        raise NotImplementedError

    def mv(self, fs_src_path, fs_dst_path, overwrite=False, test_exists=False):
        """Renames, checking source and target.

        Args:
            fs_src_path (str): The old path.
            fs_dst_path (str): The new one.
            overwrite (bool): Whether a target that is there is removed before.
            test_exists (bool): Whether source and target are looked at before.
        """
        raise NotImplementedError

    def upload_dir(self, local_dir, dest_dir):
        """Copies a folder from this machine.

        Args:
            local_dir (str): From where.
            dest_dir (str): To where.
        """
        raise NotImplementedError

    def list_dirs(self, fs_path):
        """Names of the folders in a folder.

        Args:
            fs_path (str): The folder.

        Returns:
            list[str]: Names.
        """
        raise NotImplementedError

    def touch(self, fs_path, exist_ok=True):
        """Makes an empty file.

        Args:
            fs_path (str): Its path.
            exist_ok (bool): Whether it may be there already.
        """
        raise NotImplementedError

    def cat(self, fs_path=None):
        """The text of a file.

        Args:
            fs_path (str): Its path.

        Returns:
            str: All of it.
        """
        raise NotImplementedError


def _aside(path):
    """Where something is kept while another takes its place."""
    return f"{path.rstrip('/')}.replaced-{secrets.token_hex(8)}"


def _lies_in(who, source, target):
    return ValueError(
        f"[{who}.mv] {source} lies in {target}, which would be deleted. Do this: move it out first."
    )


class LocalFS(FS):
    """The file system of this machine."""

    def ls_dir(self, fs_path):
        if not self.is_exist(fs_path):
            return [], []
        dirs, files = [], []
        for name in sorted(os.listdir(fs_path)):
            (dirs if os.path.isdir(os.path.join(fs_path, name)) else files).append(name)
        return dirs, files

    def list_dirs(self, fs_path):
        return self.ls_dir(fs_path)[0]

    def mkdirs(self, fs_path):
        if os.path.isfile(fs_path):
            raise FSFileExistsError(f"[LocalFS.mkdirs] {fs_path} is a file.")
        os.makedirs(fs_path, exist_ok=True)

    def rename(self, fs_src_path, fs_dst_path):
        os.rename(fs_src_path, fs_dst_path)

    def delete(self, fs_path):
        if os.path.isdir(fs_path) and not os.path.islink(fs_path):
            shutil.rmtree(fs_path)
        elif os.path.lexists(fs_path):
            os.remove(fs_path)

    def need_upload_download(self):
        return False

    def is_file(self, fs_path):
        return os.path.isfile(fs_path)

    def is_dir(self, fs_path):
        return os.path.isdir(fs_path)

    def is_exist(self, fs_path):
        return os.path.exists(fs_path)

    def touch(self, fs_path, exist_ok=True):
        if os.path.exists(fs_path):
            if exist_ok:
                return
            raise FSFileExistsError(f"[LocalFS.touch] {fs_path} exists.")
        with open(fs_path, "a"):
            pass

    def mv(self, src_path, dst_path, overwrite=False, test_exists=False):
        if not self.is_exist(src_path):
            raise FSFileNotExistsError(f"[LocalFS.mv] {src_path} does not exist.")
        if self.is_exist(dst_path):
            if not overwrite:
                raise FSFileExistsError(
                    f"[LocalFS.mv] {dst_path} exists. Do this: overwrite=True, or delete it."
                )
            self._replace(src_path, dst_path)
            return
        self.rename(src_path, dst_path)

    def _replace(self, source, target):
        """What was at `target` goes once `source` is there, so that an error loses neither."""
        if os.path.samefile(source, target):
            return
        inner, outer = os.path.realpath(source), os.path.realpath(target)
        if os.path.commonpath([inner, outer]) == outer:
            raise _lies_in("LocalFS", source, target)
        if not os.path.isdir(source) and not os.path.isdir(target):
            self.rename(source, target)
            return
        aside = _aside(target)
        os.rename(target, aside)
        try:
            self.rename(source, target)
        except BaseException:
            os.rename(aside, target)
            raise
        self.delete(aside)


def _until_timeout(function):
    """Repeats after ExecuteError until the client's time is over, then raises FSTimeOut."""

    @functools.wraps(function)
    def run(self, *args, **kwargs):
        # An operation made of others has one deadline.
        outer = self._deadline
        if outer is None:
            self._deadline = time.monotonic() + self._time_out
        why = None
        try:
            while True:
                try:
                    return function(self, *args, **kwargs)
                except ExecuteError as error:
                    if outer is not None:
                        raise
                    # A try that the deadline cut short tells less than the one before.
                    if why is None or not isinstance(error, FSShellCmdAborted):
                        why = error
                    if time.monotonic() + self._sleep >= self._deadline:
                        raise FSTimeOut(
                            f"[HDFSClient.{function.__name__}] failed for {self._time_out:g} s, "
                            f"the last time so: {why}"
                        ) from error
                    time.sleep(self._sleep)
        finally:
            self._deadline = outer

    return run


class HDFSClient(FS):
    """Hadoop's file system through `<hadoop_home>/bin/hadoop fs`.

    Args:
        hadoop_home (str): where Hadoop is installed.
        configs (dict): settings for the command, e.g. fs.default.name and hadoop.job.ugi.
        time_out (int): milliseconds within which an operation must succeed; failing commands are
            repeated until then, and FSTimeOut says how the last one failed.
        sleep_inter (int): milliseconds between two tries.
    """

    def __init__(self, hadoop_home, configs, time_out=5 * 60 * 1000, sleep_inter=1000):
        self._program = [os.path.join(hadoop_home or "", "bin", "hadoop"), "fs"]
        self._program += [f"-D{name}={value}" for name, value in (configs or {}).items()]
        self._time_out = time_out / 1000.0
        self._sleep = sleep_inter / 1000.0
        self._deadline = None

    def _run(self, *arguments, may_fail=False):
        """(exit code, output lines, error text). Raises ExecuteError unless may_fail."""
        left = self._time_out
        if self._deadline is not None:
            left = max(0.1, self._deadline - time.monotonic())
        command = self._program + list(arguments)
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=left,
            )
        except subprocess.TimeoutExpired:
            raise FSShellCmdAborted(
                f"{' '.join(arguments)}: no answer within {left:.1f} s"
            ) from None
        except OSError as error:
            raise FSShellCmdAborted(f"{command[0]}: {error.strerror or error}") from error
        errors = done.stderr.strip()
        if done.returncode < 0 or done.returncode in (126, 127, 255):
            raise FSShellCmdAborted(
                f"{' '.join(arguments)}: exit code {done.returncode}: {errors[-500:]}"
            )
        if done.returncode and not may_fail:
            raise ExecuteError(
                f"{' '.join(arguments)}: exit code {done.returncode}: {errors[-500:]}"
            )
        return done.returncode, done.stdout.splitlines(), errors

    def _test(self, what, fs_path):
        code, _, errors = self._run("-test", what, fs_path, may_fail=True)
        if code and any(
            line.startswith("test:") and "No such file" not in line for line in errors.splitlines()
        ):
            raise ExecuteError(f"-test {what} {fs_path}: {errors[-500:]}")
        return code == 0

    def _list(self, fs_path):
        """(is folder, size, path) of each entry."""
        for line in self._run("-ls", fs_path)[1]:
            parts = line.split(None, 7)
            if len(parts) == 8:
                yield parts[0].startswith("d"), int(parts[4]), parts[7]

    @_until_timeout
    def is_exist(self, fs_path):
        return self._test("-e", fs_path)

    @_until_timeout
    def is_dir(self, fs_path):
        return self._test("-d", fs_path)

    @_until_timeout
    def is_file(self, fs_path):
        return self._test("-e", fs_path) and not self._test("-d", fs_path)

    @_until_timeout
    def ls_dir(self, fs_path):
        if not self._test("-e", fs_path):
            return [], []
        dirs, files = [], []
        for folder, _, path in self._list(fs_path):
            (dirs if folder else files).append(os.path.basename(path.rstrip("/")))
        return dirs, files

    def list_dirs(self, fs_path):
        return self.ls_dir(fs_path)[0]

    @_until_timeout
    def list_files_info(self, path_list):
        """The files in some folders.

        Args:
            path_list (list[str]): The folders.

        Returns:
            list[dict]: path and size of each.
        """
        out = []
        for fs_path in path_list:
            out += [
                {"path": p, "size": size} for folder, size, p in self._list(fs_path) if not folder
            ]
        return out

    @_until_timeout
    def mkdirs(self, fs_path):
        if not self._test("-d", fs_path):
            self._run("-mkdir", "-p", fs_path)

    @_until_timeout
    def delete(self, fs_path):
        if self._test("-e", fs_path):
            self._run("-rm", "-r", fs_path)

    @_until_timeout
    def touch(self, fs_path, exist_ok=True):
        if self._test("-e", fs_path):
            if exist_ok:
                return
            raise FSFileExistsError(f"[HDFSClient.touch] {fs_path} exists.")
        self._run("-touchz", fs_path)

    def rename(self, fs_src_path, fs_dst_path):
        self.mv(fs_src_path, fs_dst_path)

    def mv(self, fs_src_path, fs_dst_path, overwrite=False, test_exists=True):
        if (test_exists or overwrite) and not self.is_exist(fs_src_path):
            raise FSFileNotExistsError(f"[HDFSClient.mv] {fs_src_path} does not exist.")
        there = (test_exists or overwrite) and self.is_exist(fs_dst_path)
        if there and not overwrite:
            raise FSFileExistsError(
                f"[HDFSClient.mv] {fs_dst_path} exists. Do this: overwrite=True, or delete it."
            )
        if not there:
            self._move(fs_src_path, fs_dst_path)
            return
        if fs_src_path.rstrip("/") == fs_dst_path.rstrip("/"):
            return
        if fs_src_path.startswith(fs_dst_path.rstrip("/") + "/"):
            raise _lies_in("HDFSClient", fs_src_path, fs_dst_path)
        # Removed last, so that an error loses neither.
        aside = _aside(fs_dst_path)
        self._move(fs_dst_path, aside)
        try:
            self._move(fs_src_path, fs_dst_path)
        except BaseException:
            self._move(aside, fs_dst_path)
            raise
        self.delete(aside)

    @_until_timeout
    def _move(self, source, target):
        try:
            self._run("-mv", source, target)
        except ExecuteError:
            # A try whose answer was lost has moved it.
            if not (self._test("-e", target) and not self._test("-e", source)):
                raise

    def upload_dir(self, local_dir, dest_dir, overwrite=False):
        self._upload("upload_dir", local_dir, dest_dir, 5, overwrite)

    def upload(self, local_path, fs_path, multi_processes=5, overwrite=False):
        """Copies a file or a folder (with multi_processes commands at once) from this machine.

        Raises FSFileNotExistsError without the source, FSFileExistsError if the target exists and
        overwrite is False.
        """
        self._upload("upload", local_path, fs_path, multi_processes, overwrite)

    def _upload(self, name, local_path, fs_path, processes, overwrite):
        if not os.path.exists(local_path):
            raise FSFileNotExistsError(f"[HDFSClient.{name}] {local_path} does not exist.")
        if self.is_exist(fs_path):
            if not overwrite:
                raise FSFileExistsError(
                    f"[HDFSClient.{name}] {fs_path} exists. Do this: overwrite=True, or delete it."
                )
            self._put_aside(local_path, fs_path, processes)
        else:
            self._put_all(local_path, fs_path, processes)

    def _put_aside(self, local_path, fs_path, processes):
        """What is there goes once all of the new is."""
        new = _aside(fs_path)
        try:
            self._put_all(local_path, new, processes)
        except BaseException:
            self._run("-rm", "-r", new, may_fail=True)
            raise
        self.mv(new, fs_path, overwrite=True)

    def _put_all(self, local_path, fs_path, processes):
        if os.path.isfile(local_path):
            self._put(local_path, fs_path)
            return
        self.mkdirs(fs_path)
        jobs = []
        for entry in sorted(os.listdir(local_path)):
            jobs.append((os.path.join(local_path, entry), f"{fs_path.rstrip('/')}/{entry}"))
        self._all(HDFSClient._put, jobs, processes)

    @_until_timeout
    def _put(self, local_path, fs_path):
        try:
            self._run("-put", local_path, fs_path)
        except ExecuteError:
            self._run("-rm", "-r", fs_path, may_fail=True)  # what a failed copy left
            raise

    def download(self, fs_path, local_path, multi_processes=5, overwrite=False):
        """Copies a file or a folder (with multi_processes commands at once) to this machine.

        Raises FSFileNotExistsError without the source, FSFileExistsError if the target exists and
        overwrite is False.
        """
        if not self.is_exist(fs_path):
            raise FSFileNotExistsError(f"[HDFSClient.download] {fs_path} does not exist.")
        local = LocalFS()
        if local.is_exist(local_path):
            if not overwrite:
                raise FSFileExistsError(
                    f"[HDFSClient.download] {local_path} exists. Do this: overwrite=True, or "
                    "delete it."
                )
            self._get_aside(fs_path, local_path, multi_processes)
        else:
            self._get_all(fs_path, local_path, multi_processes)

    def _get_aside(self, fs_path, local_path, processes):
        """What is there goes once all of the new is."""
        local, new = LocalFS(), _aside(local_path)
        try:
            self._get_all(fs_path, new, processes)
        except BaseException:
            local.delete(new)
            raise
        local.mv(new, local_path, overwrite=True)

    def _get_all(self, fs_path, local_path, processes):
        if self.is_file(fs_path):
            self._get(fs_path, local_path)
            return
        LocalFS().mkdirs(local_path)
        dirs, files = self.ls_dir(fs_path)
        jobs = [(f"{fs_path.rstrip('/')}/{n}", os.path.join(local_path, n)) for n in dirs + files]
        self._all(HDFSClient._get, jobs, processes)

    @_until_timeout
    def _get(self, fs_path, local_path):
        try:
            self._run("-get", fs_path, local_path)
        except ExecuteError:
            LocalFS().delete(local_path)
            raise

    def _all(self, function, jobs, processes):
        """function(client, *job) for every job, some at a time; the first error is raised."""

        def run(job):
            # A client of its own: deadlines are per operation.
            client = HDFSClient.__new__(type(self))
            client.__dict__.update(self.__dict__, _deadline=None)
            function(client, *job)

        with concurrent.futures.ThreadPoolExecutor(max(1, int(processes))) as pool:
            for done in [pool.submit(run, job) for job in jobs]:
                done.result()

    @_until_timeout
    def cat(self, fs_path=None):
        if fs_path is None or not self._test("-e", fs_path) or self._test("-d", fs_path):
            return ""
        return "\n".join(self._run("-cat", fs_path)[1])

    def need_upload_download(self):
        return True
