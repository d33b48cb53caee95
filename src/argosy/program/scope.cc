#include "argosy/program/scope.h"

#include <algorithm>
#include <functional>
#include <map>

namespace argosy::program {

struct Scope::Table {
  std::map<std::string, std::unique_ptr<Variable>, std::less<>> by_name;
  std::vector<Variable*> order;
};

Scope::Scope(std::shared_ptr<Scope> parent)
    : parent_(std::move(parent)), table_(std::make_unique<Table>()) {}
Scope::~Scope() = default;

Variable* Scope::find_local(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto it = table_->by_name.find(name);
  return it == table_->by_name.end() ? nullptr : it->second.get();
}

Variable* Scope::find(std::string_view name) const {
  for (const Scope* s = this; s; s = s->parent_.get())
    if (Variable* v = s->find_local(name)) return v;
  return nullptr;
}

Variable& Scope::local(std::string_view name) {
  std::lock_guard lock(mutex_);
  auto it = table_->by_name.find(name);
  if (it == table_->by_name.end()) {
    it = table_->by_name.emplace(name, std::make_unique<Variable>()).first;
    it->second->name = name;
    table_->order.push_back(it->second.get());
  }
  return *it->second;
}

Variable& Scope::var(std::string_view name) {
  Variable* found = find(name);
  return found ? *found : local(name);
}

bool Scope::erase(std::string_view name) {
  std::lock_guard lock(mutex_);
  auto it = table_->by_name.find(name);
  if (it == table_->by_name.end()) return false;
  std::erase(table_->order, it->second.get());
  table_->by_name.erase(it);
  return true;
}

std::vector<std::string> Scope::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> list;
  for (const Variable* v : table_->order) list.push_back(v->name);
  return list;
}

}  // namespace argosy::program
