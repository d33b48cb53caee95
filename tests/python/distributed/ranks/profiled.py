"""Collectives in the profiler's trace: eager calls, exchanges beside backward, operations of Programs."""

import argosy as paddle
import argosy.distributed as dist
from argosy import profiler

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

model = paddle.DataParallel(paddle.nn.Linear(8, 8))
trained(model)  # learns the order of gradients
with profiler.Profiler(targets=[profiler.ProfilerTarget.CPU]) as watched:
    trained(model)
events = watched.profiler_result.events
(exchange,) = [e for e in events if e.kind == "communication"]
backward = next(e for e in events if e.kind == "backward")
assert exchange.name == "all_reduce" and exchange.thread != backward.thread
assert exchange.begin > backward.begin
print("all is well")
