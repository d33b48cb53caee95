#include "argosy/program/model.h"

#include <map>

#include "argosy/base/file.h"
#include "argosy/program/serialize.h"
#include "argosy/program/weights.h"

namespace argosy::program {

void save_model(const Program& program, const std::string& prefix, const Scope* scope) {
  NamedTensors weights;
  const std::string bytes = serialize(program, &weights);
  const std::vector<std::string> names = state_names(program);
  for (size_t i = 0; i < names.size(); ++i) {
    const State& s = *program.states[i].state;
    Tensor t = s.tensor;
    if (!t.defined() && scope)
      if (Variable* v = scope->find(s.name)) t = v->tensor;
    ARGOSY_CHECK(t.defined() || !s.persistable, runtime)
        << "'" << s.name << "' (" << s.dtype << s.shape
        << ") cannot be saved: it has no value in this scope. Do this: run the startup program "
           "first, or pass the scope that has it.";
    // What is made anew in each run need not be kept; what an eager tensor holds must.
    if (s.persistable || s.tensor.defined()) weights.emplace_back(names[i], t);
  }
  OutputFile values(followed(prefix + ".safetensors")), text(followed(prefix + ".argosy"));
  write_weights(values, weights);
  text.write(bytes);
  // Both are on the disk before the first of an old pair is replaced.
  values.sync();
  text.sync();
  values.commit();
  text.commit();
}

Model with_weights(std::shared_ptr<Program> program, const NamedTensors& weights,
                   const std::string& file) {
  Model m{std::move(program), std::make_shared<Scope>()};
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, t] : weights) by_name.emplace(name, &t);
  for (const StateUse& use : m.program->states) {
    const State& s = *use.state;
    const auto it = by_name.find(s.name);
    const Tensor* found = it == by_name.end() ? nullptr : it->second;
    if (!found && !s.persistable) continue;
    ARGOSY_CHECK(found, not_found)
        << "'" << file << "' has no '" << s.name << "' (" << s.dtype << s.shape
        << "), which the Program needs. Do this: keep the two files of a saved model together.";
    bool fits = found->dtype() == s.dtype && found->rank() == s.shape.rank();
    for (int d = 0; fits && d < s.shape.rank(); ++d)
      fits = s.shape[d] == kUnknown || s.shape[d] == found->dim(d);
    ARGOSY_CHECK(fits, invalid_argument)
        << "'" << file << "' does not belong to the Program beside it: '" << s.name << "' must be "
        << s.dtype << s.shape << ", is " << *found << '.';
    Variable& v = m.scope->var(s.name);
    v.tensor = *found;
    v.tensor.impl()->persistable = s.persistable;
    v.tensor.impl()->name = std::make_unique<std::string>(s.name);
    v.tensor.set_stop_gradient(!s.trainable);
  }
  return m;
}

Model load_model(const std::string& prefix) {
  const std::string bytes = read_file(prefix + ".argosy");
  const NamedTensors weights = load_weights(prefix + ".safetensors");
  return with_weights(deserialize(bytes, weights), weights, prefix + ".safetensors");
}

}  // namespace argosy::program
