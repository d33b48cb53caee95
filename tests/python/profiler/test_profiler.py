"""The profiler: what it records, when, and what comes out."""

import gc
import io
import json
import threading
from contextlib import redirect_stdout

import numpy as np
import pytest

import argosy as paddle
from argosy import profiler
from argosy.profiler import Profiler, ProfilerState, RecordEvent, make_scheduler
from argosy.profiler.utils import TracerEventType, in_profiler_mode

PLACES = {"cpu", paddle.device.get_device()}  # whose memory tests use


def states(schedule, n):
    short = {"CLOSED": "-", "READY": "r", "RECORD": "R", "RECORD_AND_RETURN": "!"}
    return "".join(short[schedule(i).name] for i in range(n))


def record(body, **options):
    """The recording of body()."""
    with Profiler(on_trace_ready=lambda prof: None, **options) as prof:
        body()
    return prof


def named(result, name):
    return [e for e in result.events if e.name == name]


def summary_of(prof, **options):
    out = io.StringIO()
    with redirect_stdout(out):
        prof.summary(**options)
    return out.getvalue()


def encloses(outer, inner):
    return (
        outer.thread == inner.thread
        and outer.begin <= inner.begin
        and inner.end <= outer.end
        and outer.depth < inner.depth
    )


# --- when ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, expected",
    [
        (dict(closed=1, ready=1, record=2), "-rR!-rR!-rR!"),
        (dict(closed=1, ready=1, record=2, repeat=1, skip_first=2), "---rR!------"),
        (dict(closed=0, ready=0, record=1, repeat=2), "!!----------"),
        (dict(closed=0, ready=0, record=3), "RR!RR!RR!RR!"),
    ],
)
def test_schedules_go_in_cycles(options, expected):
    assert states(make_scheduler(**options), 12) == expected


@pytest.mark.parametrize(
    "options",
    [
        dict(closed=-1, ready=0, record=1),
        dict(closed=0, ready=0, record=0),
        dict(closed=0, ready=0, record=1, repeat=-1),
        dict(closed=0, ready=0, record=1, skip_first=-1),
    ],
)
def test_schedules_that_cannot_be(options):
    with pytest.raises(AssertionError, match=r"\[make_scheduler\] expected closed >= 0"):
        make_scheduler(**options)


@pytest.mark.parametrize(
    "pair, expected",
    [((2, 5), "-rRR!--"), ((1, 5), "rRRR!--"), ((0, 1), "!------"), ([1, 3], "rR!----")],
)
def test_a_pair_is_a_range_of_steps(pair, expected):
    assert states(Profiler(scheduler=pair).scheduler, 7) == expected


def test_schedulers_that_are_none():
    with pytest.raises(TypeError, match=r"\[Profiler\] scheduler: expected a function"):
        Profiler(scheduler=3)
    with pytest.raises(AssertionError, match="the second larger"):
        Profiler(scheduler=(3, 1))


@pytest.mark.parametrize(
    "scheduler, steps, handed_over",
    [
        (None, 3, [3]),
        ((2, 5), 8, [5]),
        ((1, 5), 3, [3]),
        (make_scheduler(closed=1, ready=1, record=2), 8, [4, 8]),
        (make_scheduler(closed=0, ready=0, record=1), 3, [1, 2, 3, 3]),
        ((0, 2), 3, [2]),
    ],
)
def test_recordings_are_handed_over(scheduler, steps, handed_over):
    seen = []

    def ready(prof):
        seen.append((prof.step_num, [e.name for e in prof.profiler_result.events]))

    with Profiler(scheduler=scheduler, on_trace_ready=ready) as prof:
        for i in range(steps):
            with RecordEvent(f"range {i}"):
                paddle.ones([2])
            prof.step()
    assert [number for number, _ in seen] == handed_over
    recorded = {name for _, names in seen for name in names if name.startswith("range")}
    expected = {
        f"range {i}"
        for i in range(steps)
        if prof.scheduler(i) in (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN)
    }
    assert recorded == expected
    assert not in_profiler_mode()


