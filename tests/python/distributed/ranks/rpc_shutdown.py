"""Workers that shut down at once, where the first is slow to answer all but itself."""

import os
import time

from argosy.distributed import rpc
from argosy.distributed.rpc import _server

run = _server.Server._run


def slowly(self, message, answer):
    run(self, message, answer)
    if b"_arrive" in message and b"worker0" not in message:
        time.sleep(1)


_server.Server._run = slowly
rank = int(os.environ["PADDLE_TRAINER_ID"])
rpc.init_rpc(f"worker{rank}")
rpc.shutdown()
print("all is well")
