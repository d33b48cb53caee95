"""What ``Model`` does when it is built in static mode: a Program for each of training, evaluation
and prediction, which share state in the scope."""

from argosy._framework import in_static_mode
from argosy._support import listed_if_any

__all__ = []


class StaticGraph:
    """Runs the batches of a Model whose network was made in static mode."""

    def __init__(self, model):
        from argosy import static

        if not model._inputs:
            raise TypeError(
                "[Model] 'inputs' must be given in static mode: expected InputSpecs, got None. Do this:"
                " pass inputs=InputSpec(shape, dtype, name)."
            )
        self._model = model
        self._executor = static.Executor()
        self._startup = static.default_startup_program()
        self._programs = {}

    def _start(self):
        """First values for what has none."""
        from argosy import static

        scope = static.global_scope()
        tensors = self._model.network.state_dict().values()
        if any(t._symbolic and scope._value(t.name) is None for t in tensors):
            self._executor.run(self._startup)

    def _inputs(self, specs, kind):
        from argosy import static

        return [
            static.data(spec.name or f"{kind}_{i}", list(spec.shape), spec.dtype)
            for i, spec in enumerate(specs)
        ]

    def _build(self, mode):
        from argosy import static

        model = self._model
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            inputs = self._inputs(model._inputs, "input")
            labels = self._inputs(model._labels, "label") if mode != "test" else []
            for v in inputs:
                v.stop_gradient = True
            (model.network.train if mode == "train" else model.network.eval)()
            outputs = listed_if_any(model._forward(inputs))
            losses, computed = [], []
            if mode != "test":
                if model._loss is not None:
                    losses, loss = model._losses(outputs, labels)
                computed = [listed_if_any(m.compute(*outputs, *labels)) for m in model._metrics]
            if mode == "train":
                parameters = [p for p in model.network.parameters() if not p.stop_gradient]
                model._optimizer.minimize(loss, parameters=parameters)
        self._start()
        self._executor.run(startup)
        return main, [v.name for v in inputs + labels], outputs, losses, computed

    def run(self, mode, inputs, labels=()):
        """(outputs, losses, figures of the metrics) of one batch, as arrays."""
        if mode not in self._programs:
            self._programs[mode] = self._build(mode)
        program, names, outputs, losses, computed = self._programs[mode]
        values = [*inputs, *labels]
        if len(values) < len(names):
            raise ValueError(
                f"[Model] a batch must have a field for each input and label: expected {names}, got"
                f" {len(values)} fields."
                " Do this: let the data set return as many."
            )
        flat = [*outputs, *losses, *(v for group in computed for v in group)]
        fetched = self._executor.run(program, dict(zip(names, values)), flat)
        found = iter(fetched)
        arrays = [[next(found) for _ in group] for group in (outputs, losses, *computed)]
        figures = [m.update(*group) for m, group in zip(self._model._metrics, arrays[2:])]
        return arrays[0], arrays[1], figures

    def state_dict(self):
        """The values of the network's state, by its structured names."""
        from argosy import static

        self._start()
        scope = static.global_scope()
        state = self._model.network.state_dict()
        return {k: scope._value(t.name) if t._symbolic else t for k, t in state.items()}

    def save(self, path):
        """Writes what is needed to predict, as static.save_inference_model."""
        from argosy import static

        if "test" not in self._programs:
            self._programs["test"] = self._build("test")
        program, names, outputs, _, _ = self._programs["test"]
        feeds = [program.global_block().var(n) for n in names]
        static.save_inference_model(path, feeds, outputs, self._executor, program=program)


def graph_of(model):
    """A StaticGraph if the model is made in static mode, else None."""
    return StaticGraph(model) if in_static_mode() else None
