"""What layers say about themselves: printed texts, second names of attributes."""

from __future__ import annotations


def join(text, name):
    """``text`` followed by ``name=...`` if there is a name."""
    if not name:
        return text
    return f"{text}, name={name}" if text else f"name={name}"


def other_name(attribute):
    """A property that reads and writes ``attribute`` of the layer under another name."""

    def read(layer):
        return getattr(layer, attribute)

    def write(layer, value):
        setattr(layer, attribute, value)

    return property(read, write, doc=f"Other name of ``{attribute.lstrip('_')}``.")
