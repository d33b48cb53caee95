"""Whole training steps as one Program: forward, backward and update."""

import itertools
import warnings
import weakref

from argosy import _core
from argosy._core import Tensor
from argosy.amp import _state as autocast
from argosy.device.place import CPUPlace, current
from argosy.optimizer import LBFGS
from argosy.static.input import InputSpec

from .api import fits
from .capture import NumbersRead, execute, filled, noting, recording, tensors_left
from .reads import frozen, noting_reads
from .transform.runtime.calls import call

_MOST_FORMS = 64  # captured steps that are kept, the newest
_MANY_STATES = 8  # captures of one form that a warning is due for


def compile_step(model, loss=None, optimizer=None, input_spec=None):
    """A function that trains `model` on one batch, as one captured Program.

    Forward, gradients, clipping, regularization and the optimizer's update are recorded at the
    first call with inputs of a new form, so that passes and the memory planner see the step as a
    whole; a later call only runs it. Python state that the model and the loss read (attributes, hooks, variables) is
    compared at each call: if it changed, the step is captured anew. So it is with what the optimizer is set to
    (weight decay, betas, rates of parameters, clipping). Buffers and optimizer state are updated in place, the learning
    rate is asked of the optimizer at each call. Gradients (`.grad`) stay as they were, also those of tensors that the
    optimizer does not update. Attributes that the model sets to tensors have those of the last step,
    without history; tensors that it puts into its lists or dicts stay values of the Program. Parameters of a DataParallel layer are updated by gradients that are
    averaged over its processes, which are exchanged while others are computed.

        step = argosy.jit.compile_step(model, nn.CrossEntropyLoss(), optimizer)
        for image, label in loader:
            value = step(image, label)

    Args:
        model (callable): A Layer or function of the inputs.
        loss (callable, optional): loss(output, label) with the step's last argument as label. None:
            model returns the loss itself and takes all arguments.
        optimizer (Optimizer): Updates its parameters.
        input_spec (list | tuple, optional): static.InputSpecs, one for each argument of the step
            (None: as it comes). Sizes of -1 may change from call to call without another capture,
            as for the smaller last batch of an epoch: only a plan is made for each size, in
            milliseconds. Such sizes are unknown to the model while it is captured.

    Returns:
        CompiledStep: Call it with tensors or arrays; it returns the loss, without gradient.

    Raises:
        TypeError: optimizer is none or LBFGS, or input_spec is of another kind.

    Example:
        >>> model = argosy.nn.Linear(2, 1)
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
        >>> step = argosy.jit.compile_step(model, argosy.nn.MSELoss(), sgd)
        >>> losses = [float(step(argosy.ones([4, 2]), argosy.ones([4, 1]))) for _ in range(5)]
        >>> losses[-1] < losses[0]
        True
    """
    if optimizer is None or not hasattr(optimizer, "step"):
        raise TypeError(
            "[compile_step] optimizer: expected an Optimizer, got"
            f" {type(optimizer).__name__}. Do this: pass optimizer=argosy.optimizer.Adam(..)."
        )
    if isinstance(optimizer, LBFGS):
        raise TypeError(
            "[compile_step] optimizer: LBFGS evaluates the loss as often as it finds fit, so its step"
            " is not one Program. Do this: use its eager step(closure), with a model captured by"
            " jit.to_static."
        )
    if input_spec is not None:
        if not isinstance(input_spec, (list, tuple)) or not all(
            spec is None or isinstance(spec, InputSpec) for spec in input_spec
        ):
            raise TypeError(
                f"[compile_step] input_spec: expected a list of InputSpec or None, got {input_spec!r}."
                " Do this: pass one static.InputSpec(shape, dtype) for each argument of the step."
            )
        input_spec = tuple(input_spec)
    return CompiledStep(model, loss, optimizer, input_spec)