def test_a_schedule_that_breaks_off_drops_the_recording():
    prof = Profiler(
        scheduler=lambda step: ProfilerState.RECORD if step == 0 else ProfilerState.CLOSED
    )
    prof.start()
    with pytest.warns(UserWarning, match="went from RECORD to CLOSED at step 1"):
        prof.step()
    prof.stop()
    assert prof.profiler_result is None


def test_one_recording_at_a_time():
    with Profiler(on_trace_ready=lambda prof: None):
        with pytest.raises(RuntimeError, match="another profiler records already"):
            Profiler().start()
        assert in_profiler_mode()
    assert not in_profiler_mode()


# --- what ---------------------------------------------------------------------------------------


def test_ops_gradients_and_phases():
    layer = paddle.nn.Linear(4, 3)
    optimizer = paddle.optimizer.Adam(parameters=layer.parameters())
    data = [np.ones([4], "float32")] * 4

    def body():
        for batch in paddle.io.DataLoader(data, batch_size=4):
            layer(batch).sum().backward()
            optimizer.step()

    result = record(body).profiler_result
    (step,) = named(result, "ProfileStep#0")
    (forward,) = named(result, "Linear")
    (backward,) = named(result, "backward")
    (update,) = named(result, "Adam.step")
    (linear,) = named(result, "linear")
    (rule,) = named(result, "linear backward")
    waits = named(result, "DataLoader")
    assert [e.kind for e in (step, forward, backward, update, linear, rule)] == [
        "step",
        "forward",
        "backward",
        "optimization",
        "op",
        "gradient",
    ]
    assert len(waits) == 2 and {e.kind for e in waits} == {"data"}  # the second finds the end
    for inner in (forward, backward, update, *waits):
        assert encloses(step, inner)
    assert encloses(forward, linear)
    assert encloses(backward, rule)
    assert [e for e in named(result, "matmul") if encloses(rule, e)]
    assert [e for e in named(result, "adam_") if encloses(update, e)]
    assert waits[0].end <= forward.begin <= forward.end <= backward.begin <= update.begin


def test_failing_calls_are_recorded_too():
    def body():
        with pytest.raises(ValueError):
            paddle.ones([2, 3]) @ paddle.ones([2, 3])
        with pytest.raises(ZeroDivisionError), RecordEvent("broken"):
            1 / 0
        paddle.ones([2]) + 1

    result = record(body).profiler_result
    (step,) = named(result, "ProfileStep#0")
    (broken,) = named(result, "broken")
    (add,) = named(result, "add")
    assert encloses(step, broken) and encloses(step, named(result, "matmul")[0])
    assert add.depth == broken.depth == step.depth + 1


def test_notes_are_taken_on_request():
    def body():
        x = paddle.ones([8, 16])
        paddle.matmul(x, paddle.ones([16, 4]))
        paddle.nn.functional.linear(x, paddle.ones([16, 4]), paddle.ones([4]))
        paddle.nn.functional.conv2d(paddle.ones([1, 2, 5, 5]), paddle.ones([3, 2, 3, 3]))

    plain = record(body).profiler_result
    assert not [e for e in plain.events if e.detail or e.cost or e.kind == "memory"]
    full = record(body, record_shapes=True, profile_memory=True, with_flops=True).profiler_result
    (matmul,) = named(full, "matmul")
    assert matmul.detail == "x: float32[8, 16]; y: float32[16, 4]"
    assert matmul.cost == 2 * 8 * 16 * 4
    assert named(full, "linear")[0].cost == 2 * 8 * 16 * 4 + 8 * 4
    assert named(full, "conv2d")[0].cost == 2 * (3 * 3 * 3) * (2 * 3 * 3)
    assert matmul.amount >= 8 * 4 * 4
    samples = [e for e in full.events if e.kind == "memory"]
    assert samples and all(e.name in PLACES and e.begin == e.end for e in samples)


