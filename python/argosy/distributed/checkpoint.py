"""Checkpoints of a job: written once by all its processes, read by any number of them.

A folder holds checkpoints by number. Of checkpoint N, process R wrote `R_N.distcp`, a share of the
tensors, and the coordinator, once all of these were there, `N.metadata`: who has it has a whole one.
What is written over checkpoint N goes to `R_N.1.distcp` (and the next to `R_N.distcp` again), so that the old
one is whole until the new metadata name the new files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re

from argosy._core import Tensor
from argosy._support import check_choice, dtype_name, need_type, no_effect, unsupported
from argosy.autograd import no_grad
from argosy.framework import atomic_file, io

from ._groups import checked_group, member
from .communication.objects import all_gather_object
from .parallel import get_rank

__all__ = []

_METADATA = re.compile(r"(\d+)\.metadata")
_FORMAT = "argosy checkpoint 1"  # of the metadata


def save_state_dict(
    state_dict,
    path,
    process_group=None,
    coordinator_rank=0,
    unique_id=None,
    async_save=False,
    safetensors=False,
    save_replicas=False,
):
    """Saves what all processes have: a tensor that several have once, by one of them.

    All processes of the group call it. When it returns, the checkpoint is whole; a job that is killed
    before leaves the earlier ones as they were.

    Args:
        state_dict (dict): Of tensors, numbers and texts; may hold dicts. Where several processes have an
            entry, it is the same in all.
        path (str): A folder, which all processes see.
        process_group (Group, optional): The processes; all by default.
        coordinator_rank (int): The process that says what belongs together, and saves what is no tensor.
        unique_id (int, optional): The checkpoint's number, which is written over if it is there; by default
            one more than the highest in the folder.
        async_save (bool): Only False.
        safetensors (bool): Only False.
        save_replicas (bool): Only False.

    Raises:
        RuntimeError: One of several processes could not write its share: on all of them.
        ValueError: Processes have tensors of other shapes or dtypes under one name.

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.save_state_dict({"w": paddle.ones([2])}, "/tmp/argosy_checkpoint")
        >>> state = {"w": paddle.zeros([2])}
        >>> paddle.distributed.load_state_dict(state, "/tmp/argosy_checkpoint")
        >>> state["w"].tolist()
        [1.0, 1.0]
    """
    what = "distributed.save_state_dict"
    unsupported(
        what, "leave it out", async_save=(async_save, False), safetensors=(safetensors, False),
        save_replicas=(save_replicas, False),
    )  # fmt: skip
    need_type(what, "state_dict", state_dict, dict, "pass that of a layer or an optimizer")
    group = checked_group(what, process_group)
    if group is None:
        return
    coordinates = member(what, group, coordinator_rank) == group.rank
    flat = _flattened(what, state_dict)
    tensors = {key: value for key, value in flat.items() if isinstance(value, Tensor)}
    unique_id = _checked_id(what, unique_id)
    told = _told(group, (unique_id, _forms(tensors), _newest(path), _other_files(path, unique_id)))
    number = _agreed(what, "unique_id", [one[0] for one in told])
    if number is None:
        number = max((-1 if one[2] is None else one[2]) for one in told) + 1
    files = told[member(what, group, coordinator_rank)][3]
    owners = _owners(what, [one[1] for one in told])
    mine = {key: tensors[key] for key, owner in owners.items() if owner == group.rank}
    if coordinates:
        mine.update((key, value) for key, value in flat.items() if key not in tensors)

    def write_share():
        atomic_file.make_folders(path)
        io.save({_joined(key): value for key, value in mine.items()}, _share(path, number, files))

    _on_all(what, group, write_share)

    def write_metadata():
        keys = {key: group.ranks[owner] for key, owner in owners.items()}
        keys.update((key, get_rank()) for key in flat if key not in tensors)
        entries = [[list(key), rank] for key, rank in keys.items()]
        with atomic_file.atomic_writer(os.path.join(path, f"{number}.metadata")) as file:
            file.write(json.dumps({"format": _FORMAT, "entries": entries, "files": files}).encode())
        _remove_shares(path, number, 1 - files)

    _on_all(what, group, write_metadata if coordinates else None)


def load_state_dict(
    state_dict,
    path,
    process_group=None,
    coordinator_rank=0,
    unique_id=None,
    offload=False,
    mw_name_compatibility=True,
    aoa_config=None,
    safetensors=False,
    worker_groups=None,
    comm_method="broadcast",
):
    """Gives the entries of a dict what a checkpoint has for them, whatever number of processes saved it.

    All processes of the group call it, each with the entries that it wants.

    Args:
        state_dict (dict): Its tensors are written in place; other entries are replaced.
        path (str): The folder, which all processes see.
        process_group (Group, optional): The processes; all by default.
        coordinator_rank (int): A process of the group; each reads by itself.
        unique_id (int, optional): The checkpoint's number; the highest in the folder by default.
        offload (bool): No effect.
        mw_name_compatibility (bool): No effect.
        aoa_config (dict, optional): Only None.
        safetensors (bool): Only False.
        worker_groups (list, optional): No effect.
        comm_method (str): No effect: broadcast, send_recv, multi_group_broadcast or grouped_send_recv.

    Raises:
        ValueError: There is no such checkpoint, it lacks an entry or has it in another form. Nothing was
            written.
        RuntimeError: The same in one of several processes: on all of them.

    Example:
        >>> import argosy as paddle
        >>> layer = paddle.nn.Linear(2, 3)
        >>> paddle.distributed.save_state_dict(layer.state_dict(), "/tmp/argosy_layer")
        >>> paddle.distributed.load_state_dict(paddle.nn.Linear(2, 3).state_dict(), "/tmp/argosy_layer")
    """
    what = "distributed.load_state_dict"
    unsupported(
        what, "leave it out", aoa_config=(aoa_config, None), safetensors=(safetensors, False)
    )
    check_choice(
        what, "comm_method", comm_method,
        ("broadcast", "send_recv", "multi_group_broadcast", "grouped_send_recv"),
    )  # fmt: skip
    no_effect(
        what, "each process reads what it wants", offload=(offload, False),
        mw_name_compatibility=(mw_name_compatibility, True), worker_groups=(worker_groups, None),
        comm_method=(comm_method, "broadcast"),
    )  # fmt: skip
    need_type(what, "state_dict", state_dict, dict, "pass that of a layer or an optimizer")
    group = checked_group(what, process_group)
    if group is None:
        return
    member(what, group, coordinator_rank)
    number = _agreed(what, "unique_id", _told(group, _checked_id(what, unique_id)))
    wanted = _flattened(what, state_dict)
    found = {}
    _on_all(what, group, lambda: found.update(_found(what, wanted, path, number)))
    with no_grad():
        for key, value in wanted.items():
            if isinstance(value, Tensor):
                value.set_value(found[key])
            else:
                _put(state_dict, key, found[key])


def load_merged_state_dict(
    path, prefix=None, unique_id=None, offload=False, aoa_config=None, safetensors=False
):
    """A checkpoint as one dict, as save_state_dict was given it; for a process by itself.

    Args:
        path (str): The folder.
        prefix (str, optional): Only entries of the dict with this name, which is left out.
        unique_id (int, optional): The checkpoint's number; the highest in the folder by default.
        offload (bool): No effect.
        aoa_config (dict, optional): Only None.
        safetensors (bool): Only False.

    Returns:
        dict: Tensors and other values; dicts where there were some.

    Raises:
        ValueError: There is no such checkpoint.

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.save_state_dict({"w": paddle.ones([2])}, "/tmp/argosy_merged")
        >>> paddle.distributed.load_merged_state_dict("/tmp/argosy_merged")["w"].tolist()
        [1.0, 1.0]
    """
    what = "distributed.load_merged_state_dict"
    unsupported(
        what, "leave it out", aoa_config=(aoa_config, None), safetensors=(safetensors, False)
    )
    no_effect(what, "tensors are on the CPU anyway", offload=(offload, False))
    entries, number, files = _entries(what, path, _checked_id(what, unique_id))
    chosen = [key for key in entries if prefix is None or (key[0] == prefix and len(key) > 1)]
    found = _read(what, chosen, entries, path, number, files)
    merged = {}
    for key in chosen:
        _put(merged, key if prefix is None else key[1:], found[key])
    return merged


# Names: the way to an entry through dicts, as a tuple


def _flattened(what, state, before=()):
    flat = {}
    for name, value in state.items():
        if not isinstance(name, str):
            raise TypeError(
                f"[{what}] state_dict: expected names that are texts, got {name!r}. Do this: rename it."
            )
        key = (*before, name)
        if isinstance(value, dict):
            flat.update(_flattened(what, value, key))
        else:
            flat[key] = value
    return flat


def _put(state, key, value):
    for name in key[:-1]:
        state = state.setdefault(name, {})
    state[key[-1]] = value


def _joined(key):
    """One text for a key, another one for each."""
    return json.dumps(key)


# What processes tell each other


def _told(group, mine):
    """What each process has to tell, in the order of the group."""
    if group.nranks == 1:
        return [mine]
    told = []
    all_gather_object(told, mine, group)
    return told


def _on_all(what, group, function):
    """Calls the function, where there is one; when it raises, all processes raise."""
    if group.nranks == 1:
        return function()
    error = None
    try:
        if function is not None:
            function()
    except Exception as raised:  # the others wait, whatever it is
        error = raised
    texts = _told(group, None if error is None else f"{type(error).__name__}: {error}")
    failed = [(rank, text) for rank, text in zip(group.ranks, texts) if text is not None]
    if failed:
        rank, text = failed[0]
        raise RuntimeError(f"[{what}] process {rank} failed: {text}") from error
    return None


def _checked_id(what, unique_id):
    if unique_id is not None and (not hasattr(unique_id, "__index__") or unique_id < 0):
        raise ValueError(
            f"[{what}] unique_id: expected a number from 0 on, got {unique_id!r}. Do this: leave it out."
        )
    return unique_id if unique_id is None else int(unique_id)


def _agreed(what, name, values):
    if any(value != values[0] for value in values):
        raise ValueError(
            f"[{what}] {name}: expected one for all processes, got {values}. Do this: pass the same."
        )
    return values[0]


def _forms(tensors):
    return {
        key: (tuple(t.shape), dtype_name(t.dtype), t.size * t.element_size())
        for key, t in tensors.items()
    }


def _owners(what, forms_of_ranks):
    """Who saves each tensor, by place in the group: of those that have it, who has least to save."""
    owners, load = {}, [0] * len(forms_of_ranks)
    everything = {key: form for forms in reversed(forms_of_ranks) for key, form in forms.items()}
    for key, (shape, dtype, size) in sorted(everything.items(), key=lambda item: -item[1][2]):
        have = [place for place, forms in enumerate(forms_of_ranks) if key in forms]
        for place in have:
            if forms_of_ranks[place][key] != everything[key]:
                raise ValueError(
                    f"[{what}] {'.'.join(key)}: expected one form in all processes, got {dtype}"
                    f" {list(shape)} and {forms_of_ranks[place][key][1]}"
                    f" {list(forms_of_ranks[place][key][0])}. Do this: save what differs under other names."
                )
        owners[key] = min(have, key=lambda place: load[place])
        load[owners[key]] += size
    return owners


# Files


def _share(path, number, files, rank=None):
    """The file of one process. Of each checkpoint there are two sets of such files, 0 and 1."""
    middle = ".1" if files else ""
    return os.path.join(path, f"{get_rank() if rank is None else rank}_{number}{middle}.distcp")


def _other_files(path, number):
    """Which set of files a checkpoint that may be there does not have."""
    try:
        with open(os.path.join(path, f"{number}.metadata"), "rb") as file:
            return 1 - bool(json.load(file).get("files", 0))
    except (OSError, ValueError, AttributeError):  # there is none, or it is none of ours
        return 0


def _remove_shares(path, number, files):
    name = re.compile(rf"\d+_{number}{re.escape('.1' if files else '')}\.distcp")
    with contextlib.suppress(OSError):
        for entry in os.listdir(path):
            if name.fullmatch(entry):
                os.remove(os.path.join(path, entry))


def _newest(path):
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return None
    numbers = [int(found[1]) for found in map(_METADATA.fullmatch, names) if found]
    return max(numbers, default=None)


def _entries(what, path, number):
    """The rank whose file has each entry of a checkpoint, its number, and which set of files it has."""
    number = _newest(path) if number is None else number
    name = None if number is None else os.path.join(path, f"{number}.metadata")
    if name is None or not os.path.isfile(name):
        raise ValueError(
            f"[{what}] path: expected a folder with checkpoint {'N' if number is None else number} (a file"
            f" {'N' if number is None else number}.metadata), got {path}. Do this: pass the folder that"
            " save_state_dict wrote."
        )
    try:
        with open(name, "rb") as file:
            metadata = json.load(file)
        if metadata["format"] != _FORMAT:
            raise ValueError(metadata["format"])
        entries = {tuple(key): int(rank) for key, rank in metadata["entries"]}
        return entries, number, int(metadata.get("files", 0))
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"[{what}] {name}: expected what save_state_dict of Argosy wrote, got something else ({error})."
            " Do this: save it again."
        ) from None


def _read(what, keys, entries, path, number, files):
    """The values of these entries."""
    found = {}
    for rank in sorted({entries[key] for key in keys}):
        name = _share(path, number, files, rank)
        share = io.load(name)
        for key in keys:
            if entries[key] == rank:
                if _joined(key) not in share:
                    raise ValueError(
                        f"[{what}] {name} lacks {'.'.join(key)}: it is of another"
                        " checkpoint. Do this: save it again."
                    )
                found[key] = share[_joined(key)]
    return found


def _found(what, wanted, path, number):
    """What a checkpoint has for these entries, all in their form."""
    entries, number, files = _entries(what, path, number)
    missing = [".".join(key) for key in wanted if key not in entries]
    if missing:
        raise ValueError(
            f"[{what}] checkpoint {number} in {path} lacks {', '.join(missing[:8])}. Do this: leave out what"
            " was not saved."
        )
    found = _read(what, list(wanted), entries, path, number, files)
    for key, value in wanted.items():
        if isinstance(value, Tensor) != isinstance(found[key], Tensor):
            same = False
        else:
            same = not isinstance(value, Tensor) or (
                value.shape == found[key].shape and value.dtype == found[key].dtype
            )
        if not same:
            raise ValueError(
                f"[{what}] {'.'.join(key)}: expected {_described(value)}, got {_described(found[key])}. Do"
                " this: load into what has the form that was saved."
            )
    return found


def _described(value):
    if isinstance(value, Tensor):
        return f"{dtype_name(value.dtype)} {list(value.shape)}"
    return type(value).__name__
