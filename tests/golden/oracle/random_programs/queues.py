"""Queues: short fixed scenarios, so that no run waits forever."""

from . import arguments


def fill_and_empty_queue(live):
    """Fills and empties a queue without dequeuing more than it holds."""
    kinds = [live.pick(("float32", "int32")) for _ in range(live.weighted({1: 4, 2: 2}))]
    shapes = [arguments.shape(live, live.pick((0, 1, 2))) for _ in kinds]
    args = {"capacity": 10, "dtypes": kinds}
    if live.chance(0.85):
        args["shapes"] = shapes
    queue = live.call("FIFOQueue", **args, **arguments.op_name(live))
    if not queue.ok:
        return
    held, element = 0, [arguments.literal(live, k, s) for k, s in zip(kinds, shapes)]
    if live.chance(0.1):
        element = [arguments.literal(live, "float32", [2, 2])]
    put = live.call("enqueue", queue=queue, vals=element, **arguments.op_name(live, 0.2))
    several = live.call("enqueue_many", queue=queue, **arguments.op_name(live, 0.2),
                        vals=[[e, e] for e in element])
    take = live.call("dequeue", queue=queue, **arguments.op_name(live, 0.2))
    many = live.call("dequeue_many", queue=queue, n=2)
    size = live.call("queue_size", queue=queue)
    for _ in range(live.rng.randrange(2, 6)):
        what, change = live.pick(((put, 1), (several, 2), (take, -1), (many, -2), (size, 0)))
        if not what.ok or held + change < 0 or held + change > 10:
            continue
        fetches = [what]
        if isinstance(what.value, list):
            fetches = [what[i] for i in range(len(what.value))]
        if live.call("run", fetches=fetches).ok:
            held += change
    if live.chance(0.4):
        close = live.call("close_queue", queue=queue)
        if close.ok:
            live.call("run", fetches=[close])
            if take.ok:
                fetches = [take[i] for i in range(len(kinds))] if len(kinds) > 1 else [take]
                live.call("run", fetches=fetches)
