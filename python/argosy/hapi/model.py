"""``Model``: training, evaluation and prediction loops around a network."""

import contextlib
import inspect
import os
import warnings

from argosy._job import get_world_size
from argosy._support import (
    WrongTypeError,
    check_choice,
    dtype_name,
    listed_if_any,
    no_effect,
    only_known,
)
from argosy.autograd import no_grad
from argosy.framework import io

from ._batches import as_array, as_tensors
from ._processes import Processes, _all_gather, is_first  # noqa: F401
from .callbacks import config_callbacks
from .static_graph import graph_of

__all__ = []


def _check_counts(what, least, **numbers):
    for name, value in numbers.items():
        if not hasattr(value, "__index__") or value < least:
            raise ValueError(
                f"[Model.{what}] {name}: expected an int of {least} or more, got {value!r}. Do this: correct it."
            )


# What amp_configs may say of scaling losses.
_SCALING = (
    "init_loss_scaling", "incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf",
    "use_dynamic_loss_scaling",
)  # fmt: skip


class Model:
    """A network with its loss, optimizer and metrics, and the loops around it.

    Args:
        network (Layer): The network.
        inputs, labels (InputSpec | list, optional): How many fields of a batch are inputs and how
            many labels; by default the parameters of the network's ``forward`` take the first fields
            and the labels are the rest.

    Raises:
        TypeError: ``network`` is no Layer.

    Examples:
        >>> class Line(argosy.io.Dataset):
        ...     def __getitem__(self, i):
        ...         return np.float32([i % 4]), np.float32([2 * (i % 4)])
        ...
        ...     def __len__(self):
        ...         return 64
        >>> model = argosy.Model(argosy.nn.Linear(1, 1))
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=model.parameters())
        >>> model.prepare(sgd, argosy.nn.MSELoss())
        >>> model.fit(Line(), batch_size=16, epochs=30, verbose=0)
        >>> model.evaluate(Line(), batch_size=16, verbose=0)["loss"][0] < 0.01
        True
        >>> outputs = model.predict(Line(), batch_size=16, verbose=0, stack_outputs=True)
        >>> outputs[0].shape
        (64, 1)
        >>> batch = np.ones([2, 1], "float32")
        >>> losses = model.train_batch([batch], [2 * batch])
        >>> len(losses), len(model.eval_batch([batch], [2 * batch]))
        (1, 1)
        >>> model.predict_batch([batch])[0].shape
        (2, 1)
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "line")
        >>> model.save(path)
        >>> model.load(path)
        >>> sorted(os.listdir(os.path.dirname(path)))
        ['line.pdopt', 'line.pdparams']
    """

    def __init__(self, network, inputs=None, labels=None):
        if not hasattr(network, "forward"):
            raise WrongTypeError(
                f"[Model] network: expected a Layer, got {type(network).__name__}. Do this: derive it"
                " from nn.Layer."
            )
        self.mode = "train"
        self.network = network
        self._inputs = listed_if_any(inputs)
        self._labels = listed_if_any(labels)
        if isinstance(inputs, dict):
            self._inputs = list(inputs.values())
        self._loss = None
        self._optimizer = None
        self._metrics = []
        self._amp = None
        self._processes = None
        self._seen_sizes = None  # shapes and dtypes of the first batch
        self.stop_training = False
        self._required, self._accepted = _count_arguments(network)
        self._graph = graph_of(self)

    # ---- one batch ------------------------------------------------------------------------------

    def prepare(self, optimizer=None, loss=None, metrics=None, amp_configs=None):
        """Says how to train and judge the network. One of several processes is connected with the others:
        they train as DataParallel does, each with its share of the samples.

        Args:
            optimizer (Optimizer, optional): Needed for training.
            loss (Layer | callable, optional): Gets the network's outputs and the labels.
            metrics (Metric | list, optional): What to measure.
            amp_configs (str | dict, optional): ``"O0"`` none, ``"O1"`` or ``"O2"`` mixed precision,
                or a dict with ``level`` and further arguments of ``amp.auto_cast``.

        Raises:
            TypeError: the loss cannot be called.
            AssertionError: a metric is no ``metric.Metric``.
            ValueError: the level of mixed precision, or another key of ``amp_configs``, is unknown.
            NotImplementedError: in static mode, this process is one of several.
        """
        from argosy.metric import Metric

        if loss is not None and not callable(loss):
            raise TypeError(
                "[Model.prepare] loss has the wrong type: expected a Layer or a function, got "
                f"{type(loss).__name__}."
                " Do this: pass e.g. nn.CrossEntropyLoss()."
            )
        metrics = listed_if_any(metrics)
        for metric in metrics:
            if not isinstance(metric, Metric):
                raise AssertionError(
                    "[Model.prepare] metrics must be of type metric.Metric, got "
                    f"{type(metric).__name__}."
                    " Do this: pass e.g. paddle.metric.Accuracy(), or derive your class from Metric."
                )
        self._optimizer = optimizer
        self._loss = loss
        self._metrics = metrics
        self._prepare_amp(amp_configs)
        several = get_world_size() > 1
        if several and self._graph is not None:
            raise NotImplementedError(
                "[Model.prepare] this process is one of several (PADDLE_TRAINERS_NUM), which train in eager"
                " mode only, and the network is a Program's. Do this: disable_static() before it is made,"
                " or start the program alone."
            )
        self._processes = Processes(self.network, optimizer is not None) if several else None

    def _prepare_amp(self, configs):
        self._amp = None
        if configs is None:
            return
        options = {"level": configs} if isinstance(configs, str) else dict(configs)
        lists = ("dtype", "custom_white_list", "custom_black_list")
        scaling = {name: (options.get(name), None) for name in _SCALING}
        only_known("Model.prepare", options, ("level", *lists, *_SCALING))
        no_effect("Model.prepare", "losses are not scaled here: bfloat16 needs no scale", **scaling)
        level = options.get("level", "O1")
        check_choice("Model.prepare", "amp_configs['level']", level, ("O0", "O1", "O2"))
        if level != "O0":
            self._amp = {key: options[key] for key in ("level", *lists) if key in options}

    def _forward(self, inputs):
        network = self.network if self._processes is None else self._processes.network
        if self._amp is None:
            return network(*inputs)
        from argosy import amp

        with amp.auto_cast(**self._amp):
            return network(*inputs)

    def _losses(self, outputs, labels):
        """What the loss gives for a batch, a list, and the sum that is minimized."""
        losses = listed_if_any(self._loss(*outputs, *labels))
        return losses, sum(losses[1:], losses[0]) if losses else None

    def _measure(self, outputs, labels):
        figures = []
        for metric in self._metrics:
            computed = metric.compute(*outputs, *labels)
            figures.append(metric.update(*[as_array(c) for c in listed_if_any(computed)]))
        return figures

    def _require_optimizer(self):
        if self._optimizer is None:
            raise AssertionError(
                "[Model] the model is not ready to train: it has no optimizer. Do this: call "
                "model.prepare(optimizer, loss) first."
            )

    def train_batch(self, inputs, labels=None, update=True):
        """Trains on one batch.

        Args:
            inputs, labels (Tensor | numpy.ndarray | list): The batch.
            update (bool): Make a step of the optimizer; without it gradients add up.

        Returns:
            list: Losses as arrays; with metrics a pair of it and the list of their figures.

        Raises:
            AssertionError: there is no optimizer, or ``update`` is False in static mode.
            TypeError: there is no loss.
        """
        self._require_optimizer()
        if self._loss is None:
            raise TypeError(
                "[Model.train_batch] there is no loss to minimize. Do this: call "
                "model.prepare(optimizer, loss)."
            )
        self.mode = "train"
        if self._graph is not None:
            if not update:
                raise AssertionError(
                    "[Model.train_batch] update=False is not supported in static mode."
                    " Do this: call disable_static() first, to accumulate gradients."
                )
            _, losses, figures = self._graph.run(
                "train", listed_if_any(inputs), listed_if_any(labels)
            )
            return (losses, figures) if self._metrics else losses
        self.network.train()
        inputs, labels = as_tensors(inputs), as_tensors(labels)
        exchanging = contextlib.nullcontext()
        if self._processes is not None:
            exchanging = self._processes.exchanging(update)
        with exchanging:
            outputs = listed_if_any(self._forward(inputs))
        losses, loss = self._losses(outputs, labels)
        loss.backward()
        if update:
            self._optimizer.step()
            self._optimizer.clear_grad()
        with no_grad():
            figures = self._measure(outputs, labels)
        losses = [v.detach().numpy() for v in losses]
        return (losses, figures) if self._metrics else losses

    def eval_batch(self, inputs, labels=None):
        """Evaluates one batch.

        Args:
            inputs, labels (Tensor | numpy.ndarray | list): The batch.

        Returns:
            list: Losses as arrays, if there is a loss; the list of the metrics' figures, if there are
            metrics; a pair of both. Of several processes each gets the mean of the losses, and figures
            of the samples of all.
        """
        self.mode = "eval"
        if self._graph is not None:
            _, losses, figures = self._graph.run(
                "eval", listed_if_any(inputs), listed_if_any(labels)
            )
        else:
            self.network.eval()
            inputs, labels = as_tensors(inputs), as_tensors(labels)
            with no_grad():
                outputs = listed_if_any(self._forward(inputs))
                losses = [] if self._loss is None else self._losses(outputs, labels)[0]
                if self._processes is not None:
                    losses = self._processes.mean(losses)
                    outputs, labels = self._processes.rows_of_all(outputs, labels)
                figures = self._measure(outputs, labels)
                losses = [v.numpy() for v in losses]
        if self._metrics and self._loss is not None:
            return losses, figures
        return figures if self._metrics else losses

    def predict_batch(self, inputs):
        """The network's outputs for one batch.

        Args:
            inputs (Tensor | numpy.ndarray | list): The batch.

        Returns:
            list: The outputs as arrays, with the rows of all processes.
        """
        self.mode = "test"
        if self._graph is not None:
            return self._graph.run("test", listed_if_any(inputs))[0]
        self.network.eval()
        with no_grad():
            outputs = listed_if_any(self._forward(as_tensors(inputs)))
            if self._processes is not None:
                (outputs,) = self._processes.rows_of_all(outputs)
            return [v.numpy() for v in outputs]

    # ---- state ----------------------------------------------------------------------------------

    def parameters(self, *args, **kwargs):
        """The network's parameters, as ``Layer.parameters`` gives them.

        Args:
            args, kwargs: its arguments.

        Returns:
            list of parameters.
        """
        return self.network.parameters(*args, **kwargs)

    def save(self, path, training=True):
        """Saves to ``path`` with endings: ``.pdparams`` (the network) and ``.pdopt`` (the optimizer). Of
        several processes the first does it. Files of an earlier save are replaced once both new ones are
        on the disk.

        Args:
            path (str): Directory and name without ending; directories are made.
            training (bool): False saves a program for inference instead (``jit.save``).

        Raises:
            ValueError: ``path`` ends in a separator.
        """
        if not is_first():
            return
        if not training and self._graph is not None:
            self._graph.save(path)
            return
        if not training:
            from argosy import jit

            jit.save(self.network, path, input_spec=self._inputs or None)
            return
        if not os.path.basename(path):
            raise ValueError(
                f"[Model.save] path must end in a file name, got {path!r}. Do this: pass "
                "directory/name."
            )
        state = self.network.state_dict() if self._graph is None else self._graph.state_dict()
        contents = {path + ".pdparams": state}
        if self._optimizer is not None:
            contents[path + ".pdopt"] = self._optimizer.state_dict()
        io.save_together(contents)

    def load(self, path, skip_mismatch=False, reset_optimizer=False):
        """Loads what ``save`` wrote; training then goes on exactly where it was.

        Args:
            path (str): As for ``save``; the ending ``.pdparams`` may be there.
            skip_mismatch (bool): Leave out parameters that are missing or have another shape, with a
                warning.
            reset_optimizer (bool): Do not load the optimizer's state.

        Raises:
            AssertionError: there is no such file.
            ValueError: a parameter is missing or has another shape, without ``skip_mismatch``.
        """
        base = path[: -len(".pdparams")] if path.endswith(".pdparams") else path
        if not os.path.exists(base + ".pdparams"):
            raise AssertionError(
                f"[Model.load] there is no file {base + '.pdparams'!r}. Do this: pass the path that "
                "save() was given."
            )
        saved = io.load(base + ".pdparams")
        chosen = {}
        for name, own in self.network.state_dict().items():
            problem = None
            if name not in saved:
                problem = f"'{name}' is not in the file"
            elif list(saved[name].shape) != list(own.shape):
                problem = (
                    f"'{name}' has shape {list(saved[name].shape)} in the file, but "
                    f"{list(own.shape)} in the network"
                )
            if problem is None:
                chosen[name] = saved[name]
            elif skip_mismatch:
                warnings.warn(f"[Model.load] left out: {problem}.", stacklevel=2)
            else:
                raise ValueError(
                    f"[Model.load] {problem}. Do this: load a file of the same network, or pass "
                    "skip_mismatch=True."
                )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parameters left out: said above
            self.network.set_state_dict(chosen)
        if reset_optimizer or self._optimizer is None:
            return
        if os.path.exists(base + ".pdopt"):
            self._optimizer.set_state_dict(io.load(base + ".pdopt"))
        else:
            warnings.warn(
                f"[Model.load] there is no file {base + '.pdopt'!r}: the optimizer's state stays as it is."
                " Pass reset_optimizer=True where that is meant.",
                stacklevel=2,
            )

    def summary(self, input_size=None, dtype=None):
        """Prints the network's layers, see :func:`summary`.

        Args:
            input_size (tuple | InputSpec | list, optional): Shape of the input, batch included; None
                takes
                those of ``inputs``, or of the first batch that was seen.
            dtype (str | list, optional): dtype of the inputs.

        Returns:
            dict: ``total_params`` and ``trainable_params``.

        Raises:
            AssertionError: ``input_size`` is needed, as no batch has been seen.

        Examples:
            >>> model = argosy.Model(argosy.nn.Linear(3, 2))
            >>> counts = model.summary((1, 3))
            ---...
            >>> counts
            {'total_params': 8, 'trainable_params': 8}
        """
        from .model_summary import summary

        if input_size is None and not self._inputs:
            if self._seen_sizes is None:
                raise AssertionError(
                    "[Model.summary] input_size is needed until a batch has been seen. Do this: "
                    "pass the shape of the input."
                )
            return summary(self.network, self._seen_sizes[0], self._seen_sizes[1])
        if input_size is None:
            input_size = [tuple(spec.shape) for spec in self._inputs]
            dtype = dtype or [spec.dtype for spec in self._inputs]
        return summary(self.network, input_size, dtype)

    # ---- loops ----------------------------------------------------------------------------------

    def _loader(self, data, batch_size, shuffle, drop_last, num_workers):
        """A loader for a Dataset; anything else that can be iterated over gives batches itself."""
        from argosy.io import DataLoader, Dataset, DistributedBatchSampler, IterableDataset

        if not isinstance(data, Dataset):
            return data
        if isinstance(data, IterableDataset):
            return DataLoader(
                data, batch_size=batch_size, drop_last=drop_last, num_workers=num_workers
            )
        sampler = DistributedBatchSampler(
            data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last
        )
        return DataLoader(data, batch_sampler=sampler, num_workers=num_workers)

    @staticmethod
    def _steps(loader):
        try:
            return len(loader)
        except (TypeError, ValueError, NotImplementedError, RuntimeError):
            return None

    def _metrics_name(self):
        names = ["loss"] if self._loss is not None else []
        for metric in self._metrics:
            names.extend(listed_if_any(metric.name()))
        return names

    def _split(self, data, mode):
        """Inputs and labels of a batch."""
        data = list(data.values()) if isinstance(data, dict) else listed_if_any(data)
        if self._inputs:
            count = len(self._inputs)
        elif mode == "predict":
            count = len(data) if self._accepted is None else self._accepted
        elif self._labels:
            count = len(data) - len(self._labels)
        elif self._accepted is None:
            count = len(data) - 1
        elif len(data) > self._accepted:
            count = self._accepted
        else:
            # forward has optional parameters: the last field is the label.
            count = max(self._required, len(data) - 1)
        return data[:count], data[count:]

    def _run_epoch(self, loader, callbacks, mode, steps, accumulate=1, limit=None):
        """One pass over the loader; at most `limit` steps. Returns the figures at its end.

        Metrics are reset after it: a pass begins with what single batches have added to them. [= Paddle]
        """
        logs = {}
        outputs = []
        if self._processes is not None:
            self._processes.begin_pass(None if mode == "train" else loader)
        for step, data in enumerate(loader):
            if limit is not None and step >= limit:
                break
            inputs, labels = self._split(data, mode)
            size = _first_size(inputs)
            callbacks.on_batch_begin(mode, step, dict(logs))
            if mode == "predict":
                outputs.append(self.predict_batch(inputs))
            else:
                if mode == "train":
                    # What num_iters cuts off takes no step of its own: its gradients stay. [= Paddle]
                    update = (step + 1) % accumulate == 0 or step + 1 == steps
                    result = self.train_batch(inputs, labels, update)
                else:
                    result = self.eval_batch(inputs, labels)
                self._add_figures(logs, result)
            if step == 0:
                self._seen_sizes = _sizes_of(inputs)
            logs["step"] = step
            logs["batch_size"] = size
            callbacks.on_batch_end(mode, step, dict(logs))
        for metric in self._metrics:
            metric.reset()
        return (logs, outputs) if mode == "predict" else logs

    def _add_figures(self, logs, result):
        if self._loss is not None:
            losses = result[0] if self._metrics else result
            logs["loss"] = [float(v) for v in losses]
        for metric in self._metrics:
            names, values = listed_if_any(metric.name()), listed_if_any(metric.accumulate())
            logs.update(zip(names, values))

    def fit(
        self,
        train_data=None,
        eval_data=None,
        batch_size=1,
        epochs=1,
        eval_freq=1,
        log_freq=10,
        save_dir=None,
        save_freq=1,
        verbose=2,
        drop_last=False,
        shuffle=True,
        num_workers=0,
        callbacks=None,
        accumulate_grad_batches=1,
        num_iters=None,
    ):
        """Trains the network.

        Args:
            train_data (Dataset | DataLoader | iterable): Samples, or batches of them.
            eval_data (optional): The same for evaluation.
            batch_size (int | list): Samples in a batch, where data is a Dataset; a list of two has
                one number for training and one for evaluation.
            epochs (int): Passes over the data.
            eval_freq (int): Epochs between two evaluations.
            log_freq (int): Steps between two lines.
            save_dir (str, optional): Where to save, at the end too.
            save_freq (int): Epochs between two times of saving.
            verbose (int): 0 silent, 1 progress bar, 2 lines.
            drop_last, shuffle, num_workers: See ``io.DataLoader``; the order is a function of the
                epoch alone.
            callbacks (Callback | list, optional): Further callbacks.
            accumulate_grad_batches (int): Batches whose gradients add up for one step; those left at the end of an
                epoch have one, too.
            num_iters (int, optional): Stop after so many batches in all. Gradients that wait for a step then stay in
                the parameters.

        Raises:
            AssertionError: there are no data, or there is no optimizer.
            TypeError: there is no loss, or a callback is none.
            ValueError: a number of epochs, steps or batches is below 1 (epochs and num_iters: below 0).
        """
        _check_counts(
            "fit", 1, eval_freq=eval_freq, log_freq=log_freq, save_freq=save_freq,
            accumulate_grad_batches=accumulate_grad_batches,
        )  # fmt: skip
        _check_counts("fit", 0, epochs=epochs, num_iters=num_iters or 0)
        if train_data is None:
            raise AssertionError(
                "[Model.fit] train_data is missing. Do this: pass a Dataset or a DataLoader."
            )
        self._require_optimizer()
        train_size, eval_size = (
            batch_size if isinstance(batch_size, (list, tuple)) else (batch_size, batch_size)
        )
        loader = self._loader(train_data, train_size, shuffle, drop_last, num_workers)
        eval_loader = None
        if eval_data is not None:
            eval_loader = self._loader(eval_data, eval_size, False, False, num_workers)
        steps = self._steps(loader)
        if num_iters is not None and steps:
            epochs = min(epochs, -(-num_iters // steps)) if epochs else -(-num_iters // steps)
        events = config_callbacks(
            callbacks,
            model=self,
            epochs=epochs,
            steps=steps,
            log_freq=log_freq,
            save_freq=save_freq,
            save_dir=save_dir,
            verbose=verbose,
            metrics=self._metrics_name(),
        )
        self.stop_training = False
        left = num_iters
        logs = {}
        events.on_begin("train", {})
        for epoch in range(epochs):
            events.on_epoch_begin(epoch, {})
            logs = self._run_epoch(loader, events, "train", steps, accumulate_grad_batches, left)
            events.on_epoch_end(epoch, dict(logs))
            if left is not None:
                left -= logs.get("step", -1) + 1
            if eval_loader is not None and epoch % eval_freq == 0:
                self._evaluate(eval_loader, events)
            if self.stop_training or left == 0:
                break
        events.on_end("train", dict(logs))

    def _evaluate(self, loader, events, limit=None):
        steps = self._steps(loader)
        if limit is not None:
            steps = limit if steps is None else min(steps, limit)
        events.on_begin("eval", {"steps": steps, "metrics": self._metrics_name()})
        logs = self._run_epoch(loader, events, "eval", steps, limit=limit)
        events.on_end("eval", dict(logs))
        return logs

    def evaluate(
        self,
        eval_data,
        batch_size=1,
        log_freq=10,
        verbose=2,
        num_workers=0,
        callbacks=None,
        num_iters=None,
    ):
        """Evaluates the network.

        Args:
            eval_data (Dataset | DataLoader | iterable): Samples, or batches of them.
            batch_size, log_freq, verbose, num_workers, callbacks: See ``fit``.
            num_iters (int, optional): Stop after so many steps.

        Returns:
            dict: ``loss``, a list with that of the last batch, and each metric over all batches.

        Raises:
            ValueError: log_freq is below 1, or num_iters below 0.
        """
        _check_counts("evaluate", 1, log_freq=log_freq)
        _check_counts("evaluate", 0, num_iters=num_iters or 0)
        loader = self._loader(eval_data, batch_size, False, False, num_workers)
        events = config_callbacks(
            callbacks,
            model=self,
            log_freq=log_freq,
            verbose=verbose,
            metrics=self._metrics_name(),
            mode="eval",
        )
        logs = self._evaluate(loader, events, num_iters)
        return {name: logs[name] for name in self._metrics_name() if name in logs}

    def predict(
        self,
        test_data,
        batch_size=1,
        num_workers=0,
        stack_outputs=False,
        verbose=1,
        callbacks=None,
    ):
        """Computes the network's outputs.

        Args:
            test_data (Dataset | DataLoader | iterable): Samples, or batches of them; fields after
                the network's inputs are left out.
            stack_outputs (bool): Join the batches of each output to one array.
            batch_size, num_workers, verbose, callbacks: See ``fit``.

        Returns:
            list: For each output of the network a tuple of arrays, one for each batch; or one array.
        """
        loader = self._loader(test_data, batch_size, False, False, num_workers)
        events = config_callbacks(
            callbacks, model=self, verbose=verbose, log_freq=2, mode="predict"
        )
        events.on_begin("predict", {"steps": self._steps(loader)})
        logs, batches = self._run_epoch(loader, events, "predict", self._steps(loader))
        events.on_end("predict", dict(logs))
        outputs = list(zip(*batches))
        if stack_outputs:
            import numpy

            outputs = [numpy.vstack(output) for output in outputs]
        return outputs


def _count_arguments(network):
    """How many positional arguments forward needs and takes; None for "any number"."""
    required = accepted = 0
    for parameter in inspect.signature(network.forward).parameters.values():
        if parameter.kind == parameter.VAR_POSITIONAL:
            return required, None
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            accepted += 1
            required += parameter.default is parameter.empty
    return required, accepted


def _first_size(inputs):
    shape = getattr(inputs[0], "shape", None) if inputs else None
    return int(shape[0]) if shape is not None and len(shape) else 1


def _sizes_of(inputs):
    known = [i for i in inputs if hasattr(i, "shape")]
    return (
        [tuple(i.shape) for i in known],
        [dtype_name(i.dtype) for i in known],
    )
