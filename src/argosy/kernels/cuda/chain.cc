#include "argosy/kernels/cuda/chain.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "argosy/kernels/cuda/walk.h"

namespace argosy::cuda {
namespace {

constexpr size_t kMostSteps = 24;
constexpr int64_t kMostElements = int64_t{1} << 30;

int64_t count_of(const View& v) {
  int64_t n = 1;
  for (int d = 0; d < v.rank; ++d) n *= v.shape[d];
  return n;
}

bool same_shape(const View& a, const View& b) {
  return a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
}

// Of views of one shape: whether each element of one is where that of the other is, from where they
// begin.
bool lie_alike(const View& a, const View& b) {
  for (int d = 0; d < a.rank; ++d)
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

// Every element has a place of its own, as far as strides of 0 tell.
bool is_spread(const View& v) {
  for (int d = 0; d < v.rank; ++d)
    if (v.shape[d] != 1 && v.strides[d] == 0) return false;
  return true;
}

// All bytes from the first that a view has to the last.
struct Range {
  uintptr_t begin, end;
  bool meets(const Range& o) const { return begin < o.end && o.begin < end; }
  bool within(const Range& o) const { return o.begin <= begin && end <= o.end; }
};
Range range_of(const View& v, uint8_t size) {
  int64_t low = 0, high = 1;
  for (int d = 0; d < v.rank; ++d) {
    const int64_t reach = (v.shape[d] - 1) * v.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto at = reinterpret_cast<uintptr_t>(v.data);
  return {at + static_cast<uintptr_t>(low * size), at + static_cast<uintptr_t>(high * size)};
}

bool same_place(const View& a, uint8_t a_size, const View& b, uint8_t b_size) {
  return a.data == b.data && a_size == b_size && lie_alike(a, b);
}

// One group after the other, each as long as possible.
class Grouping {
 public:
  explicit Grouping(std::span<const ChainStep> steps) : steps_(steps) {}

  std::vector<ChainGroup> run() {
    for (size_t i = 0; i < steps_.size(); ++i)
      if (!take(i)) {
        close();
        take(i);
      }
    close();
    return std::move(groups_);
  }

 private:
  using Operands = std::vector<ChainGroup::Operand>;
  // What a step would add to the group.
  struct Addition {
    std::vector<ChainGroup::Source> sources;
    Operands operands;
    std::vector<size_t> gone;  // operands whose memory it takes
  };

  // Appends the step, if it may run with those before it. The first of a group always may.
  bool take(size_t i) {
    const ChainStep& s = steps_[i];
    const bool first = open_.size() == 0;
    if (first) {
      open_ = ChainGroup{};
      open_.begin = open_.end = i;
      alone_ = false;
    }
    if (!first && (alone_ || open_.size() == kMostSteps || !same_shape(s.result(), shape())))
      return false;
    std::optional<Addition> added = addition(i);
    if (!added) {
      if (!first) return false;
      alone_ = true;  // what it reads and writes overlaps: left to its kernel
      open_.end = i + 1;
      return true;
    }
    if (!first && operands_with(*added) > kChainOperands) return false;
    open_.operands.insert(open_.operands.end(), added->operands.begin(), added->operands.end());
    open_.sources.insert(open_.sources.end(), added->sources.begin(), added->sources.end());
    for (const size_t o : added->gone) open_.operands[o].gone = true;
    write(s, static_cast<int>(i - open_.begin));
    open_.end = i + 1;
    return true;
  }

  const View& shape() const { return steps_[open_.begin].result(); }

  std::optional<Addition> addition(size_t i) const {
    const ChainStep& s = steps_[i];
    Addition added;
    const int inputs = s.op->inputs;
    const View& y = s.result();
    const uint8_t y_size = s.op->sizes[inputs];
    if (!is_spread(y)) return {};
    const Range written = range_of(y, y_size);
    for (int k = 0; k < inputs; ++k) {
      const View& x = s.operands[k];
      const uint8_t size = s.op->sizes[k];
      if (!same_shape(x, y)) return {};
      const Range read = range_of(x, size);
      if (read.meets(written) && !same_place(x, size, y, y_size)) return {};
      ChainGroup::Source source;
      for (size_t o = 0; o < open_.operands.size(); ++o) {
        const ChainGroup::Operand& at = open_.operands[o];
        if (at.written_by < 0 || at.gone) continue;
        if (same_place(*at.view, at.size, x, size))
          source.step = at.written_by;
        else if (range_of(*at.view, at.size).meets(read))
          return {};
      }
      if (source.step < 0) source.operand = operand_of(added, x, s.op->types[k], size);
      added.sources.push_back(source);
    }
    const auto in_the_way = [&](const ChainGroup::Operand& at) {
      return !at.gone && !same_place(*at.view, at.size, y, y_size) &&
             range_of(*at.view, at.size).meets(written);
    };
    if (std::ranges::any_of(added.operands, in_the_way)) return {};
    for (size_t o = 0; o < open_.operands.size(); ++o) {
      if (!in_the_way(open_.operands[o])) continue;
      if (!is_over(open_.operands[o], i)) return {};
      added.gone.push_back(o);
    }
    return added;
  }

  // Whether the operand is a result that nobody reads any more when step i has written over it.
  bool is_over(const ChainGroup::Operand& at, size_t i) const {
    if (at.read || !steps_[open_.begin + static_cast<size_t>(at.written_by)].unread) return false;
    const uint8_t size = steps_[i].op->sizes[steps_[i].op->inputs];
    const Range range = range_of(*at.view, at.size), written = range_of(steps_[i].result(), size);
    const auto bytes = static_cast<uintptr_t>(count_of(steps_[i].result()) * size);
    if (written.end - written.begin != bytes) return false;  // there are gaps
    for (size_t later = i + 1; later < steps_.size(); ++later)
      for (int k = 0; k < steps_[later].op->inputs; ++k) {
        const Range read = range_of(steps_[later].operands[k], steps_[later].op->sizes[k]);
        if (read.meets(range) && !read.within(written)) return false;
      }
    return true;
  }

  // The number of the operand that is read there, as that type; a new one if there is none.
  int operand_of(Addition& added, const View& x, const char* type, uint8_t size) const {
    int number = 0;
    for (const Operands* list : {&open_.operands, static_cast<const Operands*>(&added.operands)})
      for (const ChainGroup::Operand& at : *list) {
        if (at.read && !std::strcmp(at.type, type) && same_place(*at.view, at.size, x, size))
          return number;
        ++number;
      }
    added.operands.push_back({&x, type, size, 0, true, -1});
    return number;
  }

  // The result's place has the value of this step from now on.
  void write(const ChainStep& s, int step) {
    const uint8_t size = s.op->sizes[s.op->inputs];
    const char* type = s.op->types[s.op->inputs];
    for (ChainGroup::Operand& at : open_.operands)
      if (at.written_by >= 0 && !at.gone && same_place(*at.view, at.size, s.result(), size)) {
        at.written_by = step;
        at.type = type;
        return;
      }
    open_.operands.push_back({&s.result(), type, size, 0, false, step});
  }

  int operands_with(const Addition& added) const {
    int count = static_cast<int>(added.operands.size()) + 1;
    for (const ChainGroup::Operand& at : open_.operands)
      count +=
          at.read || (!at.gone && !steps_[open_.begin + static_cast<size_t>(at.written_by)].unread);
    return count;
  }

  // Whether a step behind the group reads what the operand has.
  bool read_later(const ChainGroup::Operand& at) const {
    const Range written = range_of(*at.view, at.size);
    for (size_t i = open_.end; i < steps_.size(); ++i)
      for (int k = 0; k < steps_[i].op->inputs; ++k)
        if (range_of(steps_[i].operands[k], steps_[i].op->sizes[k]).meets(written)) return true;
    return false;
  }

  void close() {
    if (open_.size() == 0) return;
    drop_unread();
    if (alone_ || !find_forms()) {
      for (size_t i = open_.begin; i < open_.end; ++i) {
        ChainGroup one;
        one.begin = i;
        one.end = i + 1;
        groups_.push_back(one);
      }
    } else {
      groups_.push_back(std::move(open_));
    }
    open_ = ChainGroup{};
  }

  // Results that nobody will read are not written.
  void drop_unread() {
    std::vector<int> number(open_.operands.size(), -1);
    std::vector<ChainGroup::Operand> kept;
    for (size_t o = 0; o < open_.operands.size(); ++o) {
      ChainGroup::Operand& at = open_.operands[o];
      const bool written = at.written_by >= 0;
      const bool unread =
          at.gone || (written && steps_[open_.begin + static_cast<size_t>(at.written_by)].unread &&
                      !read_later(at));
      if (unread) continue;
      number[o] = static_cast<int>(kept.size());
      kept.push_back(at);
    }
    for (ChainGroup::Source& s : open_.sources)
      if (s.operand >= 0) s.operand = number[static_cast<size_t>(s.operand)];
    open_.operands = std::move(kept);
  }

  // That of the first step's result comes first. False: there are too many.
  bool find_forms() {
    if (open_.operands.size() > static_cast<size_t>(kChainOperands)) return false;
    open_.forms.push_back(&shape());
    for (ChainGroup::Operand& at : open_.operands) {
      const auto found = std::ranges::find_if(
          open_.forms, [&](const View* form) { return lie_alike(*form, *at.view); });
      at.form = static_cast<int>(found - open_.forms.begin());
      if (found == open_.forms.end()) open_.forms.push_back(at.view);
    }
    return open_.forms.size() <= static_cast<size_t>(kChainForms);
  }

  const std::span<const ChainStep> steps_;
  std::vector<ChainGroup> groups_;
  ChainGroup open_;
  bool alone_ = false;  // nothing may join
};

// Whether packs of so many elements fit where the operands lie.
bool packs_fit(const ChainGroup& group, const Merged& m, int pack) {
  const int last = m.rank - 1;
  if (m.rank > 1 ? m.shape[last] % pack : m.shape[0] < pack) return false;
  for (const ChainGroup::Operand& at : group.operands) {
    const int64_t inner = m.strides[last][at.form];
    if (inner != 1 && (inner != 0 || at.written_by >= 0)) return false;
    if (inner == 0) continue;
    const auto bytes = static_cast<uintptr_t>(at.size) * static_cast<uintptr_t>(pack);
    if (reinterpret_cast<uintptr_t>(at.view->data) % bytes) return false;
    for (int d = 0; d < last; ++d)
      if (m.strides[d][at.form] % pack) return false;
  }
  return true;
}

int widest_pack(const ChainGroup& group, bool light) {
  int size = 2;  // no more than 8 elements
  for (const ChainGroup::Operand& at : group.operands) size = std::max<int>(size, at.size);
  return size >= 16 || (size == 8 && !light) ? 1 : 16 / size;
}

}  // namespace

std::vector<ChainGroup> chain_groups(std::span<const ChainStep> steps) {
  return Grouping(steps).run();
}

bool chain_form(std::span<const ChainStep> steps, const ChainGroup& group, ChainForm& form) {
  View forms[kChainForms];
  const int count = static_cast<int>(group.forms.size());
  for (int k = 0; k < count; ++k) forms[k] = *group.forms[static_cast<size_t>(k)];
  const int64_t n = count_of(forms[0]);
  if (n == 0 || n > kMostElements) return false;
  const Merged m = merged(forms, count, 0);
  if (m.rank > kChainRank) return false;
  const auto own = steps.subspan(group.begin, group.size());
  const bool light = std::ranges::all_of(own, [](const ChainStep& s) { return s.op->light; });
  form = ChainForm{};
  form.pack = widest_pack(group, light);
  while (form.pack > 1 && !packs_fit(group, m, form.pack)) form.pack /= 2;
  form.rank = m.rank;
  const int last = m.rank - 1;
  form.args.items = static_cast<uint32_t>(n / form.pack);
  form.args.rest = static_cast<uint32_t>(n % form.pack);
  form.rest = form.args.rest != 0;
  for (int d = 0; d < m.rank; ++d) {
    const int64_t size = d == last ? m.shape[d] / form.pack : m.shape[d];
    if (d) form.args.size[d] = Divider(static_cast<uint32_t>(size));
    for (int k = 0; k < count; ++k)
      form.args.strides[d][k] = m.strides[d][k] * (d == last ? form.pack : 1);
  }
  int bytes = 0;
  for (int k = 0; k < count; ++k) form.repeats[k] = form.pack > 1 && m.strides[last][k] == 0;
  for (const ChainGroup::Operand& at : group.operands)
    if (at.read && !form.repeats[at.form]) bytes += at.size * form.pack;
  form.flight = light && bytes < 32 ? 2 : 1;
  for (size_t o = 0; o < group.operands.size(); ++o)
    form.args.data[o] = group.operands[o].view->data;
  size_t slot = 0;
  for (const ChainStep& s : own)
    if (s.has_params) {
      if (slot == static_cast<size_t>(kChainNumbers)) return false;
      std::copy_n(s.numbers, sizeof s.numbers, form.args.numbers[slot++].bytes);
    }
  return true;
}

}  // namespace argosy::cuda
