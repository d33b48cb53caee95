#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/program/program.h"

// Passes rewrite a Program into one that does the same in a better way. A pass is one file of this
// folder, which registers itself (ARGOSY_PASS); pipelines are lists of names (pass.cc).
//
// What a run of the Program is asked for are its `outputs`: whoever fetches other values adds them
// there first, since passes may replace any other value. Passes work on Programs that are about to
// be run: differentiate first.
namespace argosy::passes {

using program::Operation;
using program::Program;
using program::Value;

struct ARGOSY_API PassContext {
  bool inference = false;           // the run keeps nothing for a gradient
  program::Scope* scope = nullptr;  // where state without a tensor has its value; may be null
  Place place;
  bool verify = false;  // check the Program after each pass, as ARGOSY_VERIFY_PASSES does
  bool texts = false;   // report the Program before and after each pass that changed it
  // Nobody else looks at `scope`: the tensor of what becomes a constant leaves it.
  bool owns_scope = false;
  // Of single passes, "pass.option" = value, see the docs of each.
  std::vector<std::pair<std::string, std::string>> options;

  // The value of an option, or `otherwise`.
  std::string_view option(std::string_view name, std::string_view otherwise = {}) const;
  int64_t number(std::string_view name, int64_t otherwise) const;
};

// What results of a pass may differ by from those without it.
enum class Rounding : uint8_t {
  kept,     // not in a bit
  changed,  // as by computing in another order
  meaning,  // it computes something else, as its doc says
};

struct Pass {
  const char* name;
  Rounding rounding;
  const char* doc;  // what it does and what it preserves
  bool (*run)(Program&, const PassContext&);
  const char* file;
};

// All passes by name, sorted.
ARGOSY_API std::vector<const Pass*> all();
// Throws, listing near names.
ARGOSY_API const Pass& get(std::string_view name);

// What one pass did.
struct PassReport {
  const Pass* pass;
  bool changed;
  double seconds;
  size_t operations_before, operations_after;
  std::string before, after;  // if PassContext::texts and it changed something
};

// Names of a pipeline: "train", "inference", "default" (what both have), and "deploy", for models
// whose state is final.
ARGOSY_API std::vector<std::string> pipeline(std::string_view name);
ARGOSY_API std::vector<std::string> pipelines();

// Runs passes in order. ARGOSY_PASSES="-cse,+remat" takes passes out of (or adds them at the end
// of) every list given here. True if anything changed.
ARGOSY_API bool run_pipeline(Program& p, std::span<const std::string> names,
                             const PassContext& context,
                             std::vector<PassReport>* reports = nullptr);

// The usual passes, for a Program that is about to be run, on `place`.
ARGOSY_API bool optimize(Program& p, bool inference, program::Scope* scope = nullptr,
                         Place place = {});

// Passes by name, for a Program that computes no gradients.
ARGOSY_API bool optimize_with(Program& p, std::span<const std::string> names, program::Scope* scope,
                              Place place);

ARGOSY_API size_t count_operations(const Program& p);

// Marks segments for the pass recompute: forward operations of the main block, each segment up to
// the operation that makes one of `ends` (its checkpoint). What is fed, is state, or comes after
// the last checkpoint belongs to none, nor does what has a segment already.
ARGOSY_API void mark_segments(Program& p, std::span<const Ref<Value>> ends);

ARGOSY_API bool register_pass(const Pass& pass);

// At namespace scope of a pass's file: ARGOSY_PASS(cse, Rounding::kept, "doc", run).
#define ARGOSY_PASS(pass_name, rounding, doc, run)                      \
  [[maybe_unused]] static const bool argosy_registered_##pass_name##_ = \
      ::argosy::passes::register_pass({#pass_name, rounding, doc, run, __FILE__});

}  // namespace argosy::passes
