#include <algorithm>
#include <map>
#include <set>

#include "argosy/passes/rewrite.h"

// Look-ups of many slots (embedding, pooled or one row for each sample, joined) as one operation,
// and their row-sparse gradients as one.
//
// embedding(ids_i, W) -> sequence_pool or reshape -> concat      embedding_pool(ids.., W,
// lengths..) split -> sequence_pool_grad or reshape -> embedding_rows_grad
//   -> add_rows                                                  embedding_pool_grad(dy, ids.., ..)
namespace argosy::passes {
namespace {

// How rows of one slot become one row.
struct Form {
  std::string pool = "sum";
  double pad_value = 0;
  int64_t padding_idx = -1;
  bool sparse = false;
  bool operator==(const Form&) const = default;
};

struct PooledSlot {
  Ref<Value> ids, weight, lengths;
  Form form;
};

// Elements of a row, if all sizes but the first are known.
int64_t row_size(const Value& v) {
  int64_t size = v.shape.rank() ? 1 : -1;
  for (int d = 1; d < v.shape.rank() && size >= 0; ++d)
    size = v.shape[d] < 0 ? -1 : size * v.shape[d];
  return size;
}

// v without reshapes that keep its rows, if these have `width` elements; else null.
Ref<Value> rows_behind(Ref<Value> v, int64_t width) {
  while (row_size(*v) == width) {
    const Operation* o = v->producer;
    if (!o || !o->op->same_order) return v;
    if (v->block != o->operands[0]->block) return v;
    v = o->operands[0];
  }
  return nullptr;
}

// Flat operands of list k.
std::span<const Ref<Value>> list(const Operation& o, size_t k) {
  const uint32_t begin = k ? o.ends[k - 1] : 0;
  return std::span(o.operands).subspan(begin, o.ends[k] - begin);
}

Form form_of(const Operation& pooled) {
  return {attr<std::string>(pooled, "pool"), attr<double>(pooled, "pad_value"),
          attr<int64_t>(pooled, "padding_idx"), attr<bool>(pooled, "sparse")};
}

class Fuser {
 public:
  explicit Fuser(Program& p) : r_(p), reads_(p.value_count()) { count_reads(p.main); }

  bool run() {
    r_.walk([&](Operation& o) {
      if (is(o, "sequence_pool")) {
        pool_one(o);
      } else if (is(o, "concat")) {
        join(o);
      } else if (is(o, "embedding_rows_grad")) {
        pool_one_gradient(o);
      } else if (is(o, "add_rows")) {
        join_gradients(o);
      }
    });
    return r_.changed();
  }

 private:
  // Who needs the elements of a value, not only its shape.
  void count_reads(const Block& b) {
    for (const auto& o : b.operations) {
      for (size_t k = 0; k < o->operands.size(); ++k)
        if (o->operands[k] && !reads_only_shape(*o, k)) ++reads_[o->operands[k]->id];
      for (const auto& inner : o->blocks) count_reads(*inner);
    }
  }
  bool read_once(const Ref<Value>& v) const {
    return v->id < reads_.size() && reads_[v->id] <= 1 && !r_.leaves(v);
  }

  static bool is_lookup(const Operation& o) {
    return is(o, "embedding") && !attr<bool>(o, "scale_grad_by_freq");
  }

  // What `rows`, [.., width], were looked up from: read by nobody else.
  Operation* lookup(const Ref<Value>& rows, int64_t width) {
    const Ref<Value> v = width > 0 ? rows_behind(rows, width) : nullptr;
    Operation* o = made_by(v, "embedding");
    if (!o || !is_lookup(*o) || row_size(*v) != width || v->block != rows->block) return nullptr;
    // Views between are read once, too, or they are needed anyway.
    return read_once(v) && read_once(rows) && o->operands[1]->shape[1] == width ? o : nullptr;
  }

  static op::AttrBox attrs_of(std::string_view op, const Form& form) {
    op::AttrBox attrs = default_attrs(op::get(op));
    set_attr(attrs, "pool", form.pool);
    set_attr(attrs, "pad_value", form.pad_value);
    set_attr(attrs, "padding_idx", form.padding_idx);
    set_attr(attrs, "sparse", form.sparse);
    return attrs;
  }

