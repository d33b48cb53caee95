#include "argosy/comm/ops/exchange.h"

#include <map>
#include <string_view>

namespace argosy::comm {
namespace {

constexpr std::string_view kBegin = "_begin";  // X_begin exchanges what X does

std::map<std::string_view, ExchangeOf>& table() {
  static std::map<std::string_view, ExchangeOf> all;
  return all;
}

}  // namespace

bool describe_exchange(const char* op, ExchangeOf fn) {
  return table().emplace(op, fn).second;
}

std::optional<Exchange> exchange_of(const op::OpDef& op, const op::Inputs& in, const void* attrs) {
  std::string_view name = op.name;
  const bool begins = name.ends_with(kBegin);
  if (begins) name.remove_suffix(kBegin.size());
  const auto it = table().find(name);
  if (it == table().end()) return std::nullopt;
  Exchange e = it->second(in, attrs);
  e.begins |= begins;
  return e;
}

Exchange exchange(Kind kind, int64_t group, std::span<const Tensor> tensors, Reduce op,
                  int64_t root) {
  Exchange e;
  e.group = group;
  e.header.group = static_cast<uint32_t>(group);
  e.header.kind = kind;
  e.header.op = op;
  e.header.root = static_cast<int32_t>(root);
  const bool unequal = kind == Kind::alltoall || kind == Kind::all_gather_v;
  for (const Tensor& t : tensors) {
    e.header.dtype = t.dtype();
    if (unequal) continue;  // each rank's own counts
    if (!t.shape().known() || e.header.count == kUnknownCount)
      e.header.count = kUnknownCount;
    else
      e.header.count += static_cast<uint64_t>(t.numel());
  }
  return e;
}

}  // namespace argosy::comm
