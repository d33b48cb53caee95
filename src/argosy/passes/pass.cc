#include "argosy/passes/pass.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>

#include "argosy/base/flags.h"

namespace argosy::passes {
namespace {

// The pipelines. Order matters: constants first, since clean-up feeds on them; then what two
// operations have in common; dead code last.
struct Pipeline {
  const char* name;
  std::vector<std::string> passes;
};

const std::vector<Pipeline>& table() {
  static const std::vector<std::string> clean = {"constant_folding", "algebraic", "cse",
                                                 "fuse_slots", "dead_code"};
  auto with = [](std::vector<std::string> first, const std::vector<std::string>& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  };
  static const std::vector<Pipeline> pipelines = {
      {"default", clean},
      {"train", with(clean, {"saved_values", "relu_gradients", "squares", "narrow_losses",
                             "narrow_updates", "dead_code", "narrow_feeds", "recompute",
                             "split_updates", "begin_collectives"})},
      {"inference", with(clean, {"begin_collectives"})},
      // For a model whose parameters are final: into constants, with other rounding.
      {"deploy", with({"dropout_removal", "batch_norm_inference", "conv_batch_norm"}, clean)},
      // The predictor's: of a model as it is loaded, and once more of a plan, whose sizes are
      // known.
      {"load_exact", with({"freeze_state", "dropout_removal", "batch_norm_inference"}, clean)},
      {"load",
       {"freeze_state", "integer_products", "dropout_removal", "batch_norm_inference",
        "conv_batch_norm", "constant_folding", "algebraic", "cse", "dead_code", "fold_affine",
        "recognize_activations", "recognize_norms", "dead_code", "channels_last", "pack_products",
        "cse", "dead_code", "fuse_epilogues", "dead_code"}},
      {"plan", with(clean, {"recognize_activations", "recognize_norms", "fuse_attention",
                            "algebraic", "dead_code", "fuse_epilogues", "dead_code"})},
      // The same for devices: without what arranges or packs weights for kernels of the CPU.
      {"load_device",
       {"freeze_state", "dropout_removal", "batch_norm_inference", "conv_batch_norm",
        "constant_folding", "algebraic", "cse", "dead_code", "fold_affine", "recognize_activations",
        "recognize_norms", "cse", "dead_code"}},
      {"plan_device", with(clean, {"recognize_activations", "recognize_norms", "fuse_attention",
                                   "algebraic", "dead_code"})},
  };
  return pipelines;
}

std::map<std::string_view, Pass>& registry() {
  static std::map<std::string_view, Pass> passes;
  return passes;
}

// The list after what ARGOSY_PASSES says.
std::vector<std::string> switched(std::span<const std::string> names) {
  std::vector<std::string> list(names.begin(), names.end());
  static const flags::Flag& flag = flags::find("ARGOSY_PASSES");
  const std::string text = flag.text();
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string item = text.substr(at, end - at);
    std::erase(item, ' ');
    at = end + 1;
    if (item.empty()) continue;
    const bool off = item[0] == '-';
    const std::string& name = get(item.substr(off || item[0] == '+')).name;
    if (off)
      std::erase(list, name);
    else if (std::find(list.begin(), list.end(), name) == list.end())
      list.push_back(name);
  }
  return list;
}

}  // namespace

std::string_view PassContext::option(std::string_view name, std::string_view otherwise) const {
  for (const auto& [key, value] : options)
    if (key == name) return value;
  return otherwise;
}

int64_t PassContext::number(std::string_view name, int64_t otherwise) const {
  const std::string_view text = option(name);
  if (text.empty()) return otherwise;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  ARGOSY_CHECK(error == std::errc() && end == text.data() + text.size(), invalid_argument)
      << "Option " << name << " of a pass must be a whole number, got '" << text << "'.";
  return value;
}

bool register_pass(const Pass& pass) {
  const bool fresh = registry().emplace(pass.name, pass).second;
  ARGOSY_INVARIANT(fresh);
  return true;
}

std::vector<const Pass*> all() {
  std::vector<const Pass*> list;
  for (const auto& [name, pass] : registry()) list.push_back(&pass);
  return list;
}

const Pass& get(std::string_view name) {
  auto it = registry().find(name);
  if (it != registry().end()) return it->second;
  Message known;
  for (const auto& [other, pass] : registry())
    known << (other == registry().begin()->first ? "" : ", ") << other;
  ARGOSY_THROW(invalid_argument) << "[passes] there is no pass '" << name
                                 << "'. Do this: use one of " << known.str() << '.';
}

std::vector<std::string> pipeline(std::string_view name) {
  for (const Pipeline& p : table())
    if (p.name == name) return p.passes;
  Message known;
  for (const std::string& other : pipelines()) known << ' ' << other;
  ARGOSY_THROW(invalid_argument) << "[passes] there is no pipeline '" << name
                                 << "'. Do this: use one of" << known.str() << '.';
}

std::vector<std::string> pipelines() {
  std::vector<std::string> names;
  for (const Pipeline& p : table()) names.emplace_back(p.name);
  return names;
}

size_t count_operations(const Program& p) {
  size_t count = 0;
  program::each_operation(p.main, [&](Operation&) { ++count; });
  return count;
}

bool run_pipeline(Program& p, std::span<const std::string> names, const PassContext& context,
                  std::vector<PassReport>* reports) {
  static const flags::Flag& verify_flag = flags::find("ARGOSY_VERIFY_PASSES");
#ifdef NDEBUG
  constexpr bool kDebug = false;
#else
  constexpr bool kDebug = true;
#endif
  const bool verify = kDebug || context.verify || verify_flag.boolean();
  bool any = false;
  for (const std::string& name : switched(names)) {
    const Pass& pass = get(name);
    PassReport report{&pass, false, 0, 0, 0, {}, {}};
    if (reports) report.operations_before = count_operations(p);
    if (reports && context.texts) report.before = p.print();
    const auto start = std::chrono::steady_clock::now();
    try {
      report.changed = pass.run(p, context);
      if (report.changed) p.changed();
      if (report.changed && verify) p.verify();
    } catch (const Error& e) {
      throw Error(e.kind(), "In pass " + name + ": " + e.what());
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    any |= report.changed;
    if (!reports) continue;
    report.operations_after = count_operations(p);
    if (report.changed && context.texts)
      report.after = p.print();
    else
      report.before.clear();
    reports->push_back(std::move(report));
  }
  return any;
}

bool optimize_with(Program& p, std::span<const std::string> names, program::Scope* scope,
                   Place place) {
  PassContext context;
  context.inference = true;
  context.scope = scope;
  context.place = place;
  return run_pipeline(p, names, context);
}

bool optimize(Program& p, bool inference, program::Scope* scope, Place place) {
  PassContext context;
  context.inference = inference;
  context.scope = scope;
  context.place = place;
  static const std::vector<std::string> train = pipeline("train"), infer = pipeline("inference");
  return run_pipeline(p, inference ? infer : train, context);
}

}  // namespace argosy::passes