def test_memory_over_time():
    def body():
        x = paddle.ones([1 << 18])
        y = x + 1
        del x
        y = y + 1

    gc.collect()  # what others left is not freed meanwhile
    result = record(body, profile_memory=True).profiler_result
    sizes = [e.amount for e in result.events if e.kind == "memory"]
    first, second, third = (size - (sizes[0] - (1 << 20)) for size in sizes[:3])
    assert first == 1 << 20
    assert 2 << 20 <= second < (2 << 20) + 65536
    assert 2 << 20 <= third < (2 << 20) + 65536


def test_threads_have_their_own_lines():
    def work():
        with RecordEvent("in a thread"):
            paddle.ones([2]) + 1

    def body():
        thread = threading.Thread(target=work, name="helper")
        thread.start()
        thread.join()
        for _ in range(20):
            paddle.ones([1 << 20]) + 1

    pool, expected = set(), paddle._core.num_threads() > 1
    for _ in range(50):
        result = record(body).profiler_result
        pool |= {result.threads[e.thread].name for e in result.events if e.kind == "kernel"}
        if pool or not expected:  # a busy machine may give the pool's threads no time
            break
    (own,) = named(result, "in a thread")
    (step,) = named(result, "ProfileStep#0")
    assert own.thread != step.thread and own.depth == 0
    assert result.threads[step.thread].name == "MainThread"
    assert not expected or (pool and all(name.startswith("argosy-") for name in pool))
    ids = [thread.id for thread in result.threads]
    assert len(set(ids)) == len(ids)


def test_ranges_of_the_program():
    quiet = RecordEvent("before")
    quiet.begin()  # nobody records

    @RecordEvent("decorated")
    def decorated():
        return 3

    def body():
        quiet.end()
        RecordEvent("never begun").end()
        event = RecordEvent("twice")
        for _ in range(2):
            event.begin()
            event.end()
        event.end()
        RecordEvent("open").begin()
        assert decorated() == 3
        with RecordEvent("typed", event_type=TracerEventType.Communication):
            pass

    result = record(body).profiler_result
    user = sorted(e.name for e in result.events if e.kind == "user")
    assert user == ["decorated", "twice", "twice"]
    assert named(result, "typed")[0].kind == "communication"


def test_nothing_stays_behind():
    from argosy.io.dataloader import dataloader_iter
    from argosy.nn.layer.layers import Layer
    from argosy.optimizer import LBFGS, SGD
    from argosy.optimizer.optimizer import Optimizer

    def methods():
        return (
            Layer.__call__,
            Optimizer.step,
            SGD.step,
            LBFGS.step,
            dataloader_iter._SingleProcessIterator.__next__,
            dataloader_iter._WorkerIterator.__next__,
        )

    before = methods()
    outer, inner = Profiler(timer_only=True), Profiler(on_trace_ready=lambda prof: None)
    outer.start()
    inner.start()
    assert all(now is not then for now, then in zip(methods(), before))
    with redirect_stdout(io.StringIO()):
        outer.stop()
    inner.stop()
    inner.stop()
    assert methods() == before


# --- what comes out -----------------------------------------------------------------------------


def make_recording(**options):
    def body():
        with RecordEvent("mine"):
            x = paddle.ones([64, 64])
            x.stop_gradient = False
            paddle.nn.functional.gelu(x @ x).sum().backward()

    return record(body, record_shapes=True, profile_memory=True, with_flops=True, **options)


def test_chrome_trace(tmp_path):
    prof = make_recording()
    path = tmp_path / "deep" / "trace.json"
    prof.export(str(path))
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    by_phase = {}
    for event in events:
        by_phase.setdefault(event["ph"], []).append(event)
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
    assert set(by_phase) == {"X", "C", "M"}
    for event in by_phase["X"]:
        assert event["ts"] >= 0 and event["dur"] >= 0 and event["name"] and event["cat"]
    for event in by_phase["C"]:
        assert (
            event["name"] in {f"memory {place}" for place in PLACES}
            and event["args"]["allocated"] >= 0
        )
    assert [e["args"]["name"] for e in by_phase["M"] if e["name"] == "process_name"] == ["argosy"]
    names = {e["tid"]: e["args"]["name"] for e in by_phase["M"] if e["name"] == "thread_name"}
    assert names.keys() == {e["tid"] for e in by_phase["M"] if e["name"] == "thread_sort_index"}
    assert {e["tid"] for e in by_phase["X"]} <= names.keys() and "MainThread" in names.values()
    (matmul,) = [e for e in by_phase["X"] if e["name"] == "matmul" and e["args"]["depth"] == 2]
    assert matmul["cat"] == "Operator"
    assert matmul["args"]["inputs"] == "x: float32[64, 64]; y: float32[64, 64]"
    assert matmul["args"]["flops"] == 2 * 64**3
    (mine,) = [e for e in by_phase["X"] if e["name"] == "mine"]
    assert mine["ts"] <= matmul["ts"] and matmul["ts"] + matmul["dur"] <= mine["ts"] + mine["dur"]


