"""What Fleet hands to an optimizer of static.amp, and what it does not have: each says what to do."""

from __future__ import annotations


class Refused:
    """The part of Fleet that is about mixed precision of Programs, quantization and federated training."""

    def _precise(self, what):
        """The optimizer of static.amp.decorate that distributed_optimizer was given."""
        inner = getattr(self._optimizer, "user_defined_optimizer", None)
        if not hasattr(inner, "amp_init"):
            raise RuntimeError(
                f"[fleet.{what}] needs an optimizer of static.amp.decorate, got"
                f" {'none' if inner is None else type(inner).__name__}. Do this: decorate it, then call"
                " distributed_optimizer."
            )
        return inner

    def amp_init(self, place, scope=None, test_program=None, use_fp16_test=False):
        """Prepares parameters for mixed precision: amp_init of the optimizer that static.amp.decorate gave.

        Args:
            place, scope, test_program, use_fp16_test: as there.

        Raises:
            RuntimeError: distributed_optimizer was given another optimizer, or none.
        """
        self._precise("amp_init").amp_init(place, scope, test_program, use_fp16_test)

    def get_loss_scaling(self):
        """The factor of the loss of the optimizer that static.amp.decorate gave.

        Returns:
            Tensor: It.

        Raises:
            RuntimeError: distributed_optimizer was given another optimizer, or none.
        """
        return self._precise("get_loss_scaling").get_loss_scaling()

    def qat_init(self, place, scope=None, test_program=None):
        """Raises.

        Args:
            place, scope, test_program (optional): not used.

        Raises:
            NotImplementedError: Always: Programs are not trained with quantization.
        """
        raise NotImplementedError(
            "[fleet.qat_init] is not there. Do this: train a Layer that quantization.QAT has prepared."
        )

    def make_fl_strategy(self):
        """Raises.

        Raises:
            NotImplementedError: Always: there is no federated training.
        """
        raise NotImplementedError(
            "[fleet.make_fl_strategy] is not there. Do this: train with parameter servers, or with"
            " DataParallel."
        )

    def init_coordinator(self, scopes=None):
        """Raises.

        Args:
            scopes (optional): not used.

        Raises:
            NotImplementedError: Always: there is no federated training.
        """
        raise NotImplementedError(
            "[fleet.init_coordinator] is not there. Do this: train with parameter servers, or with"
            " DataParallel."
        )

    def get_fl_client(self):
        """Raises.

        Raises:
            NotImplementedError: Always: there is no federated training.
        """
        raise NotImplementedError(
            "[fleet.get_fl_client] is not there. Do this: train with parameter servers, or with"
            " DataParallel."
        )
