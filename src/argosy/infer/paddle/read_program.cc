#include "argosy/infer/paddle/graph.h"
#include "framework.pb.h"

// .pdmodel and __model__: Protobuf.
namespace argosy::infer::paddle {
namespace {

constexpr int kMaxNesting = 64;

template <class To, class From>
std::vector<To> list_of(const From& from) {
  return std::vector<To>(from.begin(), from.end());
}

double number(const file::Scalar& s) {
  if (s.type() == 1) return s.b();
  return s.type() == 2 ? static_cast<double>(s.i()) : s.r();
}

Attribute attribute_of(const file::Attribute& a) {
  switch (a.type()) {
    case 0:
      return int64_t{a.i()};
    case 1:
      return static_cast<double>(a.f());
    case 2:
      return a.s();
    case 3:
      return list_of<int64_t>(a.ints());
    case 4:
      return list_of<double>(a.floats());
    case 5:
      return list_of<std::string>(a.strings());
    case 6:
      return a.b();
    case 7:
      return list_of<int64_t>(a.bools());
    case 8:
      return Blocks{{a.block_idx()}};
    case 9:
      return a.l();
    case 10:
      return Blocks{list_of<int64_t>(a.blocks_idx())};
    case 11:
      return list_of<int64_t>(a.longs());
    case 12:
      return list_of<double>(a.float64s());
    case 15:
      return a.float64();
    case 16:
      if (a.scalar().type() == 1) return a.scalar().b();
      if (a.scalar().type() == 2) return a.scalar().i();
      return number(a.scalar());
    case 17: {
      std::vector<double> values;
      for (const file::Scalar& s : a.scalars()) values.push_back(number(s));
      return values;
    }
    default:
      return {};
  }
}

Slots slots_of(const google::protobuf::RepeatedPtrField<file::Slot>& from) {
  Slots slots;
  for (const file::Slot& s : from)
    slots.emplace_back(s.parameter(), list_of<std::string>(s.arguments()));
  return slots;
}

Operation operation_of(const file::Operation& from) {
  Operation o;
  o.type = from.type();
  o.inputs = slots_of(from.inputs());
  o.outputs = slots_of(from.outputs());
  for (const file::Attribute& a : from.attrs()) {
    // An attribute that variables give is an input of that name.
    if (a.type() == 13)
      o.inputs.push_back({a.name(), {a.var_name()}});
    else if (a.type() == 14)
      o.inputs.push_back({a.name(), list_of<std::string>(a.vars_name())});
    else
      o.attributes[a.name()] = attribute_of(a);
  }
  return o;
}

Variable variable_of(const file::Variable& from) {
  Variable v;
  v.name = from.name();
  v.persistable = from.persistable();
  v.parameter = from.is_parameter();
  const file::VariableType& type = from.type();
  v.kind = type.type();
  const file::DenseTensorDesc& desc = v.kind == kLodTensorArray ? type.array() : type.dense();
  v.lod_level = desc.lod_level();
  const file::TensorDesc& tensor = v.kind == kSelectedRows ? type.selected_rows() : desc.tensor();
  ARGOSY_CHECK(tensor.dims_size() <= kMaxRank, invalid_argument)
      << "[paddle] variable '" << v.name << "' has " << tensor.dims_size() << " dimensions.";
  for (const int64_t d : tensor.dims()) v.shape.push_back(d < 0 ? kUnknown : d);
  if (v.kind == kLodTensor || v.kind == kSelectedRows || v.kind == kLodTensorArray) {
    try {
      v.dtype = dtype_of_number(tensor.data_type(), v.name);
      v.typed = true;
    } catch (const Error&) {  // wrong only if it is used
    }
  }
  return v;
}

void check_nesting(const Graph& g) {
  for (size_t i = 0; i < g.blocks.size(); ++i) {
    int depth = 0;
    for (int64_t at = static_cast<int64_t>(i); at >= 0;
         at = g.blocks[static_cast<size_t>(at)].parent)
      ARGOSY_CHECK(++depth <= kMaxNesting, invalid_argument)
          << "[paddle] block " << i << " is nested more than " << kMaxNesting << " deep.";
  }
  for (size_t i = 0; i < g.blocks.size(); ++i)
    for (const Operation& o : g.blocks[i].operations)
      for (const auto& [name, value] : o.attributes)
        if (const auto* blocks = std::get_if<Blocks>(&value))
          for (const int64_t b : blocks->indices)
            ARGOSY_CHECK(b > 0 && static_cast<size_t>(b) < g.blocks.size() &&
                             g.blocks[static_cast<size_t>(b)].parent == static_cast<int64_t>(i),
                         invalid_argument)
                << "[paddle] " << o.type << " in block " << i << " owns block " << b
                << ", which is not inside of it.";
}

}  // namespace

Graph read_program(std::string_view bytes) {
  file::Program program;
  ARGOSY_CHECK(bytes.size() < size_t{1} << 31 &&
                   program.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
                   program.blocks_size() > 0,
               invalid_argument)
      << "[paddle] this is no Program of Paddle (.pdmodel or __model__).";
  Graph g;
  g.version = program.version().version();
  for (const file::Block& from : program.blocks()) {
    Block b;
    b.parent = from.parent_idx();
    ARGOSY_CHECK(g.blocks.empty() || (b.parent >= 0 && b.parent < program.blocks_size()),
                 invalid_argument)
        << "[paddle] the parent of block " << g.blocks.size() << " is block " << b.parent
        << ", which is not there.";
    if (g.blocks.empty()) b.parent = -1;
    for (const file::Variable& v : from.vars()) b.variables[v.name()] = variable_of(v);
    for (const file::Operation& o : from.ops()) b.operations.push_back(operation_of(o));
    g.blocks.push_back(std::move(b));
  }
  check_nesting(g);
  return g;
}

}  // namespace argosy::infer::paddle
