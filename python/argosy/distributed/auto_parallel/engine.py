"""Training, evaluation and prediction over data sets."""

from __future__ import annotations

import os

from argosy._support import listed, listed_if_any, no_effect, plain, unsupported
from argosy.autograd import no_grad
from argosy.framework.io import load, save
from argosy.io import DataLoader

from .dist_model import _MODES, DistModel

_NO_CALLBACKS = "use paddle.Model, whose fit has callbacks"


class Engine:
    """A model with its loss, optimizer and metrics, and loops over data sets.

    Args:
        model (Layer, optional): the model.
        loss (callable, optional): of the model's results and the label.
        optimizer (Optimizer, optional): updates its parameters.
        metrics (Metric | list[Metric], optional): what evaluation computes beside the loss.
        cluster (optional): only None.
        strategy (Strategy, optional): see :func:`argosy.distributed.to_static`.

    Raises:
        NotImplementedError: a cluster is given, or the strategy asks for what is not there.

    Examples:
        >>> layer = argosy.nn.Linear(2, 1)
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> engine = argosy.distributed.fleet.auto.Engine(layer, argosy.nn.MSELoss(), sgd)
        >>> data = argosy.io.TensorDataset([argosy.ones([8, 2]), argosy.ones([8, 1])])
        >>> history = engine.fit(data, batch_size=4, epochs=3, verbose=0)
        >>> len(history["loss"]), history["loss"][-1] < history["loss"][0]
        (3, True)
        >>> len(engine.predict(data, batch_size=4, verbose=0))
        2
        >>> engine.evaluate(data, batch_size=4, verbose=0)["loss"] < history["loss"][0]
        True
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/model"
        >>> engine.save(path)
        >>> engine.load(path)
        >>> engine.to_mode("eval")
    """

    def __init__(
        self,
        model=None,
        loss=None,
        optimizer=None,
        metrics=None,
        cluster=None,
        strategy=None,
    ):
        unsupported("Engine", "leave it out", cluster=(cluster, None))
        self._model = DistModel(model, None, loss, optimizer, strategy, metrics)
        self._mode = "train"
        self.history = {}

    def fit(
        self,
        train_data,
        train_sample_split=None,
        batch_size=1,
        epochs=1,
        steps_per_epoch=None,
        log_freq=10,
        save_dir=None,
        save_freq=1,
        valid_data=None,
        valid_sample_split=None,
        valid_freq=1,
        valid_steps=None,
        collate_fn=None,
        callbacks=None,
        verbose=2,
        nvprof_range=(-1, -1),
    ):
        """Trains.

        Args:
            train_data (Dataset | DataLoader): samples (inputs.., label).
            train_sample_split (int, optional): how many fields of a sample are inputs; all but one otherwise.
            batch_size (int): samples of a batch.
            epochs (int): passes over the data.
            steps_per_epoch (int, optional): at most so many batches of each pass.
            log_freq (int): batches between lines that are printed.
            save_dir (str, optional): folder for parameters and optimizer state.
            save_freq (int): passes between these.
            valid_data (Dataset, optional): what is evaluated after a pass.
            valid_sample_split (int, optional): how many of its fields are inputs.
            valid_steps (int, optional): at most so many of its batches.
            valid_freq (int): passes between evaluations.
            collate_fn (callable, optional): makes a batch of samples.
            callbacks: only None.
            verbose (int): 0 prints nothing.
            nvprof_range: has no effect.

        Returns:
            dict from names to the values of each pass: ``loss``, ``lr``, and what evaluation gives as ``val_..``.
        """
        unsupported("Engine.fit", _NO_CALLBACKS, callbacks=(callbacks, None))
        no_effect(
            "Engine.fit", "there is no such profiler",
            nvprof_range=(tuple(nvprof_range), (-1, -1)),
        )  # fmt: skip
        loader = self._loader(train_data, batch_size, collate_fn)
        self.history = {}
        for epoch in range(epochs):
            self.to_mode("train")
            logs = {}
            for step, batch in enumerate(_first(loader, steps_per_epoch)):
                loss = self._model(*_split(batch, train_sample_split))
                logs = {"loss": float(loss), "lr": float(self.optimizer.get_lr())}
                if verbose and step % log_freq == 0:
                    _tell(f"epoch: {epoch} step: {step}", logs)
            self._advance_rate()
            if valid_data is not None and (epoch + 1) % valid_freq == 0:
                found = self.evaluate(
                    valid_data, valid_sample_split, batch_size, valid_steps, log_freq, collate_fn, None,
                    verbose,
                )  # fmt: skip
                logs |= {f"val_{name}": value for name, value in found.items()}
            if save_dir is not None and (epoch + 1) % save_freq == 0:
                self.save(os.path.join(save_dir, f"epoch{epoch}"))
            for name, value in logs.items():
                self.history.setdefault(name, []).append(value)
        return self.history

    def _advance_rate(self):
        """Moves a scheduled learning rate to the next pass."""
        rate = self.optimizer._learning_rate
        if hasattr(rate, "step"):
            rate.step()

    def evaluate(
        self,
        valid_data,
        valid_sample_split=None,
        batch_size=1,
        steps=None,
        log_freq=10,
        collate_fn=None,
        callbacks=None,
        verbose=2,
    ):
        """Computes loss and metrics.

        Args:
            valid_data (Dataset | DataLoader): samples (inputs.., label).
            valid_sample_split (int, optional): how many fields of a sample are inputs.
            batch_size (int): samples of a batch.
            collate_fn (callable, optional): makes a batch of samples.
            steps (int, optional): at most so many batches.
            log_freq (int): batches between lines that are printed.
            callbacks: only None.
            verbose (int): 0 prints nothing.

        Returns:
            dict: ``loss``, the mean over batches, and each metric by its name.
        """
        unsupported("Engine.evaluate", _NO_CALLBACKS, callbacks=(callbacks, None))
        self.to_mode("eval")
        metrics, losses, logs = self._model._metrics, [], {}
        for metric in metrics:
            metric.reset()
        for step, batch in enumerate(
            _first(self._loader(valid_data, batch_size, collate_fn), steps)
        ):
            fields = [f for part in _split(batch, valid_sample_split) for f in part]
            with no_grad():
                loss, outs = self._model._loss_of(*fields)
            losses.append(float(loss))
            logs = {"loss": sum(losses) / len(losses)}
            for metric in metrics:
                metric.update(*listed(metric.compute(*outs, fields[-1])))
                logs |= dict(zip(listed(metric.name()), listed(plain(metric.accumulate()))))
            if verbose and step % log_freq == 0:
                _tell(f"eval step: {step}", logs)
        return logs

    def predict(
        self,
        test_data,
        test_sample_split=None,
        batch_size=1,
        steps=None,
        collate_fn=None,
        callbacks=None,
        verbose=2,
    ):
        """Computes what the model returns.

        Args:
            test_data (Dataset | DataLoader): samples (inputs.., label).
            test_sample_split (int, optional): how many fields of a sample are inputs.
            batch_size (int): samples of a batch.
            collate_fn (callable, optional): makes a batch of samples.
            steps (int, optional): at most so many batches.
            callbacks: only None.
            verbose (int): 0 prints nothing.

        Returns:
            list: for each batch a list of NumPy arrays.
        """
        unsupported("Engine.predict", _NO_CALLBACKS, callbacks=(callbacks, None))
        self.to_mode("predict")
        found = []
        for step, batch in enumerate(
            _first(self._loader(test_data, batch_size, collate_fn), steps)
        ):
            outs = self._model(*_split(batch, test_sample_split)[:1])
            found.append([t.numpy() for t in listed(outs)])
            if verbose:
                _tell(f"predict step: {step}", {})
        return found

    def to_mode(self, mode):
        """Says what calls of the model do.

        Args:
            mode (str): 'train', 'eval' or 'predict'.

        Raises:
            AssertionError: ``mode`` is another.
        """
        if mode not in _MODES:
            raise AssertionError(
                f"[Engine.to_mode] mode: expected one of {', '.join(_MODES)}, got {mode!r}. Do this:"
                " use one of them."
            )
        self._mode = mode
        {"train": self._model.train, "eval": self._model.eval, "predict": self._model.predict}[
            mode
        ]()

    def save(self, path, training=True):
        """Writes parameters to ``path.pdparams`` and the optimizer's state to ``path.pdopt``.

        Args:
            path (str): without the ending.
            training (bool): write the optimizer's state too.
        """
        save(self._model.state_dict("param"), f"{path}.pdparams")
        if training and self.optimizer is not None:
            save(self._model.state_dict("opt"), f"{path}.pdopt")

    def load(self, path, strict=True, load_optimizer=True):
        """Reads what :meth:`save` wrote.

        Args:
            path (str): without the ending.
            strict (bool): refuse a file that lacks parameters of the model.
            load_optimizer (bool): read the optimizer's state too, if it is there.

        Raises:
            ValueError: a parameter is missing in the file.
        """
        state = load(f"{path}.pdparams")
        missing = [name for name in self._model.state_dict("param") if name not in state]
        if strict and missing:
            raise ValueError(
                f"[Engine.load] {path}.pdparams lacks {', '.join(missing)}. Do this: pass strict=False, or"
                " the file of this model."
            )
        self._model.set_state_dict(state)
        if load_optimizer and self.optimizer is not None and os.path.exists(f"{path}.pdopt"):
            self.optimizer.set_state_dict(load(f"{path}.pdopt"))

    @property
    def optimizer(self):
        """The optimizer."""
        return self._model._optimizer

    @property
    def loss(self):
        """The loss function."""
        return self._model._loss

    @property
    def metrics(self):
        """The metrics, a list."""
        return self._model._metrics

    @property
    def strategy(self):
        """The strategy."""
        return self._model._strategy

    @property
    def mode(self):
        """'train', 'eval' or 'predict'."""
        return self._mode

    def _loader(self, data, batch_size, collate_fn):
        if isinstance(data, DataLoader) or not hasattr(data, "__getitem__"):
            return data
        return DataLoader(data, batch_size=batch_size, collate_fn=collate_fn)


def _first(loader, steps):
    """The batches of a loader, at most so many."""
    for step, batch in enumerate(loader):
        if steps is not None and step >= steps:
            return
        yield batch


def _split(batch, inputs):
    """The fields of a batch as [inputs], [labels]."""
    fields = listed_if_any(batch)
    if inputs is None:
        inputs = max(len(fields) - 1, 1)
    return fields[:inputs], fields[inputs:]


def _tell(where, logs):
    print(
        " ".join([f"[{where}]", *(f"{name}: {value}" for name, value in logs.items())]), flush=True
    )