  // Are rows of the whole (concat's result, what split_like splits) rows of the parts, joined?
  static bool joins_rows(const Operation& o, std::span<const Ref<Value>> parts) {
    const op::IntArray& axis = attr<op::IntArray>(o, "axis");
    if (o.attr_operands || axis.size() != 1) return false;
    for (const Ref<Value>& v : parts) {
      const int rank = v->shape.rank();
      const int64_t at = axis[0] < 0 ? axis[0] + rank : axis[0];
      if (rank < 2 || at < 1 || at >= rank) return false;
      for (int d = 1; d < at; ++d)
        if (v->shape[d] != 1) return false;
    }
    return true;
  }

  // --- forward ---

  Operation& insert_pool(std::span<const PooledSlot> slots) {
    std::vector<Ref<Value>> operands;
    std::vector<uint32_t> ends;
    bool shared = true;
    for (const PooledSlot& s : slots) {
      operands.push_back(s.ids);
      shared = shared && s.weight == slots[0].weight;
    }
    ends.push_back(static_cast<uint32_t>(operands.size()));
    for (const PooledSlot& s : slots.first(shared ? 1 : slots.size())) operands.push_back(s.weight);
    ends.push_back(static_cast<uint32_t>(operands.size()));
    for (const PooledSlot& s : slots)
      if (s.lengths) operands.push_back(s.lengths);
    ends.push_back(static_cast<uint32_t>(operands.size()));
    return r_.insert("embedding_pool", std::move(operands),
                     attrs_of("embedding_pool", slots[0].form), std::move(ends));
  }

  // [.., width] with the sizes of `like` after the first, which are known.
  Ref<Value> in_form_of(const Ref<Value>& rows, const Value& like) {
    if (like.shape.rank() == 2) return rows;
    op::AttrBox attrs = default_attrs(op::get("reshape"));
    op::IntArray shape{-1};
    for (int d = 1; d < like.shape.rank(); ++d) shape.values.push_back(like.shape[d]);
    set_attr(attrs, "shape", std::move(shape));
    return r_.insert("reshape", {rows}, std::move(attrs)).results[0];
  }

  void pool_one(Operation& o) {
    const int64_t width = row_size(*o.results[0]);
    if (o.operands[2] || o.results[0]->shape.rank() < 2 || width < 1) return;
    const Operation* e = lookup(o.operands[0], width);
    if (!e) return;
    const PooledSlot slot{e->operands[0],
                          e->operands[1],
                          o.operands[1],
                          {attr<std::string>(o, "pool"), attr<double>(o, "pad_value"),
                           attr<int64_t>(*e, "padding_idx"), attr<bool>(*e, "sparse")}};
    const Operation& made = insert_pool({&slot, 1});
    const Ref<Value> rows = made.results[0], found = made.results[1];
    if (!read_once(o.results[0])) shared_.insert(rows->id);
    r_.stand_in(o.results[1], found);
    r_.stand_in(o.results[0], in_form_of(rows, *o.results[0]));
    r_.erase();
  }

  // An operand of concat as a slot, if it is one.
  bool as_slot(const Ref<Value>& v, PooledSlot* slot) {
    const int64_t width = v->shape.rank() < 2 ? -1 : row_size(*v);
    if (width < 1) return false;
    const Ref<Value> rows = rows_behind(v, width);
    if (const Operation* pooled = made_by(rows, "embedding_pool")) {
      if (list(*pooled, 0).size() != 1 || !list(*pooled, 2).size()) return false;
      *slot = {list(*pooled, 0)[0], list(*pooled, 1)[0], list(*pooled, 2)[0], form_of(*pooled)};
      return slot->form.pool != "max" && v->block == pooled->results[0]->block &&
             !shared_.count(rows->id);
    }
    const Operation* e = lookup(v, width);
    if (!e || e->operands[0]->shape.rank() < 1) return false;
    Form form;
    form.padding_idx = attr<int64_t>(*e, "padding_idx");
    form.sparse = attr<bool>(*e, "sparse");
    *slot = {e->operands[0], e->operands[1], nullptr, form};
    return true;
  }

