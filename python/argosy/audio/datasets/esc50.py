"""ESC-50: sounds of the environment."""

from __future__ import annotations

import collections
import csv
import os

from .dataset import AudioClassificationDataset, folder_of

__all__ = []


class ESC50(AudioClassificationDataset):
    """ESC-50: 2000 recordings of 5 seconds, 50 kinds of sounds (Piczak, 2015), in 5 folds.

    Args:
        mode (str): 'train' for all folds but one, 'dev' for that one.
        split (int): Which: 1 to 5.
        feat_type (str): As for AudioClassificationDataset.
        archive (dict, optional): url and md5 of the archive: a path; default: ``ESC-50-master.zip``
            or the folder that is in it, in the usual folders. Nothing is downloaded.
        kwargs: As for AudioClassificationDataset.

    Raises:
        FileNotFoundError: There are no files; the message says where to put them.
        AssertionError: Another split.

    Examples:
        >>> len(argosy.audio.datasets.ESC50.label_list), argosy.audio.datasets.ESC50.label_list[0]
        (50, 'Dog')
    """

    archive = {"url": "https://github.com/karolpiczak/ESC-50/archive/ESC-50-master.zip"}
    meta = os.path.join("ESC-50-master", "meta", "esc50.csv")
    meta_info = collections.namedtuple(
        "META_INFO", ("filename", "fold", "target", "category", "esc10", "src_file", "take")
    )
    audio_path = os.path.join("ESC-50-master", "audio")
    label_list = [
        "Dog", "Rooster", "Pig", "Cow", "Frog", "Cat", "Hen", "Insects (flying)", "Sheep", "Crow",
        "Rain", "Sea waves", "Crackling fire", "Crickets", "Chirping birds", "Water drops", "Wind",
        "Pouring water", "Toilet flush", "Thunderstorm", "Crying baby", "Sneezing", "Clapping",
        "Breathing", "Coughing", "Footsteps", "Laughing", "Brushing teeth", "Snoring",
        "Drinking, sipping", "Door knock", "Mouse click", "Keyboard typing", "Door, wood creaks",
        "Can opening", "Washing machine", "Vacuum cleaner", "Clock alarm", "Clock tick",
        "Glass breaking", "Helicopter", "Chainsaw", "Siren", "Car horn", "Engine", "Train",
        "Church bells", "Airplane", "Fireworks", "Hand saw",
    ]  # fmt: skip

    def __init__(self, mode="train", split=1, feat_type="raw", archive=None, **kwargs):
        assert split in range(1, 6), f"[ESC50] split: expected 1 to 5, got {split}."
        self.archive = self.archive if archive is None else archive
        root = folder_of("ESC50", "ESC-50-master", self.archive)
        files, labels = [], []
        for row in self._get_meta_info(os.path.join(root, "meta", "esc50.csv")):
            if (int(row.fold) != split) == (mode == "train"):
                files.append(os.path.join(root, "audio", row.filename))
                labels.append(int(row.target))
        super().__init__(files, labels, feat_type, **kwargs)

    def _get_meta_info(self, path):
        with open(path, newline="") as file:
            rows = list(csv.reader(file))[1:]
        return [self.meta_info(*row) for row in rows if row]
