#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace argosy::infer {

// What something was made for: sizes, numbers of dimensions, values, in an order that its maker
// knows.
using Form = std::vector<int64_t>;

// The values used last, by what they were made for. Not thread safe.
template <class Value>
class Recent {
 public:
  explicit Recent(size_t capacity) : capacity_(capacity) {}

  // A default Value where there is none.
  Value find(const Form& form) {
    const auto it = entries_.find(form);
    if (it == entries_.end()) return {};
    order_.splice(order_.begin(), order_, it->second.place);
    return it->second.value;
  }

  // What is there for `form` from now on: the value, or the one that another thread was faster
  // with. *dropped gets what has no place any more, to be destroyed outside of locks.
  Value insert(const Form& form, Value value, Value* dropped) {
    const auto [it, fresh] = entries_.try_emplace(form);
    if (!fresh) return it->second.value;
    order_.push_front(form);
    it->second = {value, order_.begin()};
    if (entries_.size() > capacity_) {
      const auto oldest = entries_.find(order_.back());
      *dropped = std::move(oldest->second.value);
      entries_.erase(oldest);
      order_.pop_back();
    }
    return value;
  }

  // The value used last, or a default one.
  Value newest() const { return order_.empty() ? Value() : entries_.at(order_.front()).value; }
  size_t size() const { return entries_.size(); }

 private:
  struct Hash {
    size_t operator()(const Form& form) const {
      uint64_t h = form.size();
      for (int64_t v : form)
        h = (h ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
      return h;
    }
  };
  struct Entry {
    Value value;
    std::list<Form>::iterator place;
  };
  size_t capacity_;
  std::list<Form> order_;  // newest first
  std::unordered_map<Form, Entry, Hash> entries_;
};

}  // namespace argosy::infer
