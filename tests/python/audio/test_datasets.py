"""Data sets of sounds, from archives made here."""

import hashlib
import zipfile

import numpy as np
import pytest

import argosy
from argosy.audio.datasets import ESC50, TESS


def wave(folder, name, tone):
    path = folder / name
    samples = argosy.to_tensor(np.float32(np.sin(np.arange(800) * tone) / 2)[None])
    argosy.audio.save(str(path), samples, 8000)
    return path.read_bytes()


@pytest.fixture
def esc50(tmp_path):
    path = tmp_path / "ESC-50-master.zip"
    lines = ["filename,fold,target,category,esc10,src_file,take"]
    with zipfile.ZipFile(path, "w") as archive:
        for fold in (1, 2, 3):
            name = f"{fold}-100-A-{fold * 10}.wav"
            archive.writestr(f"ESC-50-master/audio/{name}", wave(tmp_path, "a.wav", fold / 10))
            lines.append(f"{name},{fold},{fold * 10},any,False,100,A")
        archive.writestr("ESC-50-master/meta/esc50.csv", "\n".join(lines) + "\n")
    return path


def test_esc50(esc50):
    archive = {"url": str(esc50), "md5": hashlib.md5(esc50.read_bytes()).hexdigest()}
    train, dev = ESC50("train", 2, archive=archive), ESC50("dev", 2, archive=archive)
    assert [label for _, label in (train[0], train[1], dev[0])] == [10, 30, 20]
    assert (len(train), len(dev)) == (2, 1)
    np.testing.assert_allclose(dev[0][0].numpy(), np.sin(np.arange(800) * 0.2) / 2, atol=1e-4)
    mel = ESC50("dev", 2, "mfcc", archive, n_mfcc=5, n_fft=64, n_mels=8)[0][0]
    layer = argosy.audio.features.MFCC(sr=8000, n_mfcc=5, n_fft=64, n_mels=8)
    np.testing.assert_array_equal(mel.numpy(), layer(dev[0][0].unsqueeze(0))[0].numpy())
    batch = next(iter(argosy.io.DataLoader(train, batch_size=2)))
    assert batch[0].shape == [2, 800] and batch[1].tolist() == [10, 30]


def test_tess(tmp_path, monkeypatch):
    emotions = ["angry", "sad", "ps", "happy"]
    with zipfile.ZipFile(tmp_path / "TESS_Toronto_emotional_speech_set.zip", "w") as archive:
        for k, emotion in enumerate(emotions):
            archive.writestr(
                f"TESS_Toronto_emotional_speech_set/OAF_{k}/OAF_word_{emotion}.wav",
                wave(tmp_path, "a.wav", 0.1),
            )
    monkeypatch.setenv("ARGOSY_DATA_HOME", str(tmp_path))
    dev = TESS("dev", n_folds=2, split=2)
    assert [TESS.label_list[dev[i][1]] for i in range(len(dev))] == ["sad", "happy"]
    assert len(TESS("train", n_folds=2, split=2)) == 2
    (tmp_path / "TESS_Toronto_emotional_speech_set.zip").unlink()
    assert len(TESS("train", n_folds=4)) == 3  # the folder is there
    assert TESS("dev", feat_type="spectrogram", n_fft=64)[0][0].shape == [33, 2]


def test_what_is_wrong_is_said(esc50, tmp_path, monkeypatch):
    monkeypatch.setenv("ARGOSY_DATA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="Argosy downloads nothing"):
        TESS()
    with pytest.raises(FileNotFoundError, match="looked for /no/such.zip"):
        ESC50(archive={"url": "/no/such.zip"})
    with pytest.raises(RuntimeError, match="another MD5"):
        ESC50(archive={"url": str(esc50), "md5": "0" * 32})
    with pytest.raises(RuntimeError, match="feat_type"):
        ESC50(feat_type="chroma", archive={"url": str(esc50)})
    with pytest.raises(AssertionError, match="expected 1 to 5"):
        ESC50(split=6, archive={"url": str(esc50)})
    esc50.write_bytes(esc50.read_bytes()[:200])
    with pytest.raises(ValueError):
        ESC50(archive={"url": str(esc50)})
    empty = tmp_path / "empty.zip"
    zipfile.ZipFile(empty, "w").close()
    with pytest.raises(FileNotFoundError, match="has no folder"):
        TESS(archive={"url": str(empty)})