class _Read:
    """What one Program of a step was captured for: Python state that the model and the loss read, and numbers of
    tensors. written: of that state, what the capture has changed; before: that of the Program whose place it takes."""

    def __init__(self, reads, written, program, before):
        self.reads, self.written, self.numbers = reads, written, NumbersRead.of(program)
        if written and (before is None or not before.written):
            names = ", ".join(dict.fromkeys(read.name for read in written))
            warnings.warn(
                f"[compile_step] the model or the loss changes Python state that it reads ({names}): that counts when the"
                " step is captured, and not in later steps. Do this: keep the value in a tensor (a buffer of the"
                " layer), or change it outside.",
                stacklevel=3,
            )
        self.states = 1 if before is None else before.states + 1
        if self.states == _MANY_STATES:
            names = ", ".join(dict.fromkeys(before.changed()))
            warnings.warn(
                f"[compile_step] the step was captured {_MANY_STATES} times for state that it reads and that changes"
                f" ({names}), which takes longer than to run it. Do this: keep the value in a tensor, or pass it as"
                " an argument.",
                stacklevel=3,
            )

    def hold(self):
        """Whether all of it is as it was."""
        return self.reads.hold() and (self.numbers is None or self.numbers.hold())

    def leave(self):
        """Sets the numbers, texts and the like that each step sets."""
        if not self.written:
            self.reads.leave()

    def changed(self):
        """Names of what is not."""
        return self.reads.changed() + ([] if self.numbers is None else self.numbers.changed())


def _trained_by_others(program, parameters):
    """(tensor, its gradient) of what a Program reads that needs gradients and is not the optimizer's, as the
    discriminator is of a generator's: the step leaves these as they are. They are None while it is captured."""
    own = set(map(id, parameters))
    read = _core.program_read_tensors(program)
    others = [t for t in read if t.is_leaf and not t.stop_gradient and id(t) not in own]
    gradients = [t.grad for t in others]
    for t in others:
        t.grad = None  # else it would be added to
    return list(zip(others, gradients))


