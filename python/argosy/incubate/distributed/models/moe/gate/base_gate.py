"""What all gates have."""

from __future__ import annotations

from argosy.nn import Layer


class BaseGate(Layer):
    """Base class of gates: a layer from tokens [N, d_model] to (weights, experts), both [N, top k].

    An expert of -1 means none: the token has been dropped there.

    Args:
        num_expert (int): experts of a process.
        world_size (int): processes that share the experts; only 1.

    Raises:
        NotImplementedError: ``world_size`` is above 1.
    """

    def __init__(self, num_expert, world_size):
        super().__init__()
        if world_size > 1:
            raise NotImplementedError(
                f"[{type(self).__name__}] world_size: expected 1, got {world_size}: experts are not divided"
                " between processes. Do this: let each process have all of them."
            )
        self.world_size, self.num_expert = world_size, num_expert
        self.tot_expert = world_size * num_expert
        self.loss = None

    def set_loss(self, loss):
        """Keeps the loss that balances the experts.

        Args:
            loss (Tensor): 0-d.
        """
        self.loss = loss

    def get_loss(self, clear=True):
        """The loss of the last call, to be added to that of the task.

        Args:
            clear (bool): forget it.

        Returns:
            Tensor, or None.
        """
        loss = self.loss
        if clear:
            self.loss = None
        return loss
