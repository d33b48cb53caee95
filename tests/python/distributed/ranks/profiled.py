"""Collectives in the profiler's trace: eager calls, exchanges beside backward, operations of Programs."""

import argosy as paddle
import argosy.distributed as dist
from argosy import profiler
from argosy.distributed import _reducer

dist.init_parallel_env()


@paddle.jit.to_static
def captured(x):
    total = x * 2
    dist.all_reduce(total)
    return total + 1


def trained(model):
    model(paddle.ones([2, 8])).mean().backward()


def events_of(call):
    with profiler.Profiler(targets=[profiler.ProfilerTarget.CPU]) as watched:
        call()
    return [e for e in watched.profiler_result.events if e.kind == "communication"]


captured(paddle.ones([4]))
(event,) = events_of(lambda: captured(paddle.ones([4])))
assert event.name == "all_reduce"
(event,) = events_of(lambda: dist.broadcast(paddle.ones([4]), src=0))
assert event.name == "broadcast" and event.begin < event.end
(event,) = events_of(lambda: dist.all_reduce(paddle.ones([4]), sync_op=False).wait())
assert event.name == "all_reduce"


def exchange_and_backward(at_end):
    _reducer.no_idle_core = lambda group: at_end
    model = paddle.DataParallel(paddle.nn.Linear(8, 8))
    trained(model)  # learns the order of gradients
    with profiler.Profiler(targets=[profiler.ProfilerTarget.CPU]) as watched:
        trained(model)
    events = watched.profiler_result.events
    (exchange,) = [e for e in events if e.kind == "communication"]
    assert exchange.name == "all_reduce"
    return exchange, next(e for e in events if e.kind == "backward")


exchange, backward = exchange_and_backward(False)
assert exchange.thread != backward.thread and exchange.begin > backward.begin
exchange, backward = exchange_and_backward(True)
assert exchange.thread == backward.thread and exchange.begin >= backward.end
print("all is well")
