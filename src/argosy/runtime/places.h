#pragma once

#include <map>
#include <optional>
#include <vector>

#include "argosy/program/program.h"

namespace argosy::runtime {

// Whether its results are on a place of its own choice (OpDef::result_place).
bool moves(const program::Operation& o);

// Where the values of a Program are when it runs on `place`: there, unless some operation says that
// its results are elsewhere (moves). Then what is computed of a value is where that is, and state
// may be anywhere. Constants are where they are used: the Program gets one for each place.
class Places {
 public:
  // Throws not_implemented where a value of another place goes into or out of an `if` or `while`.
  Places(program::Program& p, Place place, program::Scope* scope);

  bool several() const { return !elsewhere_.empty(); }
  Place of(const program::Value& v) const { return several() ? elsewhere_[v.id] : place_; }
  // All places that values are on, that of the run first.
  std::vector<Place> all() const;
  // Where its kernel is called; nothing if its operands or its results are on several places, or
  // an operand that it reads on the host is on a device and the others are not.
  std::optional<Place> runs_on(const program::Operation& o) const;

 private:
  void visit(program::Operation& o);
  void visit(program::Block& b);
  Place find_place(const program::Operation& o) const;
  bool is_constant(const program::Value& v) const { return constants_.contains(v.id); }
  Ref<program::Value> constant_at(const program::Value& v, Place place);
  void need_here(const program::Operation& o, const Ref<program::Value>& v) const;

  program::Program& p_;
  const Place place_;
  std::vector<Place> elsewhere_;          // by id; empty if all are at place_
  std::map<uint32_t, size_t> constants_;  // id, which of the Program's
};

}  // namespace argosy::runtime
