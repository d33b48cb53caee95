"""Texts that layers print about themselves."""

from __future__ import annotations


def join(text, name):
    """``text`` followed by ``name=...`` if there is a name."""
    if not name:
        return text
    return f"{text}, name={name}" if text else f"name={name}"
