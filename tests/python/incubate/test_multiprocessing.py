"""Tensors go through queues and pipes of incubate.multiprocessing as copies."""

import argosy as paddle
from argosy.incubate import multiprocessing


def double(inbox, outbox):
    outbox.put(inbox.recv() * 2)


def test_tensors_between_processes():
    context = multiprocessing.get_context("spawn")
    (ours, theirs), results = context.Pipe(), context.Queue()
    worker = context.Process(target=double, args=(theirs, results))
    worker.start()
    x = paddle.to_tensor([1.0, 2.0])
    ours.send(x)
    assert results.get(timeout=200).tolist() == [2, 4]
    assert x.tolist() == [1, 2]
    worker.join(200)
    assert worker.exitcode == 0
