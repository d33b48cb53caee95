"""Archives made to harm: nothing leaves the folder, nothing is written of an archive that is refused."""

import gzip
import io
import os
import pathlib
import stat
import tarfile
import tracemalloc
import zipfile

import pytest

from argosy.utils import archive, download


def tar(path, *members, mode="w:gz"):
    """A tar file of (name, bytes or fields of TarInfo)."""
    with tarfile.open(path, mode) as file:
        for name, content in members:
            info = tarfile.TarInfo(name)
            data = b""
            if isinstance(content, bytes):
                info.size, data = len(content), content
            else:
                for key, value in content.items():
                    setattr(info, key, value)
            file.addfile(info, io.BytesIO(data) if data else None)
    return path


def zipped(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content, *mode in members:
            info = zipfile.ZipInfo("x")
            info.filename = name  # as it is, which the constructor would not leave it
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (mode[0] if mode else stat.S_IFREG | 0o644) << 16
            file.writestr(info, content)
    return path


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*"))


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "outer" / "folder"
    folder.mkdir(parents=True)
    return folder


def refused(path, place, text):
    """Unpacking raises this and leaves no trace anywhere near."""
    before = everything(place.parent)
    with pytest.raises(archive.UnsafeArchiveError, match=text) as caught:
        archive.unpack(str(path), str(place))
    assert str(path) in str(caught.value) and "Do this: " in str(caught.value)
    assert everything(place.parent) == before


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_good_archive_is_unpacked(place, tmp_path, mode):
    members = [("./a", {"type": tarfile.DIRTYPE}), ("./a/x", b"1"), ("a/./b/y", b"22"), ("z", b"")]
    path = tar(tmp_path / "a.tar", *members, mode=mode)
    (place / "a").mkdir()
    (place / "a" / "x").write_bytes(b"old")
    assert archive.unpack(str(path), str(place)) == ["a", "z"]
    assert everything(place) == ["a", "a/b", "a/b/y", "a/x", "z"]
    assert (place / "a" / "x").read_bytes() == b"1" and (
        place / "a" / "b" / "y"
    ).read_bytes() == b"22"


def test_a_good_zip_is_unpacked(place, tmp_path):
    path = zipped(tmp_path / "a.zip", ("a/", b""), ("a/x", b"1" * 10000))
    assert archive.unpack(str(path), str(place)) == ["a"]
    assert (place / "a" / "x").read_bytes() == b"1" * 10000


BAD_NAMES = [
    "../x",
    "a/../../x",
    "/etc/x",
    "a\\..\\x",
    "C:/x",
    "a/../b",
    "d/" * 65 + "x",
    "n" * 5000,
]


@pytest.mark.parametrize("name", BAD_NAMES, ids=range(len(BAD_NAMES)))
@pytest.mark.parametrize("make", [tar, zipped])
def test_names_that_lead_elsewhere(place, tmp_path, make, name):
    # What is good in front of it is not unpacked either.
    refused(make(tmp_path / "a", ("good", b"1"), (name, b"2")), place, "is unsafe")


@pytest.mark.parametrize(
    "kind", ["SYMTYPE", "LNKTYPE", "CHRTYPE", "BLKTYPE", "FIFOTYPE", "CONTTYPE"]
)
def test_what_is_neither_file_nor_folder(place, tmp_path, kind):
    fields = {"type": getattr(tarfile, kind), "linkname": "good"}
    path = tar(tmp_path / "a", ("good", b"1"), ("bad", fields))
    if kind == "CONTTYPE":  # an old kind of file
        assert archive.unpack(str(path), str(place)) == ["bad", "good"]
    else:
        refused(path, place, "'bad' is a link or device")


def test_a_link_out_and_a_file_through_it(place, tmp_path):
    link = {"type": tarfile.SYMTYPE, "linkname": "../.."}
    refused(tar(tmp_path / "a", ("l", link), ("l/x", b"1")), place, "'l' is a link")
    link = (("l", b"../..", stat.S_IFLNK | 0o777), ("l/x", b"1"))
    refused(zipped(tmp_path / "b", *link), place, "'l' is a link")


def test_a_link_that_was_there_before(place, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (place / "l").symlink_to(tmp_path / "elsewhere")
    refused(tar(tmp_path / "a", ("l/x", b"1")), place, "is a link")
    assert not os.listdir(tmp_path / "elsewhere")
    # A link in the place of the file itself is replaced, not followed.
    (tmp_path / "target").write_bytes(b"old")
    (place / "f").symlink_to(tmp_path / "target")
    archive.unpack(str(tar(tmp_path / "b", ("f", b"new"))), str(place))
    assert (tmp_path / "target").read_bytes() == b"old" and (place / "f").read_bytes() == b"new"


@pytest.mark.parametrize("make", [tar, zipped])
def test_members_that_contradict_each_other(place, tmp_path, make):
    refused(make(tmp_path / "a", ("x", b"1"), ("./x", b"2")), place, "there twice")
    refused(make(tmp_path / "b", ("x", b"1"), ("x/y", b"2")), place, "below a file")
    refused(make(tmp_path / "c", ("x/y", b"1"), ("x", b"2")), place, "there twice")


def test_too_many_members(place, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MEMBERS", 3)
    files = [(str(i), b"") for i in range(4)]
    archive.unpack(str(tar(tmp_path / "a", *files[:3])), str(place))
    for make in (tar, zipped):
        refused(make(tmp_path / "b", *files), place, "too many members, expected at most 3")


def test_more_than_an_archive_of_its_size_holds(place, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "BYTES", 1 << 20)
    zeros = bytes(1 << 20)
    for make in (tar, zipped):
        refused(make(tmp_path / "a", ("x", zeros), ("y", b"1")), place, "more than 1048577 bytes")
        archive.unpack(str(make(tmp_path / "b", ("x", zeros))), str(place))
    # A size that is only claimed.
    path = tar(tmp_path / "c", ("x", {"size": 1 << 50}))
    refused(path, place, "expected at most 1048576")


def test_more_than_the_disk_holds(place, tmp_path, monkeypatch):
    usage = archive.shutil.disk_usage(place)._replace(free=100)
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda folder: usage)
    refused(tar(tmp_path / "a", ("x", bytes(101))), place, "expected at most 100")


def test_headers_that_claim_gigabytes(place, tmp_path):
    """tarfile reads the text of long names at once."""
    for kind in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE):
        info = tarfile.TarInfo("long")
        info.type, info.size = kind, 200 << 20
        with gzip.open(tmp_path / "a", "wb", compresslevel=1) as file:
            file.write(info.tobuf())
            for _ in range(200):
                file.write(bytes(1 << 20))
        tracemalloc.start()
        with pytest.raises(archive.DamagedArchiveError, match="a header of"):
            archive.unpack(str(tmp_path / "a"), str(place))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
        tracemalloc.stop()


def test_damage_is_one_type_of_error(place, tmp_path):
    for make in (tar, zipped):
        whole = make(tmp_path / "a", ("x", os.urandom(3000)), ("y", b"2")).read_bytes()
        for cut in range(0, len(whole) - 30, 97):
            (tmp_path / "cut").write_bytes(whole[:cut])
            with pytest.raises(archive.DamagedArchiveError, match="damaged or no archive"):
                archive.unpack(str(tmp_path / "cut"), str(place))
            assert everything(place) == []


def test_a_member_is_read_at_once_only_if_it_fits(tmp_path, monkeypatch):
    path = tar(tmp_path / "a", ("x", bytes(100)))
    with archive.Archive(str(path)) as found:
        assert found.read("x") == bytes(100)
        monkeypatch.setattr(archive, "IN_MEMORY", 99)
        with pytest.raises(
            archive.UnsafeArchiveError, match="'x' has 100 bytes, expected at most 99"
        ):
            found.read("x")
        with pytest.raises(archive.DamagedArchiveError, match="no file '../x'"):
            found.read("../x")


def test_links_are_never_followed_when_reading(tmp_path):
    loop = {"type": tarfile.SYMTYPE, "linkname": "l"}
    path = tar(tmp_path / "a", ("l", loop), ("x", b"1"))
    with archive.Archive(str(path)) as found:
        assert found.names() == ["x"]
        with pytest.raises(archive.DamagedArchiveError, match="no file 'l'"):
            found.open("l")


def test_what_is_fetched_is_unpacked_by_these_rules(place, tmp_path, monkeypatch):
    url = "http://host/a.tar"
    tar(place / "a.tar", ("top/x", b"1"))
    found = download.get_path_from_url(url, str(place))
    assert found == str(place / "top") and (place / "top" / "x").read_bytes() == b"1"
    tar(place / "a.tar", ("../x", b"1"))
    with pytest.raises(archive.UnsafeArchiveError, match=r"\[download\].*is unsafe"):
        download.get_path_from_url(url, str(place))
    assert not (place.parent / "x").exists()
