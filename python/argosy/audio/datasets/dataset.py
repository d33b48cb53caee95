"""What data sets of labelled sounds have in common."""

from __future__ import annotations

import os

from argosy._support import check_choice
from argosy.audio import features
from argosy.audio.backends.wave_backend import load
from argosy.io import Dataset
from argosy.utils.archive import unpack
from argosy.utils.download import is_url, md5file

__all__ = []

_HOMES = ("~/.cache/argosy/dataset", "~/.cache/paddle/dataset")

feat_funcs = {
    "raw": None,
    "melspectrogram": features.MelSpectrogram,
    "mfcc": features.MFCC,
    "logmelspectrogram": features.LogMelSpectrogram,
    "spectrogram": features.Spectrogram,
}


def folder_of(data_set, folder, archive):
    """Path of the folder of a data set; its archive is unpacked beside itself where there is none.

    Args:
        data_set (str): Who asks, for error messages.
        folder (str): Name of the folder, the top of the archive.
        archive (dict): url: path of the archive, or an address whose last part is its name in the
            usual folders; md5: what it must be, optional.

    Raises:
        FileNotFoundError: There is neither.
        RuntimeError: The archive has another MD5.
    """
    homes = [os.environ["ARGOSY_DATA_HOME"]] if os.environ.get("ARGOSY_DATA_HOME") else []
    homes += [os.path.expanduser(home) for home in _HOMES]
    url = archive["url"]
    name = url.rsplit("/", 1)[-1]
    files = [os.path.join(home, name) for home in homes] if is_url(url) else [url]
    if is_url(url):
        for home in homes:
            if os.path.isdir(os.path.join(home, folder)):
                return os.path.join(home, folder)
    for file in files:
        if not os.path.isfile(file):
            continue
        if archive.get("md5") and md5file(file) != archive["md5"]:
            raise RuntimeError(
                f"[{data_set}] {file} has another MD5: expected {archive['md5']}. Do this: fetch it"
                " again, or pass its own in archive."
            )
        unpack(file, os.path.dirname(file) or ".", data_set)
        found = os.path.join(os.path.dirname(file), folder)
        if os.path.isdir(found):
            return found
        raise FileNotFoundError(
            f"[{data_set}] {file} has no folder {folder}. Do this: pass the archive as published."
        )
    raise FileNotFoundError(
        f"[{data_set}] neither the folder {folder} nor {name} is here: looked for {', '.join(files)}."
        " Argosy downloads nothing at run time. Do this: put the archive there, or pass"
        " archive={'url': its path}."
    )


class AudioClassificationDataset(Dataset):
    """Sounds with labels; a sample is (samples or features as a Tensor, label).

    Args:
        files (list[str]): WAV files.
        labels (list[int]): One for each.
        feat_type (str): 'raw' for the samples of the first channel; or 'spectrogram',
            'melspectrogram', 'logmelspectrogram' or 'mfcc', the layers of `audio.features`.
        sample_rate (int, optional): That the features are computed for; default: the file's.
        kwargs: Arguments of the layer.

    Raises:
        RuntimeError: Another feat_type.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.wav")
        >>> argosy.audio.save(path, argosy.zeros([1, 800]), 8000)
        >>> from argosy.audio.datasets import AudioClassificationDataset
        >>> data = AudioClassificationDataset([path], [3], "spectrogram", n_fft=64)
        >>> data[0][0].shape, data[0][1], len(data)
        (paddle.Size([33, 2]), 3, 1)
    """

    def __init__(self, files, labels, feat_type="raw", sample_rate=None, **kwargs):
        check_choice("AudioClassificationDataset", "feat_type", feat_type, feat_funcs, RuntimeError)
        self.files = files
        self.labels = labels
        self.feat_type = feat_type
        self.sample_rate = sample_rate
        self.feat_config = kwargs
        self._layers = {}  # by sample rate

    def _features(self, waveform, rate):
        if self.feat_type == "raw":
            return waveform
        if rate not in self._layers:
            known = {} if self.feat_type == "spectrogram" else {"sr": rate}
            self._layers[rate] = feat_funcs[self.feat_type](**known, **self.feat_config)
        return self._layers[rate](waveform.unsqueeze(0)).squeeze(0)

    def __getitem__(self, idx):
        samples, rate = load(self.files[idx])
        return self._features(samples[0], self.sample_rate or rate), self.labels[idx]

    def __len__(self):
        return len(self.files)
