"""One operation that runs by itself on the variables of a scope."""

from __future__ import annotations

from argosy._programs.mode import recording
from argosy.static import appending, op_protos

__all__ = []

# Where a message has an attribute's value, by the name of its kind.
_FIELDS = {
    "INT": "i", "FLOAT": "f", "STRING": "s", "INTS": "ints", "FLOATS": "floats", "STRINGS": "strings",
    "BOOL": "b", "BOOLS": "bools", "LONG": "l", "LONGS": "longs", "FLOAT64S": "float64s",
    "FLOAT64": "float64",
}  # fmt: skip


def _attribute(attr):
    kind = op_protos.AttrType(attr.type).name
    if kind not in _FIELDS:
        raise NotImplementedError(
            f"[Operator.create] attribute '{attr.name}' is of kind {kind}: expected one of {', '.join(_FIELDS)}."
            " Do this: leave it out."
        )
    value = getattr(attr, _FIELDS[kind])
    return list(value) if kind.endswith("S") else value


class Operator:
    """An operation under the names that Paddle gives types, operands and attributes.

    Args:
        type (str): What it computes.
        inputs (dict), outputs (dict): Names of variables, as lists by the names of operands.
        attrs (dict): Values by name.

    Example:
        >>> scope = argosy.static.Scope()
        >>> scope.var("x").get_tensor().set(np.float32([[1, -2]]))
        >>> operator = argosy.base.core.Operator("relu", {"X": ["x"]}, {"Out": ["y"]}, {})
        >>> operator.run(scope, argosy.CPUPlace())
        >>> scope.find_var("y").get_tensor().numpy().tolist()
        [[1.0, 0.0]]
    """

    def __init__(self, type, inputs, outputs, attrs):  # noqa: A002
        self._type, self._inputs, self._outputs, self._attrs = type, inputs, outputs, attrs

    @staticmethod
    def create(description):
        """The operation that a message describes.

        Args:
            description (bytes): A `base.proto.framework_pb2.OpDesc`.

        Returns:
            Operator: It.

        Raises:
            NotImplementedError: An attribute is of a kind that cannot be given.
        """
        from .proto import framework_pb2

        read = framework_pb2.OpDesc.FromString(description)
        groups = (
            {slot.parameter: list(slot.arguments) for slot in side}
            for side in (read.inputs, read.outputs)
        )
        return Operator(read.type, *groups, {attr.name: _attribute(attr) for attr in read.attrs})

    def type(self):
        """What it computes.

        Returns:
            str: Paddle's name of it.
        """
        return self._type

    def inputs(self):
        """Its inputs.

        Returns:
            dict: Lists of names of variables.
        """
        return {name: list(group) for name, group in self._inputs.items()}

    def outputs(self):
        """Its results.

        Returns:
            dict: Lists of names of variables.
        """
        return {name: list(group) for name, group in self._outputs.items()}

    def input_vars(self):
        """The variables that it reads.

        Returns:
            list[str]: Their names.
        """
        return [name for group in self._inputs.values() for name in group]

    def output_vars(self):
        """The variables that it makes.

        Returns:
            list[str]: Their names.
        """
        return [name for group in self._outputs.values() for name in group]

    def support_gpu(self):
        """Whether its kernels are for GPUs.

        Returns:
            bool: False: it runs on the host.
        """
        return False

    def run(self, scope, place):
        """Computes it once: reads its inputs from a scope and puts its results there.

        Args:
            scope (Scope): Where its variables are.
            place (Place): Where results go.

        Raises:
            NotImplementedError: There is no such operation here.
            ValueError: An input has no value.
        """
        operands = {
            slot: [scope.find_var(name).get_tensor()._known() for name in group]
            for slot, group in self._inputs.items() if group
        }  # fmt: skip
        with recording(None):
            made = appending.compute(self._type, operands, self._attrs, self._outputs)
            for slot, values in made.items():
                for name, value in zip(self._outputs[slot], values):
                    scope.var(name).get_tensor().set(value.detach(), place)
