#include "argosy/ps/split_optimizer.h"

#include <algorithm>

#include "argosy/passes/rewrite.h"

namespace argosy::ps {
namespace {

using passes::attr;
using passes::find_attr;
using passes::set_attr;
using program::Operation;
using program::Value;
using Values = std::vector<Ref<Value>>;

std::optional<op::UpdateRule> rule_said(const Operation& o) {
  if (!o.op->update_rule) return {};
  op::UpdateRule rule;
  o.op->update_rule(rule, o.attrs.get());
  return rule;
}

// A sum over data is no optimizer's: its table adds what is pushed.
bool sums_data(const Operation& o) {
  const std::optional<op::UpdateRule> rule = rule_said(o);
  return rule && rule->name == "sum";
}

// Optimizer ops: input 0 is the list of parameters, 1 that of gradients.
bool is_optimizer(const Operation& o) {
  if (sums_data(o)) return true;
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
  return sums_data(*e.operation);
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
  if (has_list(o, "masters")) no_rule(e, name, "it keeps master copies of 16-bit parameters");
  const std::optional<op::UpdateRule> said = rule_said(o);
  if (!said) no_rule(e, name, "there is no such rule");
  if (!said->refused.empty()) no_rule(e, name, said->refused);
  rule->rule = rows && !said->rows.empty() ? said->rows : said->name;
  const auto set = [&](const std::string& number, double value) {
    ARGOSY_CHECK(set_number(*rule, number, value), internal)
        << "The rule of '" << o.op->name << "' has no number '" << number << "'.";
  };
  for (const auto& [number, value] : said->numbers) set(number, value);
  for (const auto& [number, list] : said->switches) set(number, has_list(o, list.c_str()));
  rule->decay = static_cast<float>(e.decay());
  // The rate of the Program when it is known: pushes bring the current one anyway.
  if (const auto* lr = find_attr<op::Scalar>(o.attrs, "lr"); lr && !lr->tensor.defined())
    rule->learning_rate = static_cast<float>(lr->real());
}

std::optional<BiasPowers> powers_of(const UpdateEntry& e) {
  const Operation& o = *e.operation;
  const std::optional<op::UpdateRule> said = rule_said(o);
  if (!said || said->powers.empty()) return {};
  ARGOSY_INVARIANT(said->powers.size() == 2);
  const auto state = [&](size_t i) {
    return o
        .operands[range(o, static_cast<size_t>(o.op->find_input(said->powers[i].second))).first +
                  e.place];
  };
  const auto beta = [&](size_t i) {
    for (const auto& [number, value] : said->numbers)
      if (number == said->powers[i].first) return value;
    ARGOSY_THROW(internal) << "The rule of '" << o.op->name << "' has powers of no number.";
  };
  return BiasPowers{state(0), state(1), beta(0), beta(1)};
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
