"""The operands and attributes of one call of Block.append_op. Whatever is given is read, or raises by name:
an operand or an attribute that nobody asks for would be another model."""

from __future__ import annotations

from .attr_types import DTYPES

# Attributes that say nothing of what is computed: who wrote the operation, and kernels of other devices.
RECORDS = """
op_role op_role_var op_namescope op_callstack op_device with_quant_attr use_cudnn use_mkldnn use_quantizer
mkldnn_data_type data_format_mkldnn force_cpu place_type numeric_stable_mode in_dtype name workspace_size_MB
exhaustive_search use_onednn onednn_data_type data_format_onednn fuse_relu_before_depthwise_conv
""".split()
_DTYPES = ("dtype", "out_dtype")  # attributes that may be numbers of dtypes


def _with_dtype(name, value):
    return DTYPES.get(value, value) if name in _DTYPES and type(value) is int else value


class Given:
    """The operands and attributes of a call, and which of them have been asked for."""

    def __init__(self, kind, operands, attributes):
        self.kind, self.operands = kind, operands
        self.attributes = {k: _with_dtype(k, v) for k, v in attributes.items() if v is not None}
        self._asked = set(RECORDS)

    def all(self, name):
        """The variables of an operand."""
        self._asked.add(name)
        if not self.operands.get(name):
            raise ValueError(
                f"[append_op] '{self.kind}' misses '{name}': expected it among the inputs, got"
                f" {list(self.operands)}. Do this: add it."
            )
        return self.operands[name]

    def one(self, name):
        """The variable of an operand."""
        found = self.all(name)
        if len(found) != 1:
            raise ValueError(
                f"[append_op] '{self.kind}' has one '{name}': expected one variable, got {len(found)}."
                " Do this: pass one."
            )
        return found[0]

    def attribute(self, name, default=None):
        self._asked.add(name)
        return self.attributes.get(name, default)

    def needed(self, name):
        """An attribute that has no default."""
        if name not in self.attributes:
            raise ValueError(
                f"[append_op] '{self.kind}' misses '{name}': expected it among the attrs, got"
                f" {list(self.attributes)}. Do this: add it."
            )
        return self.attribute(name)

    def without(self, **values):
        """Attributes that may be given with these values, and have no other."""
        self._asked |= {n for n, v in values.items() if self.attributes.get(n, v) == v}

    def check(self):
        """Raises NotImplementedError if something has not been asked for."""
        lost = [n for n in (*self.operands, *self.attributes) if n not in self._asked]
        if lost:
            raise NotImplementedError(
                f"[append_op] '{self.kind}' has no {', '.join(lost)} here. Do this: leave it out if it"
                " has its default, or call the function of the package that computes it."
            )