  void join(Operation& o) {
    if (o.operands.empty() || !joins_rows(o, o.operands)) return;
    const bool flat = o.results[0]->shape.rank() == 2;
    if (row_size(*o.results[0]) < 1 && !flat) return;
    std::vector<Ref<Value>> parts;
    std::vector<PooledSlot> run;
    std::vector<Ref<Value>> whole;  // operands of the run
    bool any = false;
    auto end_run = [&] {
      if (run.size() > 1 && (flat || run.size() == o.operands.size())) {
        parts.push_back(in_form_of(insert_pool(run).results[0], *o.results[0]));
        any = true;
      } else {
        parts.insert(parts.end(), whole.begin(), whole.end());
      }
      run.clear();
      whole.clear();
    };
    const std::vector<Ref<Value>> operands = o.operands;
    for (const Ref<Value>& v : operands) {
      PooledSlot slot;
      if (!as_slot(v, &slot)) {
        end_run();
        parts.push_back(v);
        continue;
      }
      const bool fits =
          run.empty() || (slot.form == run[0].form && !slot.lengths == !run[0].lengths &&
                          slot.weight->dtype == run[0].weight->dtype);
      if (!fits) end_run();
      run.push_back(slot);
      whole.push_back(v);
    }
    end_run();
    if (!any) return;
    if (parts.size() == 1) {
      r_.stand_in(o.results[0], parts[0]);
    } else {
      op::AttrBox attrs(*o.op->attrs, o.attrs.get());
      const auto count = static_cast<uint32_t>(parts.size());
      const Operation& made = r_.insert("concat", std::move(parts), std::move(attrs), {count});
      r_.stand_in(o.results[0], made.results[0]);
    }
    r_.erase();
  }

  // --- gradients ---

  Operation& insert_gradient(const Ref<Value>& dy, std::span<const PooledSlot> slots,
                             const Ref<Value>& found, std::vector<int64_t> columns) {
    std::vector<Ref<Value>> operands{dy};
    std::vector<uint32_t> ends{1};
    auto end = [&] { ends.push_back(static_cast<uint32_t>(operands.size())); };
    for (const PooledSlot& s : slots) operands.push_back(s.ids);
    end();
    for (const PooledSlot& s : slots)
      if (s.lengths) operands.push_back(s.lengths);
    end();
    operands.push_back(slots[0].weight);
    end();
    if (found) operands.push_back(found);
    end();
    op::AttrBox attrs = attrs_of("embedding_pool_grad", slots[0].form);
    set_attr(attrs, "columns", std::move(columns));
    return r_.insert("embedding_pool_grad", std::move(operands), std::move(attrs), std::move(ends));
  }

  // A part of what was split by rows: the whole, as [.., width], and the column where the part
  // begins; else itself and -1.
  std::pair<Ref<Value>, int64_t> column_of(const Ref<Value>& part) {
    const Operation* split = made_by(part, "split_like");
    if (!split || part->block != split->operands[0]->block || !joins_rows(*split, split->results))
      return {part, -1};
    const Ref<Value>& whole = split->operands[0];
    const int64_t width = row_size(*whole);
    int64_t at = 0;
    for (const Ref<Value>& v : split->results) {
      if (v == part) break;
      if (row_size(*v) < 0) return {part, -1};
      at += row_size(*v);
    }
    if (width < 0 && whole->shape.rank() != 2) return {part, -1};
    return {flat(whole, width), at};
  }

  // v as [.., width].
  Ref<Value> flat(const Ref<Value>& v, int64_t width) {
    if (v->shape.rank() == 2) return v;
    Ref<Value>& made = flat_[v->id];
    if (!made) {
      op::AttrBox attrs = default_attrs(op::get("reshape"));
      set_attr(attrs, "shape", op::IntArray{-1, width});
      made = r_.insert("reshape", {v}, std::move(attrs)).results[0];
    }
    return made;
  }

