#include "argosy/ps/split.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "argosy/passes/rewrite.h"
#include "argosy/program/attributes.h"
#include "argosy/ps/op_names.h"
#include "argosy/ps/split_optimizer.h"

namespace argosy::ps {
namespace {

using passes::attr;
using passes::default_attrs;
using passes::set_attr;
using program::Operation;
using program::Program;
using program::StateUse;
using program::Value;
using Values = std::vector<Ref<Value>>;

std::string at(const Operation& o) {
  return o.location.empty() ? std::string() : " at " + o.location;
}

// A look-up of a remote parameter, or the gradient of one.
struct LookUp {
  Operation* operation;
  Ref<Value> ids, rows;  // rows: what it gives, or their gradient
  int64_t padding;
  size_t number = 0;  // among the look-ups of the parameter
};

// What one pull gives of a table.
struct Pulled {
  Ref<Value> rows, keys;
  int64_t padding = -1;                           // the place of padding
  std::unordered_map<size_t, Ref<Value>> places;  // by number of the look-up
};

struct Remote {
  RemoteParameter said;
  StateUse* use = nullptr;
  TableConfig table;
  std::vector<LookUp> lookups, gradients;
  std::vector<Pulled> pulls;
  const UpdateEntry* update = nullptr;
};

class Splitter {
 public:
  Splitter(Program& p, const SplitOptions& options)
      : p_(p), options_(options), next_table_(options.first_table) {}

  Split run() {
    read_uses();
    find_remote();
    updates_ = read_updates(p_);
    for (Remote& r : remote_) trace(r);
    for (Remote& r : remote_) describe(r);
    if (options_.dense) find_dense();
    // Nothing is thrown from here on.
    build();
    return std::move(result_);
  }

 private:
  using Operations = std::vector<std::unique_ptr<Operation>>;
  struct Use {
    Operation* operation;
    size_t operand;
  };
  // Parameters of one optimizer operation that have one factor on the learning rate and one decay.
  struct DenseKey {
    const Operation* operation;
    double rate_scale, decay;
    bool operator==(const DenseKey&) const = default;
  };
  struct Dense {
    DenseKey key;
    TableConfig table;
    std::vector<const UpdateEntry*> entries;
  };

  void read_uses() {
    for (const auto& o : p_.main.operations)
      for (size_t i = 0; i < o->operands.size(); ++i)
        if (o->operands[i]) uses_[o->operands[i].get()].push_back({o.get(), i});
  }

  const RemoteParameter* said(const std::string& name) const {
    for (const RemoteParameter& r : options_.remote)
      if (r.name == name) return &r;
    return nullptr;
  }

  // --- what is looked up ---

  void find_remote() {
    for (StateUse& s : p_.states) {
      const RemoteParameter* given = said(s.state->name);
      bool looked_up = given != nullptr;
      if (!given && options_.sparse)
        for (const Use& u : uses_[s.initial.get()])
          looked_up |= looks_up(u) && attr<bool>(*u.operation, "sparse");
      if (!looked_up) continue;
      Remote r;
      r.use = &s;
      if (given) r.said = *given;
      r.said.name = s.state->name;
      ARGOSY_CHECK(s.state->dtype == DType::float32 && s.state->shape.rank() == 2, not_implemented)
          << "[parameter_server] parameter '" << r.said.name
          << "' cannot live on servers: expected float32 [rows, columns], got " << s.state->dtype
          << s.state->shape << ". Do this: give the embedding dtype='float32'.";
      remote_.push_back(std::move(r));
    }
  }

  [[noreturn]] void read_as_a_whole(const Remote& r, const Operation& o) {
    ARGOSY_THROW(invalid_argument)
        << "[parameter_server] the rows of '" << r.said.name << "' live on servers, but '"
        << o.op->name << "'" << at(o)
        << " reads the parameter as a whole. Do this: take it out of the Program, or keep the "
           "parameter in the trainer (static.nn.embedding with is_sparse and is_distributed "
           "False).";
  }

