"""Windows under the names of PyTorch."""

from __future__ import annotations

from argosy._support import place

EXPORTS = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(op, kind, length, periodic, dtype, layout, device, requires_grad, pin_memory):
    from argosy.tensor.spectral_windows import get_window

    if layout is not None:
        raise ValueError(
            f"[{op}] layout: expected None, got {layout!r}: windows are dense. Do this: leave it out."
        )
    if length < 0:
        raise ValueError(
            f"[{op}] window_length must not be negative, got {length}. Do this: pass 0 or more."
        )
    made = get_window(kind, length, periodic, dtype)
    return place(made, None, device, requires_grad, pin_memory)


def _plain(kind):
    name = f"{kind}_window"

    def make(
        window_length,
        periodic=True,
        *,
        dtype="float32",
        layout=None,
        device=None,
        pin_memory=False,
        requires_grad=False,
    ):
        return _window(
            name, kind, window_length, periodic, dtype, layout, device, requires_grad, pin_memory
        )

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""The {kind} window.

    Args:
        window_length (int): Its points.
        periodic (bool): Whether it is the first points of a window that is longer by one, as spectra
            need it; else it is symmetric.
        dtype (dtype | str): A floating dtype.
        layout: Only None: windows are dense.
        device (Place | str, optional): Where it goes.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.
        requires_grad (bool): Whether it is to get a gradient.

    Returns:
        Tensor: [window_length].

    Raises:
        ValueError: window_length is negative, or layout is given.

    Example:
        >>> argosy.{name}(4).shape
        paddle.Size([4])
    """
    return make


hann_window = _plain("hann")
blackman_window = _plain("blackman")
bartlett_window = _plain("bartlett")


def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype="float32",
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """The window ``alpha - beta cos`` of one period.

    Args:
        window_length (int): Its points.
        periodic (bool): Whether it is the first points of a window that is longer by one, as spectra need it;
            else it is symmetric.
        alpha (float): The constant.
        beta (float): The factor of the cosine.
        dtype (dtype | str): A floating dtype.
        layout: Only None: windows are dense.
        device (Place | str, optional): Where it goes.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.
        requires_grad (bool): Whether it is to get a gradient.

    Returns:
        Tensor: [window_length].

    Raises:
        ValueError: window_length is negative, or layout is given.

    Example:
        >>> argosy.hamming_window(4).tolist()
        [0.08, 0.54, 1.0, 0.54]
    """
    kind = ("general_hamming", float(alpha), float(beta))
    return _window(
        "hamming_window", kind, window_length, periodic, dtype, layout, device, requires_grad, pin_memory
    )  # fmt: skip


def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype="float32",
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """The Kaiser window.

    Args:
        window_length (int): Its points.
        periodic (bool): Whether it is the first points of a window that is longer by one, as spectra need it;
            else it is symmetric.
        beta (float): Its shape: the larger, the narrower.
        dtype (dtype | str): A floating dtype.
        layout: Only None: windows are dense.
        device (Place | str, optional): Where it goes.
        pin_memory (bool): Whether it goes to pinned memory, for copies to the device it is made on.
        requires_grad (bool): Whether it is to get a gradient.

    Returns:
        Tensor: [window_length].

    Raises:
        ValueError: window_length is negative, or layout is given.

    Example:
        >>> argosy.kaiser_window(4, beta=2.0).tolist()
        [0.4387, 0.8348, 1.0, 0.8348]
    """
    kind = ("kaiser", float(beta))
    return _window(
        "kaiser_window", kind, window_length, periodic, dtype, layout, device, requires_grad, pin_memory
    )  # fmt: skip
