"""How long steps take, and how much of that is waiting for data."""

import time

__all__ = []


class _Average:
    __slots__ = ("count", "total", "most", "least")

    def __init__(self):
        self.count, self.total, self.most, self.least = 0, 0.0, 0.0, float("inf")

    def add(self, value):
        self.count += 1
        self.total += value
        self.most = max(self.most, value)
        self.least = min(self.least, value)

    def mean(self):
        return self.total / self.count if self.count else 0.0


class Timer:
    """The step timer of a :class:`Profiler`. Times are in seconds."""

    def __init__(self):
        self._waited = 0.0  # for data, in this step
        self._reader, self._batch, self._ips = (
            _Average(),
            _Average(),
            _Average(),
        )  # of the whole run
        self._reset_interval()
        self._has_samples = False
        self._loads = False
        self._begun = None
        self._summary_unit = "steps/s"

    def _reset_interval(self):
        self._steps, self._samples, self._reader_cost, self._batch_cost = 0, 0, 0.0, 0.0

    def begin(self):
        self._begun = time.perf_counter()

    def add_wait(self, seconds):
        """Data were waited for."""
        self._loads = True
        self._waited += seconds

    def step(self, num_samples=None):
        if self._begun is None:
            return
        now = time.perf_counter()
        cost, waited = now - self._begun, self._waited
        self._begun, self._waited = now, 0.0
        self._steps += 1
        self._batch_cost += cost
        self._reader_cost += waited
        if num_samples is not None:
            self._has_samples = True
            self._samples += num_samples
        self._reader.add(waited)
        self._batch.add(cost)
        if cost > 0:
            self._ips.add((1 if num_samples is None else num_samples) / cost)

    def step_info(self, unit=None):
        steps = max(self._steps, 1)
        text = ""
        if self._loads:
            text += f" reader_cost: {self._reader_cost / steps:.5f} s"
        text += f" batch_cost: {self._batch_cost / steps:.5f} s"
        done = self._samples if self._has_samples else self._steps
        rate = done / self._batch_cost if self._batch_cost > 0 else 0.0
        what = f"{unit or 'samples'}/s" if self._has_samples else "steps/s"
        text += f" ips: {rate:.3f} {what}"
        self._summary_unit = what
        self._reset_interval()
        return text

    def end(self):
        """Prints the averages of the run and starts afresh."""
        if self._batch.count:
            unit = self._summary_unit if not self._has_samples else "samples/s"
            rows = [("batch_cost", self._batch), ("ips", self._ips)]
            if self._loads:
                rows.insert(0, ("reader_cost", self._reader))
            print("Perf Summary".center(100, "="))
            print(f"Time Unit: s, IPS Unit: {unit}")
            print("|" + "|".join(t.center(17) for t in ("", "avg", "max", "min")) + "|")
            for name, values in rows:
                cells = [f"{v:.5f}" for v in (values.mean(), values.most, values.least)]
                print("|" + "|".join(t.center(17) for t in (name, *cells)) + "|")
        self.__init__()