  // Look-ups of r, and its gradient back to the rows that were looked up.
  void trace(Remote& r) {
    const Value* table = r.use->initial.get();
    for (const UpdateEntry& e : updates_)
      if (e.parameter().get() == table) r.update = &e;
    for (const Use& u : uses_[table]) {
      Operation& o = *u.operation;
      const op::Lookup gradient = o.op->lookup_gradient;
      if (looks_up(u)) {
        r.lookups.push_back({&o, operand(o, o.op->lookup.ids), o.results[0],
                             attr<int64_t>(o, "padding_idx"), r.lookups.size()});
      } else if (gradient && operand_at(u, gradient.table)) {
        continue;  // found from the optimizer
      } else if (!r.update || &o != r.update->operation) {
        read_as_a_whole(r, o);
      }
    }
    ARGOSY_CHECK(!r.lookups.empty(), invalid_argument)
        << "[parameter_server] '" << r.said.name
        << "' is said to be distributed, but the main block of the Program does not look it up. Do "
           "this: look it up outside of branches and loops.";
    if (!r.update) return;
    resolve(r, r.update->gradient());
    for (LookUp& g : r.gradients)
      for (const LookUp& l : r.lookups)
        if (l.ids == g.ids && l.padding == g.padding) g.number = l.number;
    std::stable_sort(r.gradients.begin(), r.gradients.end(),
                     [](const LookUp& a, const LookUp& b) { return a.number < b.number; });
    for (const Ref<Value>& v : r.update->updated())
      for (const Use& u : uses_[v.get()]) read_as_a_whole(r, *u.operation);
  }

  static const Ref<Value>& operand(const Operation& o, int32_t input) {
    return o.operands[static_cast<size_t>(input)];
  }
  static bool operand_at(const Use& u, int32_t input) {
    return u.operand == static_cast<size_t>(input);
  }
  // Is it the table of a look-up?
  static bool looks_up(const Use& u) {
    const op::Lookup lookup = u.operation->op->lookup;
    return lookup && operand_at(u, lookup.table);
  }
  static bool sums(const Operation& o) {
    return o.op->sums && (!o.op->sums_if || o.op->sums_if(o.attrs.get()));
  }

  // A sum of gradients of look-ups: what optimizers of a table are given.
  void resolve(Remote& r, const Ref<Value>& gradient) {
    Operation* o = gradient->producer;
    const bool sum = o && sums(*o);
    if (!o || (!sum && !o->op->lookup_gradient)) {
      ARGOSY_THROW(invalid_argument)
          << "[parameter_server] the gradient of '" << r.said.name << "' goes through '"
          << (o ? o->op->name : std::string("an input")) << "'" << (o ? at(*o) : std::string())
          << " before the optimizer, but its rows live on servers and no trainer has the whole "
             "gradient: it cannot be clipped, scaled or decayed as one. Do this: leave it out with "
             "ParamAttr(need_clip=False), or remove grad_clip.";
    }
    for (const Use& u : uses_[gradient.get()])
      if (!dropped_.count(u.operation) && u.operation != r.update->operation)
        not_alone(r, *u.operation);
    for (const program::Output& out : p_.outputs)
      if (out.value == gradient) not_alone(r, *o);
    dropped_.insert(o);  // one that is reached twice counts twice
    if (sum) {
      for (const Ref<Value>& v : o->inputs()) resolve(r, v);
      return;
    }
    ARGOSY_CHECK(!attr<bool>(*o, "scale_grad_by_freq"), not_implemented)
        << "[parameter_server] '" << r.said.name << "' is looked up with scale_grad_by_freq"
        << at(*o) << ", which tables do not do. Do this: leave it off.";
    const op::Lookup from = o->op->lookup_gradient;
    r.gradients.push_back(
        {o, operand(*o, from.ids), operand(*o, from.dy), attr<int64_t>(*o, "padding_idx")});
  }