class CompiledStep:
    """What compile_step gives. `program_cache` holds the captured steps by the form of their inputs.

    Args:
        model (callable): A Layer or function of the inputs.
        loss (callable | None): loss(output, label); None where model returns the loss.
        optimizer (Optimizer): Updates its parameters.
        input_spec (tuple[InputSpec], optional): One for each argument of the step.

    Example:
        >>> model = argosy.nn.Linear(2, 1)
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
        >>> step = argosy.jit.compile_step(lambda x: model(x).mean(), None, sgd)
        >>> _ = step(argosy.ones([4, 2]))
        >>> len(step.program_cache)
        1
    """

    def __init__(self, model, loss, optimizer, input_spec=None):
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.input_spec = input_spec
        self.program_cache = {}
        self._read = {}  # of each: what it was captured for
        sublayers = getattr(model, "sublayers", None)
        self._layers = [weakref.ref(v) for v in sublayers(include_self=True)] if sublayers else []
        self._parameters = list(optimizer._all_params())
        self._rate = None
        self._plain = self._number = None  # settings, and a number that stands for them
        self._numbers, self._count = {}, itertools.count()  # of the newest
        self._captured_for = set()  # settings, up to _MANY_STATES
        self._exchanging = []  # DataParallel layers of the step

    def __call__(self, *batch):
        batch = [v if isinstance(v, Tensor) else _core.to_tensor(v, None, True) for v in batch]
        shapes = self._shapes(batch)
        key = (_core.get_default_dtype(), *((*s, v.dtype) for s, v in zip(shapes, batch)))
        if self._layers:
            key += tuple(layer().training for layer in self._layers if layer() is not None)
        key += tuple(p.stop_gradient for p in self._parameters) + (autocast.key(),)
        form = key, *self._settings()
        found, read = self.program_cache.get(form), self._read.get(form)
        if found is None or not read.hold():
            if found is None and len(self.program_cache) >= _MOST_FORMS:
                oldest = next(iter(self.program_cache))
                del self.program_cache[oldest], self._read[oldest]
            found = *self._capture(batch), self._left
            read = _Read(self._reads, self._written, found[0], read)  # its warnings may be errors
            form = key, *self._settings()  # clipping may keep what it has seen
            self._note_settings(form[1:])
            self.program_cache[form], self._read[form] = found, read
        program, fetches, left = found
        for layer in self._exchanging:
            layer._begin_step()
        made = execute(program, [*batch, self._current_rate(batch)], fetches)
        for owner, name, structure in left:
            setattr(owner, name, filled(structure, made))
        read.leave()
        return made[0]

    def _settings(self):
        """What the optimizer is set to, as values of a key."""
        plain, objects = self.optimizer._settings()
        if plain != self._plain:
            self._plain, key = plain, frozen(plain)
            if key not in self._numbers:
                if len(self._numbers) >= _MOST_FORMS:
                    del self._numbers[next(iter(self._numbers))]
                self._numbers[key] = next(self._count)
            self._number = self._numbers[key]
        return self._number, frozen(objects) if objects else ()

    def _note_settings(self, settings):
        """Warns of an optimizer that is set differently again and again."""
        if settings in self._captured_for or len(self._captured_for) == _MANY_STATES:
            return
        self._captured_for.add(settings)
        if len(self._captured_for) == _MANY_STATES:
            warnings.warn(
                f"[compile_step] the step was captured for {_MANY_STATES} settings of the optimizer (weight decay,"
                " betas, rates of parameters, clipping ..), which takes longer than to run it. Do this: change the"
                " learning rate alone, or these seldom.",
                stacklevel=3,
            )

    def _shapes(self, batch):
        """The shapes to capture: those of the batch, but for what input_spec leaves open."""
        if self.input_spec is None:
            return [v.shape for v in batch]
        if len(batch) != len(self.input_spec):
            raise ValueError(
                f"[compile_step] input_spec has {len(self.input_spec)} entries, the step was called"
                f" with {len(batch)} arguments. Do this: give one entry for each, or None."
            )
        shapes = []
        for i, (v, spec) in enumerate(zip(batch, self.input_spec)):
            if spec is not None and not fits(v, spec):
                raise ValueError(
                    f"[compile_step] argument {i} does not fit its input_spec: expected"
                    f" {spec.dtype} {list(spec.shape)}, got {v.dtype} {list(v.shape)}. Do this: pass"
                    " that form, or make the size -1 in input_spec."
                )
            shapes.append(v.shape if spec is None else list(spec.shape))
        return shapes

    def _current_rate(self, batch=()):
        """The learning rate as the Program takes it: float64[], on the host, where updates read it
        without waiting for a device; a run is where its first feed is."""
        value = self.optimizer.get_lr()
        form = value, bool(batch)
        if self._rate is None or self._rate[0] != form:
            here = current.place
            _core.set_place(CPUPlace() if batch else self._parameters[0].place)
            try:
                self._rate = form, _core.to_tensor(value, "float64", True)
            finally:
                _core.set_place(here)
        return self._rate[1]

    def _capture(self, batch):
        """The Program of a step, and what it fetches: the loss, and what attributes are set to (see tensors_left)."""
        optimizer = self.optimizer
        optimizer._make_all_states()  # before recording: they outlive the step
        parameters = [p for p in optimizer._all_params() if not p.stop_gradient]
        kept = [p.grad for p in parameters]
        program = _core.program_new()
        inputs = []
        for i, (v, shape) in enumerate(zip(batch, self._shapes(batch))):
            inputs.append(_core.program_input(program, f"input_{i}", list(shape), v.dtype))
        rate = _core.program_input(program, "learning_rate", [], "float64")
        optimizer.clear_grad(set_to_zero=False)
        others = []
        try:
            with noting() as exchanging, recording(program), optimizer._taking_rate(rate):
                with noting_reads() as self._reads:
                    try:
                        value = self._value(inputs)
                        self._left, extra = tensors_left([value])
                    finally:
                        self._written = self._reads.settle(put_back=False)
                others = _trained_by_others(program, parameters)
                _core.backward(value, None, False)
                gradients = [(p, p.grad) for p in parameters]
                _core.program_set_role(program, 2)
                with autocast.as_called():
                    optimizer.step()
                _core.program_set_role(program, 0)
        finally:
            for p, grad in [*others, *zip(parameters, kept)]:
                p.grad = grad
        for layer in exchanging:
            layer._begin_step()
            layer._exchange.average(program, gradients)
        self._exchanging = exchanging
        return program, [value, *extra]

    def _value(self, inputs):
        run = call(self.model)
        if self.loss is None:
            value = run(*inputs)
        else:
            value = call(self.loss)(run(*inputs[:-1]), inputs[-1])
        if not isinstance(value, Tensor) or value.size != 1:
            got = f"a Tensor of shape {list(value.shape)}" if isinstance(value, Tensor) else value
            raise TypeError(
                f"[compile_step] the loss must be one number, got {got}. Do this: take its mean()."
            )
        if value.stop_gradient:
            raise ValueError(
                "[compile_step] the loss depends on no parameter, so there is nothing to learn."
                " Do this: check stop_gradient of the parameters and no_grad() in the model."
            )
        return value
