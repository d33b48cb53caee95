"""Windows for spectra, as in SciPy's signal.windows."""

from __future__ import annotations

import math

from argosy import tensor


def _cosines(n, *weights):
    """Sum of cosines of 0, 1, .. periods over the window."""
    angle = tensor.linspace(-math.pi, math.pi, n, "float64")
    total = tensor.zeros([n], "float64")
    for k, weight in enumerate(weights):
        total = total + weight * tensor.cos(k * angle)
    return total


def _places(n):
    return tensor.arange(n, dtype="float64")


def _centred(n):
    """Distances from the middle."""
    return _places(n) - (n - 1) / 2.0


def _bohman(n):
    distance = tensor.abs(tensor.linspace(-1, 1, n, "float64"))
    inside = (1 - distance) * tensor.cos(math.pi * distance) + tensor.sin(
        math.pi * distance
    ) / math.pi
    ends = (distance < 1).astype("float64")
    return inside * ends


def _triang(n):
    k = tensor.minimum(_places(n), (n - 1) - _places(n)) + 1
    return (2 * k - 1) / n if n % 2 == 0 else 2 * k / (n + 1)


def _bartlett(n):
    return 1 - 2 * tensor.abs(_centred(n)) / (n - 1)


def _cosine(n):
    return tensor.sin(math.pi / n * (_places(n) + 0.5))


def _tukey(n, alpha=0.5):
    if alpha <= 0:
        return tensor.ones([n], "float64")
    alpha = min(alpha, 1.0)
    edge = tensor.minimum(_places(n), (n - 1) - _places(n))
    width = math.floor(alpha * (n - 1) / 2.0)
    taper = 0.5 * (1 - tensor.cos(2 * math.pi * edge / (alpha * (n - 1))))
    return tensor.where(edge <= width, taper, tensor.ones_like(taper))


def _kaiser(n, beta):
    middle = (n - 1) / 2.0
    ratio = _centred(n) / middle
    height = tensor.i0(beta * tensor.sqrt(tensor.clip(1 - ratio * ratio, min=0.0)))
    return height / tensor.i0(tensor.to_tensor(float(beta), dtype="float64"))


def _gaussian(n, std):
    return tensor.exp(-0.5 * (_centred(n) / std) ** 2)


def _general_gaussian(n, p, sig):
    return tensor.exp(-0.5 * tensor.abs(_centred(n) / sig) ** (2 * p))


def _exponential(n, center=None, tau=1.0):
    center = (n - 1) / 2.0 if center is None else center
    return tensor.exp(-tensor.abs(_places(n) - center) / tau)


def _taylor(n, nbar=4, sll=30, norm=True):
    ratio = math.acosh(10 ** (sll / 20)) / math.pi
    scale = nbar**2 / (ratio**2 + (nbar - 0.5) ** 2)
    factors = []
    for m in range(1, nbar):
        top, bottom = 1.0, 1.0
        for k in range(1, nbar):
            top *= 1 - m**2 / scale / (ratio**2 + (k - 0.5) ** 2)
            bottom *= 1 - m**2 / k**2 if k != m else 1.0
        factors.append((-1) ** (m + 1) * top / (2 * bottom))

    def at(place):
        total = tensor.ones_like(place)
        for m, factor in enumerate(factors, 1):
            total = total + 2 * factor * tensor.cos(2 * math.pi * m / n * (place - n / 2.0 + 0.5))
        return total

    window = at(_places(n))
    return window / at(tensor.to_tensor((n - 1) / 2.0, dtype="float64")) if norm else window


_WINDOWS = {
    "bartlett": _bartlett,
    "blackman": lambda n: _cosines(n, 0.42, 0.50, 0.08),
    "bohman": _bohman,
    "cosine": _cosine,
    "exponential": _exponential,
    "gaussian": _gaussian,
    "general_gaussian": _general_gaussian,
    "general_hamming": lambda n, alpha, beta: _cosines(n, alpha, beta),
    "hamming": lambda n: _cosines(n, 0.54, 0.46),
    "hann": lambda n: _cosines(n, 0.5, 0.5),
    "kaiser": _kaiser,
    "nuttall": lambda n: _cosines(n, 0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "taylor": _taylor,
    "triang": _triang,
    "tukey": _tukey,
}
_WITH_PARAMETERS = ("exponential", "gaussian", "general_gaussian", "general_hamming", "kaiser")


def get_window(window, win_length, fftbins=True, dtype="float64"):
    """A window.

    Args:
        window (str | tuple): Its name, or a tuple of the name and its parameters: hann, hamming,
            blackman, bohman, nuttall, cosine, triang, bartlett, ('tukey', alpha), ('taylor', nbar,
            sll, norm), ('kaiser', beta), ('gaussian', std), ('general_gaussian', p, sig),
            ('general_hamming', alpha, beta), ('exponential', center, tau).
        win_length (int): Number of points.
        fftbins (bool): Periodic, as spectra need it: the first points of a window that is longer by
            one. Else symmetric, as filters need it.
        dtype (str): Of the result.

    Returns:
        Tensor [win_length].

    Raises:
        ValueError: the window is unknown or misses a parameter.

    Examples:
        >>> argosy.audio.functional.get_window("hann", 4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    if isinstance(window, str):
        name, parameters = window, ()
        if name in _WITH_PARAMETERS:
            raise ValueError(
                f"[get_window] the '{name}' window needs one or more parameters. Do this: pass a tuple of the"
                " name and them."
            )
    elif isinstance(window, tuple) and window:
        name, parameters = window[0], window[1:]
    else:
        raise ValueError(
            f"[get_window] {type(window)} as window type is not supported. Do this: pass a name, or a tuple of a"
            " name and parameters."
        )
    make = _WINDOWS.get(name)
    if make is None:
        raise ValueError(
            f"[get_window] unknown window type {name!r}. Do this: take one of {', '.join(sorted(_WINDOWS))}."
        )
    if win_length <= 1:
        return tensor.ones([max(win_length, 0)], dtype)
    if name == "exponential" and not fftbins and parameters and parameters[0] is not None:
        raise ValueError(
            "[get_window] a symmetric exponential window has its centre in the middle. Do this: pass"
            " None for it."
        )
    points = make(win_length + 1 if fftbins else win_length, *parameters)
    return (points[:-1] if fftbins else points).astype(dtype)
