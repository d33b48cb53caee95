"""Sound features against SciPy and NumPy; WAV files."""

import wave

import numpy as np
import pytest
import scipy.fft
import scipy.signal

from argosy import audio, to_tensor
from argosy.audio import functional as A

RNG = np.random.default_rng(5)


@pytest.mark.parametrize(
    "window",
    [
        *"hann hamming blackman bohman nuttall cosine tukey triang bartlett".split(),
        ("taylor", 5, 40, False),
        ("tukey", 0.3),
        ("tukey", 1.0),
        ("kaiser", 4.0),
        ("gaussian", 2.0),
        ("general_gaussian", 1.5, 2.0),
        ("exponential", None, 1.5),
    ],
)
@pytest.mark.parametrize("points", [7, 8])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(window, points, periodic):
    found = A.get_window(window, points, fftbins=periodic).numpy()
    expected = scipy.signal.get_window(window, points, fftbins=periodic)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_windows_that_are_not():
    assert A.get_window("hann", 1).tolist() == [1] and A.get_window("hann", 0).shape == [0]
    for window in ("kaiser", "nothing", 3, ("exponential", 2.0, 1.0)):
        with pytest.raises(ValueError):
            A.get_window(window, 6, fftbins=False)


@pytest.mark.parametrize("htk", [True, False])
def test_mel_scale(htk):
    hertz = [0.0, 300.0, 999.0, 1000.0, 5000.0]
    mels = [A.hz_to_mel(f, htk) for f in hertz]
    if htk:
        np.testing.assert_allclose(
            mels, 2595 / np.log(10) * np.log1p(np.array(hertz) / 700), rtol=1e-6
        )
    else:
        np.testing.assert_allclose(mels[:4], np.array(hertz[:4]) * 3 / 200)
        assert mels[4] == pytest.approx(15 + 27 * np.log(5) / np.log(6.4))
    np.testing.assert_allclose([A.mel_to_hz(m, htk) for m in mels], hertz, atol=1e-9)
    np.testing.assert_allclose(A.hz_to_mel(to_tensor(hertz), htk).numpy(), mels, rtol=1e-5)
    np.testing.assert_allclose(A.mel_to_hz(to_tensor(mels), htk).numpy(), hertz, rtol=1e-4)


def test_filter_bank():
    bank = A.compute_fbank_matrix(16000, 512, 10, 50.0, norm=None, dtype="float64").numpy()
    edges = A.mel_frequencies(12, 50.0, 8000.0, dtype="float64").numpy()
    bins = np.arange(257) * 16000 / 512
    for i, row in enumerate(bank):
        np.testing.assert_allclose(row, np.interp(bins, edges[i : i + 3], [0, 1, 0]), atol=1e-9)
    slaney = A.compute_fbank_matrix(16000, 512, 10, 50.0, dtype="float64").numpy()
    np.testing.assert_allclose(slaney, bank * (2 / (edges[2:] - edges[:-2]))[:, None])
    rows = A.compute_fbank_matrix(16000, 512, 10, 50.0, norm=1.0).numpy()
    np.testing.assert_allclose(rows.sum(1), 1, rtol=1e-5)


def test_decibels():
    power = to_tensor([1.0, 0.1, 1e-12, 100.0])
    np.testing.assert_allclose(A.power_to_db(power).numpy(), [0, -10, -60, 20], atol=1e-4)
    found = A.power_to_db(power, ref_value=10.0, top_db=None).numpy()
    np.testing.assert_allclose(found, [-10, -20, -110, 10], atol=1e-4)
    for wrong in ({"amin": 0}, {"ref_value": -1.0}, {"top_db": -1.0}):
        with pytest.raises(ValueError, match="power_to_db"):
            A.power_to_db(power, **wrong)


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transform(norm):
    found = A.create_dct(4, 6, norm, "float64").numpy()
    expected = scipy.fft.dct(np.eye(6), 2, norm=norm, axis=0)[:4].T
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_features():
    x = RNG.standard_normal((2, 600)).astype("float32")
    window = scipy.signal.get_window("hann", 64)
    padded = np.pad(x, [(0, 0), (32, 32)], mode="reflect")
    frames = np.stack([padded[:, i : i + 64] for i in range(0, 601, 16)], 1)
    power = np.abs(np.fft.rfft(frames * window, axis=-1)).transpose(0, 2, 1) ** 2
    found = audio.features.Spectrogram(64, 16, power=2.0)(to_tensor(x))
    np.testing.assert_allclose(found.numpy(), power, rtol=1e-3, atol=1e-4)
    bank = A.compute_fbank_matrix(8000, 64, 8, 50.0).numpy()
    mel = audio.features.MelSpectrogram(8000, 64, 16, n_mels=8)(to_tensor(x))
    np.testing.assert_allclose(mel.numpy(), bank @ power, rtol=1e-3, atol=1e-6)
    log = 10 * np.log10(np.maximum(bank @ power, 1e-10))
    layer = audio.features.LogMelSpectrogram(8000, 64, 16, n_mels=8)
    np.testing.assert_allclose(layer(to_tensor(x)).numpy(), log, atol=1e-2)
    mfcc = audio.features.MFCC(8000, 5, 64, 16, n_mels=8)(to_tensor(x))
    expected = scipy.fft.dct(log, 2, norm="ortho", axis=1)[:, :5]
    np.testing.assert_allclose(mfcc.numpy(), expected, atol=3e-2)
    assert "fbank_matrix" in audio.features.MelSpectrogram().state_dict()
    with pytest.raises(AssertionError, match="n_mfcc"):
        audio.features.MFCC(n_mfcc=9, n_mels=8)
    with pytest.raises(AssertionError, match="power"):
        audio.features.Spectrogram(power=0.0)


def test_wav_files(tmp_path):
    path = tmp_path / "a.wav"
    samples = RNG.uniform(-1, 1, (2, 50)).astype("float32")
    samples[0, 0] = 1.5  # cut off
    audio.save(str(path), to_tensor(samples), 8000)
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getframerate(), file.getnframes()) == (2, 8000, 50)
    about = audio.info(str(path))
    assert (about.sample_rate, about.num_samples, about.num_channels) == (8000, 50, 2)
    assert (about.bits_per_sample, about.encoding) == (16, "PCM_S")
    found, rate = audio.load(path)
    assert rate == 8000 and found.shape == [2, 50]
    np.testing.assert_allclose(found.numpy(), np.minimum(samples, 1), atol=2e-4)
    part, _ = audio.load(path, 10, 20, normalize=False, channels_first=False)
    np.testing.assert_allclose(part.numpy(), found.numpy().T[10:30] * 2**15)
    with open(path, "rb") as file:
        assert audio.load(file)[0].shape == [2, 50]
    with pytest.raises(ValueError, match="bits_per_sample"):
        audio.save(str(path), to_tensor(samples), 8000, bits_per_sample=32)
    with pytest.raises(AssertionError, match="2 dimensions"):
        audio.save(str(path), to_tensor(samples[0]), 8000)
    with pytest.raises(FileNotFoundError):
        audio.load(tmp_path / "none.wav")
    path.write_bytes(b"nothing of a sound")
    with pytest.raises(NotImplementedError, match="Do this"):
        audio.load(path)


def test_backends():
    assert audio.backends.list_available_backends() == ["wave_backend"]
    audio.backends.set_backend(audio.backends.get_current_backend())
    with pytest.raises(NotImplementedError, match="no backend"):
        audio.backends.set_backend("soundfile")
