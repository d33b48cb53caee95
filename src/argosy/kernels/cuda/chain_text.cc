#include <cstring>
#include <sstream>

#include "argosy/kernels/cuda/chain.h"

namespace argosy::cuda {
namespace {

// Which results steps of the group read.
std::vector<bool> used_again(const ChainGroup& group) {
  std::vector<bool> used(group.size());
  for (const ChainGroup::Source& s : group.sources)
    if (s.step >= 0) used[static_cast<size_t>(s.step)] = true;
  return used;
}

const char* result_type(const ChainStep& s) {
  return s.op->types[s.op->inputs];
}

void write_step(std::ostream& out, std::span<const ChainStep> own, const ChainGroup& group,
                size_t i, size_t source, size_t& slot, bool used) {
  const ChainStep& s = own[i];
  const char* result = result_type(s);
  out << "      const auto v" << i << " = ";
  if (used) out << "apart<" << result << ">(c, ";
  out << "stepped<" << s.op->name;
  if (s.op->names_result) out << '<' << result << '>';
  out << ", " << result << ">(";
  if (s.has_params)
    out << "numbers<" << s.op->number << ", " << slot++ << ">(c)";
  else
    out << "Numbers<" << s.op->number << ">{}";
  for (int k = 0; k < s.op->inputs; ++k) {
    const ChainGroup::Source& from = group.sources[source + static_cast<size_t>(k)];
    if (from.step < 0) {
      out << ", load(in.m" << from.operand << ".at[j])";
      continue;
    }
    out << ", read_as<" << s.op->types[k] << ", "
        << result_type(own[static_cast<size_t>(from.step)]) << ">(v" << from.step << ')';
  }
  out << (used ? "));\n" : ");\n");
}

}  // namespace

std::string chain_key(std::span<const ChainStep> steps, const ChainGroup& group,
                      const ChainForm& form) {
  std::string key;
  const auto put = [&](int v) { key += static_cast<char>(v); };
  for (const ChainStep& s : steps.subspan(group.begin, group.size())) {
    key.append(reinterpret_cast<const char*>(&s.op), sizeof s.op);
    put(s.has_params);
  }
  for (const ChainGroup::Source& s : group.sources) put(s.step < 0 ? s.operand : 128 + s.step);
  for (const ChainGroup::Operand& at : group.operands) {
    put(at.form);
    put(at.read);
    put(at.written_by + 1);
  }
  for (const int v : {form.pack, form.flight, form.rank, int{form.rest}}) put(v);
  for (const bool repeats : form.repeats) put(repeats);
  put(static_cast<int>(group.forms.size()));
  return key;
}

std::string chain_text(std::span<const ChainStep> steps, const ChainGroup& group,
                       const ChainForm& form) {
  const auto own = steps.subspan(group.begin, group.size());
  const auto forms = group.forms.size();
  std::ostringstream out;
  out << "#include \"argosy/kernels/cuda/chain_ops.cuh\"\nnamespace argosy::cuda {\n"
         "struct Chain {\n  template <int n>\n  struct In {\n";
  for (size_t o = 0; o < group.operands.size(); ++o)
    if (group.operands[o].read)
      out << "    Pack<" << group.operands[o].type << ", n> m" << o << ";\n";
  const auto head = [&](const char* name, const char* in) {
    out << "  template <int n>\n  static __device__ __forceinline__ void " << name
        << "(const ChainArgs& c, const ChainPlace<" << forms << ">& at, " << in << ") {\n";
  };
  out << "  };\n";
  head("fetch", "In<n>& in");
  for (size_t o = 0; o < group.operands.size(); ++o) {
    const ChainGroup::Operand& at = group.operands[o];
    if (at.read)
      out << "    in.m" << o << " = " << (form.repeats[at.form] ? "repeated<" : "pack_of<")
          << at.type << ", n>(c.data[" << o << "], at.of[" << at.form << "]);\n";
  }
  out << "  }\n";
  head("finish", "const In<n>& in");
  for (size_t o = 0; o < group.operands.size(); ++o)
    if (group.operands[o].written_by >= 0)
      out << "    Pack<" << group.operands[o].type << ", n> o" << o << ";\n";
  out << "#pragma unroll\n    for (int j = 0; j < n; ++j) {\n";
  const std::vector<bool> used = used_again(group);
  size_t source = 0, slot = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    write_step(out, own, group, i, source, slot, used[i]);
    source += static_cast<size_t>(own[i].op->inputs);
  }
  for (size_t o = 0; o < group.operands.size(); ++o)
    if (group.operands[o].written_by >= 0)
      out << "      o" << o << ".at[j] = store<" << group.operands[o].type << ">(v"
          << group.operands[o].written_by << ");\n";
  out << "    }\n";
  for (size_t o = 0; o < group.operands.size(); ++o)
    if (group.operands[o].written_by >= 0)
      out << "    put<" << group.operands[o].type << ", n>(c.data[" << o << "], at.of["
          << group.operands[o].form << "], o" << o << ");\n";
  out << "  }\n};\n}  // namespace argosy::cuda\nextern \"C\" __global__ void __launch_bounds__("
      << kChainThreads
      << ")\n    chain(const __grid_constant__ argosy::cuda::ChainArgs c) {\n"
         "  argosy::cuda::run_chain<argosy::cuda::Chain, "
      << form.pack << ", " << form.flight << ", " << form.rank << ", " << forms << ", "
      << (form.rest ? "true" : "false") << ">(c);\n}\n";
  return out.str();
}

}  // namespace argosy::cuda
