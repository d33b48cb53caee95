"""Tells a story, and finds the shortest one that fails as it does."""

import json
import re
import shutil
import tempfile
import time

from tests.faults.model import Violation
from tests.faults.story import Driver

__all__ = ["cut", "shorten", "tell", "text"]


def tell(story):
    """What went wrong, or ""."""
    directory = tempfile.mkdtemp(prefix="argosy-faults-")
    try:
        with Driver(story, directory) as driver:
            driver.run()
    except Violation as e:
        return str(e) or "broken"
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return ""


def cut(story, kept):
    """The events at these places alone. Calls keep the numbers that they had."""
    return dict(
        story, events=[e if i in kept else {"do": "nothing"} for i, e in enumerate(story["events"])]
    )


def _kind(wrong):
    """What two failures of the same kind have in common."""
    return re.sub(r"[\d./]+", "", wrong.split("\n")[0])[:30]


def shorten(story, wrong, seconds, tries=2):
    """The places of a short list of events that still fails so, within so many seconds."""
    end = time.monotonic() + seconds
    kept = [i for i, e in enumerate(story["events"]) if e["do"] != "nothing"]

    def fails(places):
        stories = (cut(story, set(places)) for _ in range(tries))
        return any(_kind(tell(s)) == _kind(wrong) for s in stories)

    size = max(1, len(kept) // 2)
    while True:
        before = len(kept)
        for at in range(0, len(kept), size):
            fewer = kept[:at] + kept[at + size :]
            if time.monotonic() > end:
                return kept
            if len(fewer) < len(kept) and fails(fewer):
                kept = fewer
                break
        if len(kept) < before:
            size = min(size, max(1, len(kept) // 2))
        elif size == 1:
            return kept
        else:
            size = max(1, size // 2)


def text(story, kept):
    """A line for each event."""
    return "\n".join(f"  {i:3} {json.dumps(story['events'][i])}" for i in kept)
