"""XPUs, which this build never has: what would work on one says so."""


def synchronize(device=None):
    """Waits until the work queued on an XPU is done; raises RuntimeError, as there is none."""
    raise RuntimeError(
        "(Unavailable) [device.xpu.synchronize] Argosy is not compiled with XPU. Do this: guard the"
        " call with argosy.is_compiled_with_xpu()."
    )