  [[noreturn]] void not_alone(const Remote& r, const Operation& reader) {
    ARGOSY_THROW(invalid_argument)
        << "[parameter_server] the gradient of '" << r.said.name << "' is also read by '"
        << reader.op->name << "'" << at(reader)
        << ", but its rows live on servers and no trainer has the whole gradient (a global norm "
           "over them does not exist). Do this: leave the parameter out with "
           "ParamAttr(need_clip=False), or remove grad_clip.";
  }

  // --- tables ---

  void describe(Remote& r) {
    TableConfig& t = r.table;
    t.id = r.said.table < 0 ? next_table_++ : static_cast<uint32_t>(r.said.table);
    t.name = r.said.name;
    t.kind = "sparse";
    const int64_t width = r.use->state->shape[1];
    if (r.said.click) {
      t.accessor.kind = "click";
      t.accessor.dim = static_cast<int>(width) - 3;
      ARGOSY_CHECK(t.accessor.dim >= 1, invalid_argument)
          << "[parameter_server] rows of '" << t.name
          << "' have show, click, a weight and the embedding: expected a width of at least 4, got "
          << width << ". Do this: make the embedding wider, or choose another accessor_class.";
    } else {
      t.accessor.dim = static_cast<int>(width);
    }
    if (r.update && !r.said.own_rule) {
      rule_of(*r.update, t.name, true, &t.accessor.embedding);
      ARGOSY_CHECK(r.update->l1() == 0 && r.update->l2() == 0, invalid_argument)
          << "[parameter_server] '" << t.name
          << "' has a regularizer, which would touch every row of its table in every step. Do "
             "this: give it ParamAttr(regularizer=L2Decay(0.0)), or take weight_decay from the "
             "optimizer.";
    }
    t.accessor.weight = t.accessor.embedding;
    result_.tables.push_back(t);
    result_.removed.push_back(t.name);
  }

  void find_dense() {
    for (const UpdateEntry& e : updates_) {
      if (is_remote(e.parameter())) continue;
      StateUse* use = state_of(e.parameter());
      if (!use) continue;  // of something that is no parameter
      OptimizerConfig rule;
      rule_of(e, use->state->name, false, &rule);
      ARGOSY_CHECK(use->state->dtype == DType::float32, not_implemented)
          << "[parameter_server] parameter '" << use->state->name << "' is " << use->state->dtype
          << ", but servers keep float32. Do this: make it float32.";
      const DenseKey key{e.operation, e.rate_scale(), e.decay()};
      auto found =
          std::find_if(dense_.begin(), dense_.end(), [&](const Dense& d) { return d.key == key; });
      if (found == dense_.end()) {
        Dense d;
        d.key = key;
        d.table.id = next_table_++;
        d.table.name = "dense_" + std::to_string(d.table.id);
        d.table.kind = is_summary(e) ? "summary" : "dense";
        d.table.accessor.dim = 1;
        d.table.accessor.embedding = rule;
        found = dense_.insert(dense_.end(), std::move(d));
      }
      found->entries.push_back(&e);
      found->table.size += static_cast<uint64_t>(use->state->shape.numel());
    }
    for (const Dense& d : dense_) {
      result_.tables.push_back(d.table);
      DenseBlock block{d.table.id, {}};
      for (const UpdateEntry* e : d.entries)
        block.parameters.push_back(state_of(e->parameter())->state->name);
      result_.dense.push_back(std::move(block));
    }
  }

  StateUse* state_of(const Ref<Value>& v) {
    for (StateUse& s : p_.states)
      if (s.initial == v) return &s;
    return nullptr;
  }
  bool is_remote(const Ref<Value>& v) const {
    return std::any_of(remote_.begin(), remote_.end(),
                       [&](const Remote& r) { return r.use->initial == v; });
  }

  // --- the new Program ---

  Operation& add(Operations& list, const char* op, Values operands, std::vector<uint32_t> ends,
                 op::AttrBox attrs, program::Role role) {
    auto o = std::make_unique<Operation>();
    o->op = &op::get(op);
    o->operands = std::move(operands);
    o->ends = std::move(ends);
    o->attrs = std::move(attrs);
    o->parent = &p_.main;
    o->role = role;
    list.push_back(std::move(o));
    return *list.back();
  }

