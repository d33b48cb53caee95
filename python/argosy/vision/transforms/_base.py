"""What transforms are made of, and what composes them."""

import traceback
from collections.abc import Sequence

from . import functional as F


def _image_size(img):
    """(width, height)."""
    if F._is_pil_image(img):
        return img.size
    if F._is_numpy_image(img):
        return img.shape[1], img.shape[0]
    if F._is_tensor_image(img):
        return F.functional_tensor.image_size(img)
    raise TypeError(
        "[transforms] expected a PIL image, an array or a tensor, got "
        f"{type(img).__name__}. Do this: use numpy.asarray or argosy.to_tensor."
    )


class Compose:
    """Apply transforms one after another.

    What a transform raises is printed with the transform's name, and raised on.

    Args:
        transforms (list | tuple): callables that take an image and give an image.

    Examples:
        >>> T = argosy.vision.transforms
        >>> steps = T.Compose([T.Resize(4), T.CenterCrop(2), T.ToTensor()])
        >>> steps(np.zeros([6, 8, 3], "uint8")).shape
        paddle.Size([3, 2, 2])
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, data):
        for transform in self.transforms:
            try:
                data = transform(data)
            except Exception as error:
                # Which of many transforms failed is lost where workers pass errors on as text.
                trace = traceback.format_exc()
                print(f"fail to perform transform [{transform}] with error: {error}:\n{trace}")
                raise
        return data

    def __repr__(self):
        lines = "".join(f"\n    {transform}" for transform in self.transforms)
        return f"{type(self).__name__}({lines}\n)"


class BaseTransform:
    """Base of transforms: calls ``_apply_<key>`` on the parts of the input that ``keys`` name.

    A subclass defines ``_apply_image`` (and ``_apply_boxes``, ...), and ``_get_params`` if the parts
    share random values; these are then in ``self.params``. With a tuple as input, part i is treated
    as keys[i] says, and parts beyond the keys are passed on.

    Args:
        keys (list | tuple, optional): kind of each input part: "image", "coords", "boxes", "mask", or any
            other that the class has a method for. None means ("image",).

    Raises:
        ValueError: ``keys`` is no list or tuple.
        NotImplementedError: the class has no method for a key.

    Examples:
        >>> class Invert(argosy.vision.transforms.BaseTransform):
        ...     def _apply_image(self, image):
        ...         return 255 - image
        >>> Invert()((np.array([[0, 55]]), "label"))
        (array([[255, 200]]), 'label')
    """

    def __init__(self, keys=None):
        if keys is None:
            keys = ("image",)
        elif not isinstance(keys, Sequence):
            raise ValueError(
                f"[BaseTransform] keys: expected a list or tuple of names, got {keys!r}. Do "
                "this: use e.g. ('image', 'boxes')."
            )
        for key in keys:
            if self._get_apply(key) is None:
                raise NotImplementedError(
                    f"[{type(self).__name__}] has no method _apply_{key} for the key {key!r}. Do "
                    "this: define it, or leave the key out."
                )
        self.keys = keys
        self.params = None

    def _get_params(self, inputs):
        return None

    def __call__(self, inputs):
        parts = inputs if isinstance(inputs, tuple) else (inputs,)
        self.params = self._get_params(parts)
        results = [self._get_apply(key)(part) for key, part in zip(self.keys, parts)]
        results += parts[len(results) :]
        return results[0] if len(results) == 1 else tuple(results)

    def _get_apply(self, key):
        return getattr(self, f"_apply_{key}", None)

    def _apply_image(self, image):
        raise NotImplementedError

    def _apply_boxes(self, boxes):
        raise NotImplementedError

    def _apply_mask(self, mask):
        raise NotImplementedError

    def _apply_coords(self, coords):
        raise NotImplementedError
