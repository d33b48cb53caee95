#include <algorithm>

#include "argosy/infer/paddle/session.h"

// Inputs and outputs as the file declares them: by `feed` and `fetch` in `.pdmodel` files, by
// `data` and `fetch_value` in `.json` files.
namespace argosy::infer::paddle {
namespace {

template <class T>
T attribute_or(const Operation& o, std::string_view name, T otherwise) {
  const auto it = o.attributes.find(name);
  const T* value = it == o.attributes.end() ? nullptr : std::get_if<T>(&it->second);
  return value ? *value : otherwise;
}

std::vector<const Operation*> in_columns(const Block& main, std::string_view type) {
  std::vector<const Operation*> found;
  for (const Operation& o : main.operations)
    if (o.type == type) found.push_back(&o);
  std::ranges::stable_sort(found, {},
                           [](const Operation* o) { return attribute_or(*o, "col", int64_t{0}); });
  return found;
}

// The variable that a slot names; null where there is none.
const Variable* only_variable(const Block& main, const std::vector<std::string>* slot) {
  if (!slot || slot->size() != 1) return nullptr;
  const auto it = main.variables.find(slot->front());
  return it == main.variables.end() ? nullptr : &it->second;
}

Port port_of_data(const Operation& o) {
  Port port{attribute_or(o, "name", std::string("x")),
            dtype_of_number(attribute_or(o, "dtype", number_of_dtype(DType::float32)), "an input"),
            {}};
  const auto sizes = attribute_or(o, "shape", std::vector<int64_t>());
  ARGOSY_CHECK(sizes.size() <= kMaxRank, invalid_argument)
      << "[paddle] input '" << port.name << "' has " << sizes.size() << " dimensions.";
  std::vector<int64_t> shape;
  for (const int64_t d : sizes) shape.push_back(d < 0 ? kUnknown : d);
  port.shape = Shape(std::span<const int64_t>(shape));
  return port;
}

}  // namespace

std::vector<Port> inputs_of(const Graph& graph) {
  const Block& main = graph.blocks[0];
  std::vector<Port> ports;
  for (const Operation& o : main.operations)
    if (o.type == "data") ports.push_back(port_of_data(o));
  for (const Operation* o : in_columns(main, "feed")) {
    const Variable* v = only_variable(main, o->output("Out"));
    if (!v) continue;  // the making of the Program says what is wrong
    ports.push_back({v->name, v->dtype, v->shape});
    if (v->lod_level > 0) ports.push_back({v->name + "@LENGTHS", DType::int64, {kUnknown}});
  }
  return ports;
}

std::vector<Port> outputs_of(const Graph& graph) {
  const Block& main = graph.blocks[0];
  std::vector<Port> ports;
  for (const char* type : {"fetch", "fetch_value"})
    for (const Operation* o : in_columns(main, type)) {
      const std::vector<std::string>* slot = o->input("X");
      const Variable* v = only_variable(main, slot);
      const std::string name = slot && slot->size() == 1 ? slot->front() : "";
      Port port{attribute_or(*o, "name", name), DType::float32, {}, v != nullptr};
      if (v) port.dtype = v->dtype, port.shape = v->shape;
      ports.push_back(std::move(port));
    }
  return ports;
}

}  // namespace argosy::infer::paddle
