"""What a strategy says about the tables of sparse parameters, as what tables understand."""

from .switches import check_table

__all__ = ["Choice", "choices"]

_PLAIN = ("SparseAccessor", "CommMergeAccessor")
_CLICK = ("CtrCommonAccessor", "CtrDoubleAccessor", "CtrDymfAccessor")
# Names of update rules -> rule of a table, field of the message with its numbers.
_RULES = {
    "SparseNaiveSGDRule": ("sgd", "naive"),
    "SparseAdaGradSGDRule": ("adagrad", "adagrad"),
    "SparseAdaGradV2SGDRule": ("adagrad", "adagrad"),
    "StdAdaGradSGDRule": ("adagrad_elementwise", "adagrad"),
    "SparseAdamSGDRule": ("adam", "adam"),
    "SparseSharedAdamSGDRule": ("adam_shared", "adam"),
}
_NUMBERS = {
    "learning_rate": "learning_rate",
    "initial_range": "initial_range",
    "initial_g2sum": "initial_g2sum",
    "beta1_decay_rate": "beta1",
    "beta2_decay_rate": "beta2",
    "ada_epsilon": "epsilon",
}
_SCORES = {
    "nonclk_coeff": "nonclick_coefficient",
    "click_coeff": "click_coefficient",
    "base_threshold": "base_threshold",
    "delta_threshold": "delta_threshold",
    "delta_keep_days": "delta_keep_days",
    "show_click_decay_rate": "show_click_decay_rate",
    "delete_threshold": "delete_threshold",
    "delete_after_unseen_days": "delete_after_unseen_days",
    "ssd_unseenday_threshold": "ssd_unseen_days",
    "show_scale": "show_scale",
}


class Choice:
    """What is said about one sparse parameter: by its layer (`layer`: entry, table_class, slots)
    and by the strategy's message TableParameter (`message`, may be None).

    click: rows are click rows. own_rule, own_rate: the strategy has the update rule, the learning
    rate.
    """

    def __init__(self, name, layer, message):
        self.name = name
        self.layer = layer
        self.message = message
        accessor = None if message is None else message.accessor
        kind = accessor.accessor_class if accessor is not None else ""
        if kind and kind not in _PLAIN + _CLICK:
            raise ValueError(
                f"[parameter_server] table '{name}': there is no accessor_class {kind!r}. Do this: "
                f"use one of {', '.join(_PLAIN + _CLICK)}."
            )
        self.click = kind in _CLICK
        self._embed = accessor.embed_sgd_param if accessor is not None else None
        self._embedx = accessor.embedx_sgd_param if accessor is not None else None
        if accessor is not None and not self._embedx.is_set("name"):
            self._embedx = self._embed
        if accessor is not None and not self._embed.is_set("name"):
            self._embed = self._embedx
        self.own_rule = accessor is not None and self._embedx.is_set("name")
        self.own_rate = False
        if self.own_rule:
            rule, field = self._rule(self._embedx)
            self.own_rate = getattr(self._embedx, field).is_set("learning_rate")

    def _rule(self, message):
        found = _RULES.get(message.name)
        if found is None:
            raise ValueError(
                f"[parameter_server] table '{self.name}': there is no update rule "
                f"{message.name!r}. Do this: use one of {', '.join(_RULES)}."
            )
        return found

    def words(self, table):
        """The option of the pass that divides programs."""
        words = [f"table={table}"] if table is not None else []
        if self.click:
            words.append("click")
        if self.own_rule:
            words.append("own_rule")
        if self.own_rate:
            words.append("own_rate")
        entry = self.layer.get("entry")
        if type(entry).__name__ == "ShowClickEntry":
            _, show, click = entry._to_attr().split(":")
            words += [f"show={show}", f"clicks={click}"]
        slots = self.layer.get("slots") or []
        if any(slots):
            words.append("slots=" + ",".join(map(str, slots)))
        return " ".join(words)

    def check_width(self, width):
        """Raises ValueError if the strategy speaks of rows of another width."""
        if self.message is None:
            return
        accessor = self.message.accessor
        kind = accessor.accessor_class or "SparseAccessor"
        wide, rest = (width + 2, width - 1) if kind == "SparseAccessor" else (width, width - 3)
        for field, expected in (("fea_dim", wide), ("embedx_dim", rest)):
            if accessor.is_set(field) and getattr(accessor, field) != expected:
                raise ValueError(
                    f"[parameter_server] table '{self.name}': the {field} is wrong: with {kind} and "
                    f"an embedding of width {width} expected {expected}, got "
                    f"{getattr(accessor, field)}. Do this: correct it or leave it out."
                )

    def apply(self, table):
        """Puts what is said into the table's dict (see config.h)."""
        self._apply_entry(table)
        ssd = self.layer.get("table_class") == "SSDSparseTable"
        message = self.message
        if message is not None and message.is_set("table_class"):
            ssd = message.table_class == "SSDSparseTable"
        if ssd:
            table["tier"] = "ssd"
            table["directory"] = f"table-{table['id']}"  # in a folder of the process that keeps it
        if message is None:
            return
        accessor = message.accessor
        out = table["accessor"]
        if accessor.is_set("embedx_threshold"):
            out["embedding_threshold"] = accessor.embedx_threshold
        elif self.click:
            out["embedding_threshold"] = 0
        scores = accessor.ctr_accessor_param
        for name, ours in _SCORES.items():
            if scores.is_set(name):
                out[ours] = getattr(scores, name)
        if self.own_rule:
            self._apply_rule(out["embedding"], self._embedx)
            self._apply_rule(out["weight"], self._embed)
        if self.click and scores.zero_init:
            out["weight"]["initial_range"] = 0

    def _apply_rule(self, out, message):
        out["rule"], field = self._rule(message)
        numbers = getattr(message, field)
        if field == "adagrad":
            out["initial_range"] = numbers.initial_range
        for name, ours in _NUMBERS.items():
            try:
                if numbers.is_set(name):
                    out[ours] = getattr(numbers, name)
            except AttributeError:
                continue  # this rule has no such number
        bounds = list(numbers.weight_bounds) or [-10.0, 10.0]
        if len(bounds) != 2 or not bounds[0] < bounds[1]:
            raise ValueError(
                f"[parameter_server] table '{self.name}': weight_bounds must be two numbers, the "
                f"smaller one first, got {bounds}."
            )
        out["minimum"], out["maximum"] = bounds

    def _apply_entry(self, table):
        entry = self.layer.get("entry")
        if entry is None:
            return
        kind, *values = entry._to_attr().split(":")
        if kind == "count_filter_entry" and int(values[0]) == 0:
            return
        if kind == "count_filter_entry":
            table["admission"] = {"kind": "count", "count": int(values[0])}
        elif kind == "probability_entry":
            table["admission"] = {"kind": "probability", "probability": float(values[0])}
        else:
            table["admission"] = {"kind": "show_click"}


def choices(layers, strategy):
    """{name of a sparse parameter: Choice}. layers: what layers said, by name."""
    messages = {m.table_name: m for m in strategy.strategy.downpour_table_param}
    for message in messages.values():
        check_table(message)
    names = [*layers, *(n for n in messages if n not in layers)]
    return {name: Choice(name, layers.get(name, {}), messages.get(name)) for name in names}
