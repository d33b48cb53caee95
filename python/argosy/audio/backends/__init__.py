"""What reads and writes sound files: WAV files with 16 bits a sample, by Python's own module."""

from argosy.audio.backends import wave_backend  # noqa: F401

__all__ = ["get_current_backend", "list_available_backends", "set_backend"]


def list_available_backends():
    """Names for :func:`set_backend`.

    Returns:
        list of str.

    Examples:
        >>> argosy.audio.backends.list_available_backends()
        ['wave_backend']
    """
    return ["wave_backend"]


def get_current_backend():
    """The name of the backend in use.

    Returns:
        str.

    Examples:
        >>> argosy.audio.backends.get_current_backend()
        'wave_backend'
    """
    return "wave_backend"


def set_backend(backend_name):
    """Chooses a backend.

    Args:
        backend_name (str): 'wave_backend', the only one.

    Raises:
        NotImplementedError: there is none of that name.

    Examples:
        >>> argosy.audio.backends.set_backend("wave_backend")
    """
    if backend_name not in list_available_backends():
        raise NotImplementedError(
            f"[set_backend] there is no backend {backend_name!r}: expected one of"
            f" {list_available_backends()}. Do this: convert the files to WAV with 16 bits."
        )
