"""What the launcher of the fault harness starts: a server or a worker, as the environment says."""

import json
import os
import sys

from tests.faults import content, server, worker

plans, directory = json.loads(sys.argv[1]), sys.argv[2]
endpoints = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
open(os.path.join(directory, f"pid-{os.getpid()}"), "w").close()
if os.environ["TRAINING_ROLE"] == "PSERVER":
    own = os.environ["PADDLE_CURRENT_ENDPOINT"]
    server.main(
        dict(
            endpoint=own,
            index=endpoints.index(own),
            servers=len(endpoints),
            workers=content.WORKERS,
            tables=content.TABLES,
            durability="log",
            directory=os.environ["ARGOSY_PS_DIRECTORY"],
        )
    )
else:
    plan = plans[int(os.environ["PADDLE_TRAINER_ID"])]
    worker.Worker(dict(plan, endpoints=endpoints)).run()