  static void append(Values& to, const Values& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  void build() {
    Operations front, back;
    for (const Dense& d : dense_) pull_dense(front, d);
    hoist(front);
    pull(front, true);
    pull(front, false);
    for (Remote& r : remote_) push(back, r);
    for (const Dense& d : dense_) push_dense(back, d);
    if (!back.empty())
      add(back, made::kEndStep, {}, {}, default_attrs(op::get(made::kEndStep)),
          program::Role::optimize);
    drop_updates();
    drop_operations();
    auto& operations = p_.main.operations;
    operations.insert(operations.begin(), std::make_move_iterator(front.begin()),
                      std::make_move_iterator(front.end()));
    operations.insert(operations.end(), std::make_move_iterator(back.begin()),
                      std::make_move_iterator(back.end()));
    drop_state();
    p_.changed();
  }

  void pull_dense(Operations& front, const Dense& d) {
    Values params;
    for (const UpdateEntry* e : d.entries) params.push_back(e->parameter());
    op::AttrBox attrs = default_attrs(op::get(made::kPullDense));
    set_attr(attrs, "table", int64_t{d.table.id});
    const uint32_t count = static_cast<uint32_t>(params.size());
    Operation& o =
        add(front, made::kPullDense, params, {count}, std::move(attrs), program::Role::optimize);
    for (const UpdateEntry* e : d.entries) {
      StateUse& s = *state_of(e->parameter());
      Ref<Value> v = p_.make_value(s.initial->shape, s.initial->dtype);
      v->name = s.initial->name;
      v->requires_grad = s.initial->requires_grad;
      v->block = &p_.main;
      v->producer = &o;
      o.results.push_back(v);
      pulled_[s.initial.get()] = v;
    }
    for (const UpdateEntry* e : d.entries) {
      // `front` is not yet part of p_. The entry's own operand moves, too.
      const Ref<Value> before = e->parameter(), after = e->updated()[0];
      const Ref<Value>& now = pulled_[before.get()];
      program::replace_uses(p_, before, now);
      program::replace_uses(p_, after, now);
      state_of(before)->last = now;
    }
  }

  // What computes the ids of look-ups goes first, where no look-up or effect is needed for it; so
  // all look-ups of a table are one request.
  void hoist(Operations& front) {
    std::unordered_set<const Operation*> moved;
    for (Remote& r : remote_)
      for (LookUp& l : r.lookups) {
        std::vector<Operation*> needed;
        std::unordered_set<const Operation*> seen;
        if (!movable(l.ids, seen, needed)) continue;
        early_.insert(l.operation);
        moved.insert(needed.begin(), needed.end());
      }
    for (auto& o : p_.main.operations)
      if (moved.count(o.get())) front.push_back(std::move(o));
    std::erase(p_.main.operations, nullptr);
  }
  bool movable(const Ref<Value>& v, std::unordered_set<const Operation*>& seen,
               std::vector<Operation*>& needed) {
    Operation* o = v ? v->producer : nullptr;
    if (!o || !seen.insert(o).second) return true;
    if (!passes::is_pure(*o->op) || o->op->lookup || o->role != program::Role::forward)
      return false;
    for (const Ref<Value>& x : o->operands)
      if (!movable(x, seen, needed)) return false;
    needed.push_back(o);
    return true;
  }

  // Look-ups of one table.
  struct Group {
    Remote* remote;
    std::vector<LookUp*> lookups;
  };

  void pull(Operations& front, bool training) {
    std::vector<Group> together;
    for (Remote& r : remote_) {
      Group group{&r, {}};
      for (LookUp& l : r.lookups) {
        const bool trains = std::any_of(r.gradients.begin(), r.gradients.end(),
                                        [&](const LookUp& g) { return g.ids == l.ids; });
        if (trains != training) continue;
        if (early_.count(l.operation))
          group.lookups.push_back(&l);
        else
          pull_in_place({&r, {&l}}, training);
      }
      if (!group.lookups.empty()) together.push_back(std::move(group));
    }
    if (!together.empty()) add_pull(front, together, training);
  }

  void pull_in_place(const Group& group, bool training) {
    Operations one;
    add_pull(one, {&group, 1}, training);
    auto& operations = p_.main.operations;
    auto here = std::find_if(operations.begin(), operations.end(),
                             [&](const auto& o) { return o.get() == group.lookups[0]->operation; });
    operations.insert(here, std::move(one[0]));
  }

  // Look-ups stay what they are, but for places among the rows that were pulled.
  void add_pull(Operations& list, std::span<const Group> groups, bool training) {
    Values ids;
    std::vector<int64_t> tables, widths, counts, paddings;
    for (const Group& g : groups) {
      tables.push_back(g.remote->table.id);
      widths.push_back(g.remote->use->state->shape[1]);
      counts.push_back(static_cast<int64_t>(g.lookups.size()));
      for (const LookUp* l : g.lookups) {
        ids.push_back(l->ids);
        paddings.push_back(l->padding);
      }
    }
    paddings = short_form(std::move(paddings));
    const int64_t padding = paddings.empty() ? -1 : 0;
    op::AttrBox attrs = default_attrs(op::get(made::kPullRows));
    set_attr(attrs, "tables", std::move(tables));
    set_attr(attrs, "widths", widths);
    set_attr(attrs, "counts", std::move(counts));
    set_attr(attrs, "paddings", std::move(paddings));
    set_attr(attrs, "training", training);
    const uint32_t count = static_cast<uint32_t>(ids.size());
    Operation& o =
        add(list, made::kPullRows, ids, {count}, std::move(attrs), program::Role::forward);
    o.location = groups[0].lookups[0]->operation->location;
    for (const int64_t width : widths) result(o, Shape{kUnknown, width}, DType::float32);
    for (size_t t = 0; t < widths.size(); ++t) result(o, Shape{kUnknown}, DType::int64);
    for (const Ref<Value>& v : ids) result(o, v->shape, DType::int64);
    size_t next = 2 * groups.size();
    for (size_t t = 0; t < groups.size(); ++t) {
      Pulled pulled{o.results[t], o.results[groups.size() + t], padding, {}};
      for (LookUp* l : groups[t].lookups) {
        const Ref<Value>& places = pulled.places[l->number] = o.results[next++];
        const op::Lookup lookup = l->operation->op->lookup;
        l->operation->operands[static_cast<size_t>(lookup.ids)] = places;
        l->operation->operands[static_cast<size_t>(lookup.table)] = pulled.rows;
        set_attr(l->operation->attrs, "padding_idx", padding);
      }
      groups[t].remote->pulls.push_back(std::move(pulled));
    }
  }

  void result(Operation& o, const Shape& shape, DType dtype) {
    Ref<Value> v = p_.make_value(shape, dtype);
    v->block = &p_.main;
    v->producer = &o;
    o.results.push_back(std::move(v));
  }

  static std::vector<int64_t> short_form(std::vector<int64_t> paddings) {
    if (std::all_of(paddings.begin(), paddings.end(), [](int64_t p) { return p < 0; })) return {};
    return paddings;
  }

  Ref<Value> input(const std::string& name) const {
    for (const Ref<Value>& v : p_.main.arguments)
      if (v->name == name) return v;
    return nullptr;
  }

  void push(Operations& back, const Remote& r) {
    if (r.gradients.empty()) return;
    const Ref<Value> corrected = correct_rate(back, r);
    Values keys, sums, places;
    std::vector<int64_t> counts, slots;
    for (const Pulled& pulled : r.pulls) {
      Values gradients;
      for (const LookUp& g : r.gradients) {
        auto place = pulled.places.find(g.number);
        if (place == pulled.places.end()) continue;
        op::AttrBox attrs = default_attrs(op::get(made::kRowsGradient));
        set_attr(attrs, "padding_idx", pulled.padding);
        set_attr(attrs, "sparse", true);
        gradients.push_back(compute(back, made::kRowsGradient, {place->second, g.rows, pulled.rows},
                                    std::move(attrs)));
        places.push_back(place->second);
        slots.push_back(g.number < r.said.slots.size() ? r.said.slots[g.number] : 0);
      }
      if (gradients.empty()) continue;
      const uint32_t count = static_cast<uint32_t>(gradients.size());
      keys.push_back(pulled.keys);
      counts.push_back(count);
      sums.push_back(count == 1 ? gradients[0]
                                : compute(back, made::kAddRows, std::move(gradients),
                                          default_attrs(op::get(made::kAddRows)), {count}));
    }
    op::AttrBox attrs = default_attrs(op::get(made::kPushRows));
    set_attr(attrs, "table", int64_t{r.table.id});
    if (r.said.click) {
      set_attr(attrs, "click", true);
      set_attr(attrs, "counts", std::move(counts));
      set_attr(attrs, "slots", std::move(slots));
    } else {
      places.clear();
    }
    std::vector<uint32_t> ends;
    Values operands;
    for (const Values* list : {&keys, &sums, &places}) {
      append(operands, *list);
      ends.push_back(static_cast<uint32_t>(operands.size()));
    }
    for (const std::string* name : {&r.said.show, &r.said.click_from}) {
      operands.push_back(r.said.click ? input(*name) : nullptr);
      ends.push_back(static_cast<uint32_t>(operands.size()));
    }
    Operation& o = add(back, made::kPushRows, std::move(operands), std::move(ends),
                       std::move(attrs), program::Role::optimize);
    o.location = r.gradients[0].operation->location;
    if (corrected) {
      op::Scalar rate;
      rate.tensor = program::element_placeholder();
      set_attr(o.attrs, "lr", rate);
      set_attr(o.attrs, "lr_scale", r.update->rate_scale());
      o.operands.push_back(corrected);
      o.attr_operands = 1;
    } else if (!r.said.own_rate) {
      give_rate(o, *r.update);
    }
  }

  static void give_rate(Operation& o, const UpdateEntry& e) {
    const Operation& from = *e.operation;
    if (is_summary(e)) return;
    set_attr(o.attrs, "lr", attr<op::Scalar>(from, "lr"));
    set_attr(o.attrs, "lr_scale", e.rate_scale());
    for (const Ref<Value>& v : from.attr_values()) o.operands.push_back(v);
    o.attr_operands = from.attr_operands;
  }

  // op(operands), one result.
  Ref<Value> compute(Operations& list, const char* op, Values operands, op::AttrBox attrs,
                     std::vector<uint32_t> ends = {}) {
    Operation& o = add(list, op, std::move(operands), std::move(ends), std::move(attrs),
                       program::Role::optimize);
    Ref<Value> v = p_.make_value({}, DType::float32);
    v->block = &p_.main;
    v->producer = &o;
    o.results.push_back(v);
    program::infer_operation(o);
    return v;
  }
  Ref<Value> compute(Operations& list, const char* op, Values operands) {
    return compute(list, op, std::move(operands), default_attrs(op::get(op)));
  }
  Ref<Value> scaled(Operations& list, const Ref<Value>& v, double factor, double bias = 0) {
    op::AttrBox attrs = default_attrs(op::get(made::kScale));
    set_attr(attrs, "scale", op::Scalar(factor));
    set_attr(attrs, "bias", bias);
    return compute(list, made::kScale, {v}, std::move(attrs));
  }

  // Weight decay of dense parameters is part of the gradient that is pushed.
  Ref<Value> with_decay(Operations& list, const UpdateEntry& e) {
    Ref<Value> sum = e.gradient();
    if (e.l2() != 0) sum = compute(list, made::kAdd, {sum, scaled(list, e.parameter(), e.l2())});
    if (e.l1() != 0) {
      const Ref<Value> sign = compute(list, made::kSign, {e.parameter()});
      sum = compute(list, made::kAdd, {sum, scaled(list, sign, e.l1())});
    }
    return sum;
  }

  // Adam's correction of the moments' bias counts steps of the trainer, not visits of a row: the
  // powers stay state of the trainer, and the rate is corrected there: by those of the next step,
  // as the op does for row-sparse gradients.
  Ref<Value> correct_rate(Operations& list, const Remote& r) {
    const std::optional<BiasPowers> powers = powers_of(*r.update);
    if (!powers || r.said.own_rule) return nullptr;
    const Ref<Value> first = scaled(list, powers->first, std::pow(powers->beta1, options_.workers));
    const Ref<Value> second =
        scaled(list, powers->second, std::pow(powers->beta2, options_.workers));
    const Ref<Value> root = compute(list, made::kSqrt, {scaled(list, second, -1, 1)});
    Ref<Value> rate = compute(list, made::kDivide, {root, scaled(list, first, -1, 1)});
    const Operation& o = *r.update->operation;
    rate = o.attr_operands ? compute(list, made::kMultiply, {rate, o.attr_values()[0]})
                           : scaled(list, rate, attr<op::Scalar>(o, "lr").real());
    state_of(powers->first)->last = first;
    state_of(powers->second)->last = second;
    kept_.insert(powers->first.get());
    kept_.insert(powers->second.get());
    return rate;
  }

  void push_dense(Operations& back, const Dense& d) {
    Values gradients;
    for (const UpdateEntry* e : d.entries) gradients.push_back(with_decay(back, *e));
    op::AttrBox attrs = default_attrs(op::get(made::kPushDense));
    set_attr(attrs, "table", int64_t{d.table.id});
    const uint32_t count = static_cast<uint32_t>(gradients.size());
    Operation& o = add(back, made::kPushDense, std::move(gradients), {count}, std::move(attrs),
                       program::Role::optimize);
    give_rate(o, *d.entries[0]);
  }

  // Takes the entries of parameters that left out of the optimizers' lists.
  void drop_updates() {
    std::set<const UpdateEntry*> gone;
    for (const Remote& r : remote_)
      if (r.update) gone.insert(r.update);
    for (const Dense& d : dense_) gone.insert(d.entries.begin(), d.entries.end());
    for (const UpdateEntry* e : gone)
      for (const Ref<Value>& v : e->states())
        if (StateUse* s = state_of(v); s && !kept_.count(v.get()))
          removed_states_.insert(s->state.get());
    for (const Remote& r : remote_) removed_states_.insert(r.use->state.get());
    std::set<Operation*> operations;
    for (const UpdateEntry* e : gone) operations.insert(e->operation);
    for (Operation* o : operations) {
      std::set<size_t> places;
      for (const UpdateEntry* e : gone)
        if (e->operation == o) places.insert(e->place);
      if (!drop_places(*o, places)) dropped_.insert(o);
    }
  }

  void drop_operations() {
    std::erase_if(p_.main.operations, [&](const auto& o) { return dropped_.count(o.get()) != 0; });
  }

  void drop_state() {
    for (const StateUse& s : p_.states)
      if (removed_states_.count(s.state.get()) &&
          std::find(result_.removed.begin(), result_.removed.end(), s.state->name) ==
              result_.removed.end())
        result_.removed.push_back(s.state->name);
    std::erase_if(p_.states,
                  [&](const StateUse& s) { return removed_states_.count(s.state.get()) != 0; });
  }

  Program& p_;
  const SplitOptions& options_;
  uint32_t next_table_;
  Split result_;
  std::unordered_map<const Value*, std::vector<Use>> uses_;
  std::vector<UpdateEntry> updates_;
  std::vector<Remote> remote_;
  std::vector<Dense> dense_;
  std::unordered_set<const Operation*> dropped_, early_;
  std::unordered_set<const Value*> kept_;                // states that the trainer goes on with
  std::unordered_map<const Value*, Ref<Value>> pulled_;  // by what the state was before
  std::unordered_set<const program::State*> removed_states_;
};

}  // namespace

Split split(Program& p, const SplitOptions& options) {
  return Splitter(p, options).run();
}

}  // namespace argosy::ps
