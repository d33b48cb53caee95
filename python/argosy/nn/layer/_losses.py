"""What the layers of losses have in common."""

from __future__ import annotations

from argosy._support import also_named

from ._forwarding import ForwardingLayer


class Loss(ForwardingLayer):
    """Forwards input and label to its function."""

    _repr_shows = ()

    @classmethod
    def _refuse(cls, arguments):
        """Says what took the place of two arguments that programs of other frameworks still give."""
        old = {n: arguments[n] for n in ("size_average", "reduce") if n in arguments}
        if old:
            reduction = "mean" if old.get("size_average") is not False else "sum"
            reduction = "none" if old.get("reduce") is False else reduction
            got = ", ".join(f"{name}={value}" for name, value in old.items())
            raise ValueError(
                f"[{cls.__name__}] expected reduction=, which says what size_average and reduce said,"
                f" got {got}. Do this: pass reduction={reduction!r}."
            )

    def _check_ignored(self, ignore_index):
        """Refuses a bool, which stands where size_average stood."""
        if isinstance(ignore_index, bool):
            self._refuse({"size_average": ignore_index})

    @also_named(target="label")
    def forward(self, input, label):
        return self._forwards_to(input, label, *self._kept())
