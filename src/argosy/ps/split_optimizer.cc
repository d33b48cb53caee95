#include "argosy/ps/split_optimizer.h"

#include <algorithm>

#include "argosy/passes/rewrite.h"

namespace argosy::ps {
namespace {

using passes::attr;
using passes::find_attr;
using passes::is;
using passes::set_attr;
using program::Operation;
using program::Value;
using Values = std::vector<Ref<Value>>;

// Optimizer ops: input 0 is the list of parameters, 1 that of gradients.
bool is_optimizer(const Operation& o) {
  if (is(o, "summary_update_")) return true;
  return o.role == program::Role::optimize && o.op->writes.size() > 1 && o.op->writes[0] == 0 &&
         o.op->inputs.size() >= 3 && o.op->inputs[0].list && o.op->inputs[0].name == "params" &&
         o.ends.size() == o.op->inputs.size();
}

// Flat operands of list k.
std::pair<size_t, size_t> range(const Operation& o, size_t k) {
  return {k ? o.ends[k - 1] : 0, o.ends[k]};
}

size_t count_of(const Operation& o) {
  return o.ends[0];
}

double number(const UpdateEntry& e, const char* name, double otherwise) {
  const auto* list = find_attr<std::vector<double>>(e.operation->attrs, name);
  return list && !list->empty() ? (*list)[e.place] : otherwise;
}

std::string at(const Operation& o) {
  return o.location.empty() ? std::string() : " at " + o.location;
}

bool has_list(const Operation& o, const char* name) {
  const int i = o.op->find_input(name);
  if (i < 0) return false;
  const auto [begin, end] = range(o, static_cast<size_t>(i));
  return end > begin;
}

[[noreturn]] void no_rule(const UpdateEntry& e, const std::string& name, const std::string& why) {
  ARGOSY_THROW(not_implemented)
      << "[parameter_server] servers cannot update '" << name << "' as '" << e.operation->op->name
      << "'" << at(*e.operation) << " does: " << why
      << ". Do this: use SGD, Momentum, Adagrad, Adam, AdamW or RMSProp; for sparse parameters, "
         "DistributedStrategy.sparse_table_configs may choose another rule.";
}

}  // namespace

bool is_summary(const UpdateEntry& e) {
  return is(*e.operation, "summary_update_");
}

const Ref<Value>& UpdateEntry::parameter() const {
  return operation->operands[place];
}
const Ref<Value>& UpdateEntry::gradient() const {
  return operation->operands[count_of(*operation) + place];
}

Values UpdateEntry::states() const {
  Values found;
  for (uint32_t k : operation->op->writes) {
    if (k == 0) continue;
    const auto [begin, end] = range(*operation, k);
    if (end - begin == count_of(*operation)) found.push_back(operation->operands[begin + place]);
  }
  return found;
}

Values UpdateEntry::updated() const {
  Values found;
  size_t next = 0;
  for (uint32_t k : operation->op->writes) {
    const auto [begin, end] = range(*operation, k);
    if (end - begin == count_of(*operation)) found.push_back(operation->results[next + place]);
    next += end - begin;
  }
  return found;
}

double UpdateEntry::rate_scale() const {
  return number(*this, "lr_scales", 1);
}
double UpdateEntry::decay() const {
  return number(*this, "decays", 0);
}
double UpdateEntry::l1() const {
  return number(*this, "l1", 0);
}
double UpdateEntry::l2() const {
  return number(*this, "l2", 0);
}

std::vector<UpdateEntry> read_updates(const program::Program& p) {
  std::vector<UpdateEntry> found;
  for (const auto& o : p.main.operations)
    if (is_optimizer(*o))
      for (size_t i = 0; i < count_of(*o); ++i) found.push_back({o.get(), i});
  return found;
}

void rule_of(const UpdateEntry& e, const std::string& name, bool rows, OptimizerConfig* rule) {
  const Operation& o = *e.operation;
  if (is_summary(e)) {
    rule->rule = "sum";
    return;
  }
  if (has_list(o, "masters")) no_rule(e, name, "it keeps master copies of 16-bit parameters");
  const auto real = [&](const char* field) { return static_cast<float>(attr<double>(o, field)); };
  if (is(o, "sgd_")) {
    rule->rule = "sgd";
  } else if (is(o, "momentum_")) {
    if (attr<double>(o, "rescale_grad") != 1) no_rule(e, name, "it rescales gradients");
    rule->rule = "momentum";
    rule->momentum = real("mu");
    rule->nesterov = attr<bool>(o, "use_nesterov");
  } else if (is(o, "adagrad_")) {
    rule->rule = rows ? "adagrad_lazy" : "adagrad";
    rule->initial_g2sum = 1e-30f;  // the least that tables take
    rule->epsilon = real("epsilon");
  } else if (is(o, "adam_")) {
    rule->rule = rows ? "adam_lazy" : "adam";
    rule->beta1 = real("beta1");
    rule->beta2 = real("beta2");
    rule->amsgrad = has_list(o, "moment2_maxs");
    rule->decay = static_cast<float>(e.decay());
    rule->epsilon = real("epsilon");
  } else if (is(o, "rmsprop_")) {
    if (attr<bool>(o, "centered")) no_rule(e, name, "it is centered");
    rule->rule = "rmsprop";
    rule->rho = real("rho");
    rule->epsilon = real("epsilon");
    rule->momentum = real("momentum");
  } else {
    no_rule(e, name, "there is no such rule");
  }
  // The rate of the Program when it is known: pushes bring the current one anyway.
  if (const auto& lr = attr<op::Scalar>(o, "lr"); !lr.tensor.defined())
    rule->learning_rate = static_cast<float>(lr.real());
}

std::optional<AdamPowers> powers_of(const UpdateEntry& e) {
  if (!is(*e.operation, "adam_")) return {};
  const Values states = e.states();
  const auto beta = [&](const char* name) { return attr<double>(*e.operation, name); };
  return AdamPowers{states[states.size() - 2], states.back(), beta("beta1"), beta("beta2")};
}

bool drop_places(Operation& o, const std::set<size_t>& places) {
  const size_t count = count_of(o);
  if (places.size() == count) return false;
  Values operands, results;
  std::vector<uint32_t> ends;
  std::vector<bool> thinned;
  for (size_t k = 0; k < o.ends.size(); ++k) {
    const auto [begin, end] = range(o, k);
    thinned.push_back(end - begin == count);
    for (size_t i = begin; i < end; ++i)
      if (!thinned[k] || !places.count(i - begin)) operands.push_back(o.operands[i]);
    ends.push_back(static_cast<uint32_t>(operands.size()));
  }
  size_t next = 0;
  for (uint32_t k : o.op->writes) {
    const auto [begin, end] = range(o, k);
    for (size_t i = 0; i < end - begin; ++i, ++next)
      if (!thinned[k] || !places.count(i)) results.push_back(o.results[next]);
  }
  for (const Ref<Value>& v : o.attr_values()) operands.push_back(v);
  for (const op::Field& f : o.op->attrs->fields) {
    if (f.kind != op::field_kind_of<std::vector<double>>) continue;
    const auto& all = attr<std::vector<double>>(o, f.name);
    if (all.size() != count) continue;
    std::vector<double> some;
    for (size_t i = 0; i < count; ++i)
      if (!places.count(i)) some.push_back(all[i]);
    set_attr(o.attrs, f.name, std::move(some));
  }
  o.operands = std::move(operands);
  o.ends = std::move(ends);
  o.results = std::move(results);
  return true;
}

}  // namespace argosy::ps
