"""TESS: emotions in speech."""

from __future__ import annotations

import collections
import os

from .dataset import AudioClassificationDataset, folder_of

__all__ = []

_FOLDER = "TESS_Toronto_emotional_speech_set"


class TESS(AudioClassificationDataset):
    """TESS: 200 words spoken by two actresses in seven emotions (Pichora-Fuller and Dupuis, 2020).

    Files are called ``speaker_word_emotion.wav``, in any folders.

    Args:
        mode (str): 'train' for all folds but one, 'dev' for that one.
        n_folds (int): How many folds there are: files are dealt to them in the order of their paths.
        split (int): Which is for 'dev': 1 to n_folds.
        feat_type (str): As for AudioClassificationDataset.
        archive (dict, optional): url and md5 of the archive: a path; default:
            ``TESS_Toronto_emotional_speech_set.zip`` or the folder that is in it, in the usual
            folders. Nothing is downloaded.
        kwargs: As for AudioClassificationDataset.

    Raises:
        FileNotFoundError: There are no files; the message says where to put them.
        AssertionError: No such fold.

    Examples:
        >>> argosy.audio.datasets.TESS.label_list
        ['angry', 'disgust', 'fear', 'happy', 'neutral', 'ps', 'sad']
    """

    archive = {"url": f"https://tspace.library.utoronto.ca/handle/1807/24487/{_FOLDER}.zip"}
    label_list = ["angry", "disgust", "fear", "happy", "neutral", "ps", "sad"]
    meta_info = collections.namedtuple("META_INFO", ("speaker", "word", "emotion"))
    audio_path = _FOLDER

    def __init__(self, mode="train", n_folds=5, split=1, feat_type="raw", archive=None, **kwargs):
        assert isinstance(n_folds, int) and n_folds >= 1, (
            f"[TESS] n_folds: expected a whole number from 1 on, got {n_folds}."
        )
        assert split in range(1, n_folds + 1), (
            f"[TESS] split: expected 1 to {n_folds}, got {split}."
        )
        self.archive = self.archive if archive is None else archive
        root = folder_of("TESS", _FOLDER, self.archive)
        paths = sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(root)
            for name in names
            if name.endswith(".wav")
        )
        files, labels = [], []
        for i, path in enumerate(paths):
            if (i % n_folds + 1 != split) == (mode == "train"):
                files.append(path)
                labels.append(self.label_list.index(self._get_meta_info(path).emotion))
        super().__init__(files, labels, feat_type, **kwargs)

    def _get_meta_info(self, path):
        return self.meta_info(*os.path.basename(path)[: -len(".wav")].split("_"))