  void pool_one_gradient(Operation& o) {
    if (attr<bool>(o, "scale_grad_by_freq") || o.results[0]->shape.rank() != 2) return;
    const int64_t width = o.results[0]->shape[1];
    const Ref<Value> rows = width > 0 ? rows_behind(o.operands[1], width) : nullptr;
    if (!rows || rows->block != o.operands[1]->block) return;
    PooledSlot slot{o.operands[0], o.operands[2], nullptr, {}};
    slot.form.padding_idx = attr<int64_t>(o, "padding_idx");
    slot.form.sparse = true;
    Ref<Value> dy = rows, found;
    if (const Operation* pooled = made_by(rows, "sequence_pool_grad")) {
      slot.lengths = pooled->operands[1];
      slot.form.pool = attr<std::string>(*pooled, "pool");
      slot.form.pad_value = attr<double>(*pooled, "pad_value");
      dy = rows_behind(pooled->operands[0], width);
      found = pooled->operands[3];
      if (!dy || dy->block != rows->block) return;
    } else if (row_size(*slot.ids) != 1) {
      return;
    }
    auto [whole, column] = found ? std::pair{dy, int64_t{-1}} : column_of(dy);
    if (!slot.lengths && column < 0) return;
    if (column < 0) whole = flat(whole, width);
    const Operation& made =
        insert_gradient(whole, {&slot, 1}, found,
                        column < 0 ? std::vector<int64_t>{} : std::vector<int64_t>{column});
    r_.stand_in(o.results[0], made.results[0]);
    r_.erase();
  }

  void join_gradients(Operation& o) {
    std::vector<Ref<Value>> parts, whole;
    std::vector<PooledSlot> run;
    std::vector<int64_t> columns;
    Ref<Value> source;
    bool any = false;
    auto end_run = [&] {
      if (run.size() > 1) {
        parts.push_back(insert_gradient(source, run, nullptr, columns).results[0]);
        any = true;
      } else {
        parts.insert(parts.end(), whole.begin(), whole.end());
      }
      run.clear();
      whole.clear();
      columns.clear();
    };
    const std::vector<Ref<Value>> operands = o.operands;
    for (const Ref<Value>& v : operands) {
      const Operation* one = made_by(v, "embedding_pool_grad");
      if (!one || list(*one, 1).size() != 1 || list(*one, 3).size() != 1 || v->block != o.parent ||
          attr<std::vector<int64_t>>(*one, "columns").empty()) {
        end_run();
        parts.push_back(v);
        continue;
      }
      const PooledSlot slot{list(*one, 1)[0], list(*one, 3)[0],
                            list(*one, 2).empty() ? nullptr : list(*one, 2)[0], form_of(*one)};
      const bool fits =
          run.empty() || (one->operands[0] == source && slot.form == run[0].form &&
                          !slot.lengths == !run[0].lengths && slot.weight == run[0].weight);
      if (!fits) end_run();
      source = one->operands[0];
      run.push_back(slot);
      whole.push_back(v);
      columns.push_back(attr<std::vector<int64_t>>(*one, "columns")[0]);
    }
    end_run();
    if (!any) return;
    if (parts.size() == 1) {
      r_.stand_in(o.results[0], parts[0]);
    } else {
      const auto count = static_cast<uint32_t>(parts.size());
      const Operation& made =
          r_.insert("add_rows", std::move(parts), default_attrs(*o.op), {count});
      r_.stand_in(o.results[0], made.results[0]);
    }
    r_.erase();
  }

  Rewriter r_;
  std::vector<uint32_t> reads_;          // by id
  std::set<uint32_t> shared_;            // results made here that are read more than once
  std::map<uint32_t, Ref<Value>> flat_;  // what was split, as rows
};

bool run(Program& p, const PassContext&) {
  return Fuser(p).run();
}

ARGOSY_PASS(
    fuse_slots, Rounding::kept,
    "Look-ups in tables whose rows are pooled (sequence_pool) or taken one for each sample, "
    "and joined by concat, become one embedding_pool; their row-sparse gradients in one "
    "table become one. 300 slots cost two operations, and rows of ids are never made.",
    run)

}  // namespace
}  // namespace argosy::passes
