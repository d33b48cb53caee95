"""What fleet.distributed_optimizer gives."""

__all__ = ["DistributedOptimizer"]


class DistributedOptimizer:
    """What distributed_optimizer gives: the optimizer itself, but minimize also divides the program
    between workers and servers. All other attributes are the optimizer's.

    Args:
        fleet (Fleet): Whose job it is.
        optimizer (Optimizer): What updates the parameters.

    Example:
        >>> _ = argosy.distributed.fleet.init()
        >>> sgd = argosy.distributed.fleet.distributed_optimizer(
        ...     argosy.optimizer.SGD(0.1, parameters=[argosy.create_parameter([1], "float32")])
        ... )
        >>> sgd.get_lr()
        0.1
    """

    def __init__(self, fleet, optimizer):
        self._fleet = fleet
        self.user_defined_optimizer = optimizer

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, **kwargs):
        """Adds gradients and updates of loss to its program, then divides it, see Fleet.minimize.

        Args:
            loss (Variable|list[Variable]): what is minimized.
            startup_program (Program|list[Program], optional): of loss's program.
            parameter_list (list, optional): what is updated; all trainable parameters by default.
            no_grad_set (set, optional): what gets no gradient.
            kwargs: parameters, another name of parameter_list.

        Returns:
            tuple: Update operations, and [(parameter, gradient)].

        Raises:
            TypeError: A keyword is unknown.

        Example:
            >>> argosy.enable_static()
            >>> _ = argosy.distributed.fleet.init()
            >>> loss = argosy.static.nn.fc(argosy.static.data("x", [2, 3], "float32"), 1).mean()
            >>> sgd = argosy.distributed.fleet.distributed_optimizer(argosy.optimizer.SGD(0.1))
            >>> len(sgd.minimize(loss)[1])
            2
        """
        parameter_list = kwargs.pop("parameters", parameter_list)
        if kwargs:
            raise TypeError(f"[minimize] unexpected argument {sorted(kwargs)[0]!r}.")
        return self._fleet._minimize(
            self.user_defined_optimizer, loss, startup_program, parameter_list, no_grad_set
        )

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.user_defined_optimizer, name)