def test_what_is_written_can_be_read(tmp_path):
    prof = make_recording()
    for name, format in (("a.json", "json"), ("b.pb", "pb")):
        prof.export(str(tmp_path / name), format=format)
        loaded = profiler.load_profiler_result(str(tmp_path / name))
        assert loaded.events == prof.profiler_result.events
        assert loaded.threads == prof.profiler_result.threads
        assert loaded.get_extra_info() == prof.profiler_result.extra
        main = [t.id for t in loaded.threads if t.name == "MainThread"][0]
        assert [e.name for e in loaded.get_data()[main]][:1] == ["ProfileStep#0"]


def test_reading_what_is_not_a_trace(tmp_path):
    with pytest.raises(OSError):
        profiler.load_profiler_result(str(tmp_path / "missing"))
    for text in ("not json", "{}", '{"traceEvents": [{"ph": "X", "pid": 1}]}', "[1]"):
        path = tmp_path / "bad.json"
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a trace written by this profiler"):
            profiler.load_profiler_result(str(path))


@pytest.mark.parametrize(
    "make, ending",
    [
        (profiler.export_chrome_tracing, ".paddle_trace.json"),
        (profiler.export_protobuf, ".paddle_trace.pb.json"),
    ],
)
def test_handlers_write_a_file_for_each_recording(tmp_path, make, ending):
    folder = tmp_path / "traces"
    with Profiler(
        scheduler=make_scheduler(closed=0, ready=0, record=1, repeat=2),
        on_trace_ready=make(str(folder), "worker3"),
    ) as prof:
        for _ in range(4):
            paddle.ones([2]) + 1
            prof.step()
    files = sorted(folder.iterdir())
    assert len(files) == 2
    for file in files:
        assert file.name.startswith("worker3_time_") and file.name.endswith(ending)
        assert named(profiler.load_profiler_result(str(file)), "add")


def test_by_default_traces_go_to_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Profiler():
        paddle.ones([2])
    (file,) = (tmp_path / "profiler_log").iterdir()
    assert file.name.endswith(".paddle_trace.json")


def test_nothing_to_export(tmp_path):
    prof = Profiler()
    with pytest.warns(UserWarning, match="nothing to export"):
        prof.export(str(tmp_path / "x.json"))
    assert not list(tmp_path.iterdir())
    assert summary_of(prof) == ""


def row_of(table, name):
    (line,) = [line for line in table.splitlines() if line.split("  ")[0] == name]
    return line.split()


def test_summary_counts_and_adds_up():
    def body():
        x = paddle.ones([16, 16])
        for _ in range(5):
            x @ x
        x + 1

    prof = record(body, with_flops=True, profile_memory=True)
    table = summary_of(prof, views=profiler.SummaryView.OperatorView, time_unit="ns")
    name, calls, total, mean, most, least, share, own, flops, memory, _unit = row_of(
        table, "matmul"
    )
    events = [e.end - e.begin for e in named(prof.profiler_result, "matmul")]
    assert int(calls) == len(events) == 5
    assert float(total) == sum(events) == float(own)
    assert float(mean) == pytest.approx(sum(events) / 5, abs=1e-3)
    assert (float(most), float(least)) == (max(events), min(events))
    everything = sum(e.end - e.begin for e in prof.profiler_result.events if e.kind == "op")
    assert float(share) == pytest.approx(100 * sum(events) / everything, abs=0.01)
    assert float(flops) == pytest.approx(5 * 2 * 16**3, rel=1e-3)
    assert row_of(table, "add")[1] == "1"


@pytest.mark.parametrize(
    "key, column, falling",
    [("CPUTotal", 2, True), ("CPUAvg", 3, True), ("CPUMax", 4, True), ("CPUMin", 5, False)],
)
def test_summary_sorts(key, column, falling):
    prof = make_recording()
    table = summary_of(
        prof,
        sorted_by=profiler.SortedKeys[key],
        op_detail=False,
        views=[profiler.SummaryView.OperatorView],
        time_unit="ns",
    )
    rows = [
        line.rsplit(None, 10) for line in table.splitlines() if "backward" in line or " op" in line
    ]
    lines = [line for line in table.splitlines() if "." in line and not line.startswith("Time")]
    values = [float(line[len(line.split("  ")[0]) :].split()[column - 1]) for line in lines]
    assert len(values) > 5 and rows
    assert values == sorted(values, reverse=falling)


def test_summary_of_parts_and_threads():
    prof = make_recording()
    detail = summary_of(prof, views=profiler.SummaryView.OperatorView)
    plain = summary_of(prof, op_detail=False, views=profiler.SummaryView.OperatorView)
    assert "\n  gelu_grad" in detail and "\n  gelu_grad" not in plain
    assert "All threads" in plain
    assert ": MainThread " in summary_of(
        prof, thread_sep=True, views=profiler.SummaryView.OperatorView
    )


def test_all_tables():
    text = summary_of(make_recording())
    for title in ("Device", "Overview", "Model", "Operator", "Memory", "UserDefined"):
        assert f" {title} Summary" in text
    assert "Distribution Summary" not in text  # no communication, no table
    with pytest.raises(ValueError, match="time_unit: expected one of s, ms, us, ns, got 'x'"):
        make_recording().summary(time_unit="x")
    with pytest.raises(TypeError, match="expected a SortedKeys"):
        make_recording().summary(sorted_by=3)


# --- step timer ---------------------------------------------------------------------------------


class Clock:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)


def test_step_info_averages_since_the_last_call(monkeypatch, capsys):
    clock = Clock(monkeypatch)
    prof = Profiler(timer_only=True)
    prof.start()
    for seconds in (0.5, 1.5):
        clock.now += seconds
        prof.step(num_samples=16)
    assert prof.step_info(unit="images") == " batch_cost: 1.00000 s ips: 16.000 images/s"
    clock.now += 4
    prof.step(num_samples=16)
    assert prof.step_info() == " batch_cost: 4.00000 s ips: 4.000 samples/s"
    prof.stop()
    lines = capsys.readouterr().out.splitlines()
    assert "Perf Summary" in lines[0]
    assert lines[1] == "Time Unit: s, IPS Unit: samples/s"
    assert [cell.strip() for cell in lines[3].strip("|").split("|")] == [
        "batch_cost",
        "2.00000",
        "4.00000",
        "0.50000",
    ]
    assert prof.profiler_result is None


def test_step_info_counts_steps_without_samples(monkeypatch):
    clock = Clock(monkeypatch)
    prof = Profiler(timer_only=True)
    prof.start()
    for _ in range(4):
        clock.now += 0.25
        prof.step()
    assert prof.step_info() == " batch_cost: 0.25000 s ips: 4.000 steps/s"
    with redirect_stdout(io.StringIO()):
        prof.stop()


def test_step_info_tells_of_waits(monkeypatch):
    clock = Clock(monkeypatch)

    class Slow(paddle.io.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            clock.now += 0.125
            return np.zeros([1], "float32")

    prof = Profiler(timer_only=True)
    prof.start()
    for _ in paddle.io.DataLoader(Slow(), batch_size=2):
        clock.now += 0.75
        prof.step(num_samples=2)
    text = prof.step_info()
    assert text == " reader_cost: 0.25000 s batch_cost: 1.00000 s ips: 2.000 samples/s"
    with redirect_stdout(io.StringIO()):
        prof.stop()
