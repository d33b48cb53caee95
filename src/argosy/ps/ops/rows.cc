#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "argosy/op/define.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ps/distinct.h"
#include "argosy/ps/remote.h"

// Rows of tables that this process does not own: ps_pull_rows, ps_push_rows.
//
// A pull gives the rows of a table that the ids name, each once, and for each id its place among
// them. Operations on embeddings go on with places and rows as with ids and a parameter, so
// whatever makes these fast does so for rows of servers.
namespace argosy::ps {
namespace {

using op::InferContext;
using op::KernelFrame;

uint64_t key_at(const Tensor& ids, int64_t i) {
  return ids.dtype() == DType::int64 ? static_cast<uint64_t>(ids.data<int64_t>()[i])
                                     : static_cast<uint64_t>(int64_t{ids.data<int32_t>()[i]});
}

struct PullAttrs {
  std::vector<int64_t> tables, widths;
  std::vector<int64_t> counts;    // how many lists of ids each table has
  std::vector<int64_t> paddings;  // empty, or for each list the id whose row is zeros, -1 for none
  bool training = true;           // makes rows that are not there
};
ARGOSY_ATTRS(PullAttrs, tables, widths, counts, paddings, training)

// With paddings the first row of each table is zeros, and the place of all that is padding.
int64_t reserved(const PullAttrs& a) {
  return a.paddings.empty() ? 0 : 1;
}

// Which lists of ids are of which table.
void check_lists(const InferContext& c, const PullAttrs& a) {
  const size_t ids = c.in.list(0).size(), tables = a.tables.size();
  int64_t lists = 0, least = 0;
  for (int64_t n : a.counts) {
    least = std::min(least, n);
    lists += std::min<int64_t>(n, std::numeric_limits<int32_t>::max());
  }
  ARGOSY_CHECK(
      tables && a.counts.size() == tables && least == 0 && lists == static_cast<int64_t>(ids),
      invalid_argument)
      << '[' << c.name() << "] counts must have a number for each of the " << tables
      << " tables, and counts add up to the " << ids << " lists of ids; got " << a.counts.size()
      << " numbers, which add up to " << lists << '.';
  ARGOSY_CHECK(a.paddings.empty() || a.paddings.size() == ids, invalid_argument)
      << '[' << c.name() << "] paddings must be empty or have a number for each of the " << ids
      << " lists of ids, got " << a.paddings.size() << '.';
}

void pull_infer(InferContext& c, const PullAttrs& a) {
  const auto ids = c.in.list(0);
  const size_t tables = a.tables.size();
  check_lists(c, a);
  ARGOSY_CHECK(a.widths.size() == tables, invalid_argument)
      << "[ps_pull_rows] widths must have a number for each of the " << tables << " tables, got "
      << a.widths.size() << '.';
  c.out.resize(2 * tables + ids.size());
  for (size_t t = 0; t < tables; ++t) {
    ARGOSY_CHECK(a.widths[t] > 0, invalid_argument)
        << "[ps_pull_rows] widths must be positive, got " << a.widths[t] << '.';
    c.out[t] = {Shape{kUnknown, a.widths[t]}, DType::float32};
    c.out[tables + t] = {Shape{kUnknown}, DType::int64};
  }
  for (size_t i = 0; i < ids.size(); ++i) c.out[2 * tables + i] = {ids[i].shape(), DType::int64};
}

// What a thread needs from call to call.
struct Scratch {
  std::vector<Distinct> distinct;  // of each table
  std::vector<float> sums;
  std::vector<uint8_t> named;
};
Scratch& scratch() {
  // Behind a pointer: thread-local space of a library is scarce.
  static thread_local const auto scratch = std::make_unique<Scratch>();
  return *scratch;
}

void pull_run(KernelFrame& f, const PullAttrs& a) {
  const auto ids = f.in.list(0);
  const size_t tables = a.tables.size();
  Scratch& s = scratch();
  if (s.distinct.size() < tables) s.distinct.resize(tables);
  std::vector<SparsePull> requests;
  for (size_t t = 0, list = 0; t < tables; ++t) {
    Distinct& distinct = s.distinct[t];
    const size_t last = list + static_cast<size_t>(a.counts[t]);
    size_t total = 0;
    for (size_t l = list; l < last; ++l) total += static_cast<size_t>(ids[l].numel());
    distinct.begin(total);
    for (; list < last; ++list) {
      Tensor& places = f.out[2 * tables + list];
      if (!places.has_data()) f.allocate(2 * tables + list, ids[list].shape());
      int64_t* to = places.data<int64_t>();
      const bool padded = !a.paddings.empty() && a.paddings[list] >= 0;
      const uint64_t padding = padded ? static_cast<uint64_t>(a.paddings[list]) : 0;
      for (int64_t i = 0, n = ids[list].numel(); i < n; ++i) {
        const uint64_t key = key_at(ids[list], i);
        to[i] = padded && key == padding ? 0 : reserved(a) + int64_t{distinct.add(key)};
      }
    }
    const int64_t n = static_cast<int64_t>(distinct.size()), width = a.widths[t];
    float* rows = f.allocate(t, {reserved(a) + n, width}).data<float>();
    int64_t* keys = f.allocate(tables + t, {n}).data<int64_t>();
    if (reserved(a)) std::fill_n(rows, width, 0.0f);
    if (!n) continue;
    std::memcpy(keys, distinct.keys().data(), distinct.size() * sizeof(Key));
    requests.push_back(
        {static_cast<uint32_t>(a.tables[t]), distinct.keys(), rows + reserved(a) * width});
  }
  if (!requests.empty()) remote()->pull_many(requests, a.training);
}

ARGOSY_OP(ps_pull_rows, PullAttrs)
    .doc(
        "Rows of tables of the parameter server that ids name: for each table its rows and their "
        "keys, each once; then, for each list of ids, places among the rows. One request for all; "
        "int64 ids are the bits of 64-bit keys. Where there are paddings, row 0 is zeros, and keys "
        "are those of the rows from 1 on.")
    .list_input("ids", kIndex)
    .list_output("out")
    .infer(pull_infer)
    .kernel("remote", pull_run)
    .effect(op::Effect::communicates)
    .inference([](PullAttrs& a) { a.training = false; })
    .done();

// Tells the tables which rows the next step of this thread will pull.
void prefetch_run(KernelFrame& f, const PullAttrs& a) {
  const auto ids = f.in.list(0);
  std::vector<Distinct> distinct(a.tables.size());
  std::vector<SparsePull> requests;
  for (size_t t = 0, list = 0; t < a.tables.size(); ++t) {
    distinct[t].begin(0);
    for (const size_t last = list + static_cast<size_t>(a.counts[t]); list < last; ++list) {
      const bool padded = !a.paddings.empty() && a.paddings[list] >= 0;
      for (int64_t i = 0, n = ids[list].numel(); i < n; ++i) {
        const uint64_t key = key_at(ids[list], i);
        if (!padded || key != static_cast<uint64_t>(a.paddings[list])) distinct[t].add(key);
      }
    }
    if (distinct[t].size())
      requests.push_back({static_cast<uint32_t>(a.tables[t]), distinct[t].keys(), nullptr});
  }
  if (!requests.empty()) remote()->prefetch(requests);
}

void prefetch_infer(InferContext& c, const PullAttrs& a) {
  check_lists(c, a);
}

ARGOSY_OP(ps_prefetch_rows, PullAttrs)
    .doc("Lets rows be fetched that ps_pull_rows will be asked for in the next step.")
    .list_input("ids", kIndex)
    .infer(prefetch_infer)
    .kernel("remote", prefetch_run)
    .effect(op::Effect::communicates)
    .inference([](PullAttrs& a) { a.training = false; })
    .done();

struct PushAttrs {
  int64_t table = 0;
  bool click = false;           // rows are slot, show, click, gradient of the row but its first 2
  std::vector<int64_t> counts;  // with `click`: how many lists of places each pull has
  std::vector<int64_t> slots;   // for each list of places, with `click`
  op::Scalar lr = -1.0;         // below 0: the table's own
  double lr_scale = 1;
};
ARGOSY_ATTRS(PushAttrs, table, click, counts, slots, lr, lr_scale)

void push_infer(InferContext& c, const PushAttrs& a) {
  const auto keys = c.in.list(0), gradients = c.in.list(1), places = c.in.list(2);
  ARGOSY_CHECK(keys.size() == gradients.size() && !keys.empty(), invalid_argument)
      << "[ps_push_rows] expected a gradient for each list of keys, got " << keys.size()
      << " lists of keys and " << gradients.size() << " gradients.";
  for (const Tensor& g : gradients)
    ARGOSY_CHECK(g.rank() == 2 && g.dim(1) == gradients[0].dim(1), invalid_argument)
        << "[ps_push_rows] gradients of one table must be [rows, width] of one width, got "
        << gradients[0] << " and " << g << '.';
  ARGOSY_CHECK(a.slots.empty() || a.slots.size() == places.size(), invalid_argument)
      << "[ps_push_rows] slots must be empty or have a number for each of the " << places.size()
      << " lists of places, got " << a.slots.size() << '.';
  int64_t lists = 0;
  for (int64_t n : a.counts) lists += n;
  ARGOSY_CHECK(
      !a.click || (a.counts.size() == keys.size() && lists == static_cast<int64_t>(places.size())),
      invalid_argument)
      << "[ps_push_rows] counts must have a number for each of the " << keys.size()
      << " lists of keys, and add up to the " << places.size() << " lists of places; got "
      << a.counts.size() << " numbers, which add up to " << lists << '.';
}

// How often an instance was shown, or clicked: one number for each instance, or each id.
class PerInstance {
 public:
  PerInstance(const Tensor& values, float otherwise) : otherwise_(otherwise) {
    if (values.defined()) values_ = ops::as_dtype(values, DType::float32);
  }
  // ids: how many the list has. Anything that does not come out even counts as `otherwise`.
  void start(int64_t ids) {
    const int64_t n = values_.defined() ? values_.numel() : 0;
    each_ = n > 0 && ids % n == 0 ? ids / n : 0;
  }
  float at(int64_t id) const { return each_ ? values_.data<float>()[id / each_] : otherwise_; }

 private:
  Tensor values_;
  float otherwise_;
  int64_t each_ = 0;
};

// The sum of the gradients of each row, [rows, width], and which rows have one.
void add_up(const Tensor& gradient, int64_t rows, int64_t width, Scratch& s) {
  s.sums.assign(static_cast<size_t>(rows * width), 0);
  s.named.assign(static_cast<size_t>(rows), 0);
  const Tensor at = op::contiguous(gradient.parts()[0]),
               values = op::contiguous(gradient.parts()[1]);
  const int64_t* place = at.data<int64_t>();
  const float* from = values.data<float>();
  for (int64_t i = 0, n = at.numel(); i < n; ++i, from += width) {
    s.named[static_cast<size_t>(place[i])] = 1;
    float* to = s.sums.data() + place[i] * width;
    for (int64_t k = 0; k < width; ++k) to[k] += from[k];
  }
}

// [rows, width + 1] out of [rows, width]: slot of the first place that names it, shows, clicks.
// The lists of places from `first` to `last` are those of these rows.
std::vector<float> click_rows(KernelFrame& f, const PushAttrs& a, size_t first, size_t last,
                              int64_t width, const Scratch& s) {
  const auto lists = f.in.list(2);
  PerInstance show(f.in[3], 1), click(f.in[4], 0);
  const size_t row = static_cast<size_t>(width + 1);
  std::vector<float> out(s.named.size() * row);
  std::vector<uint8_t> seen(s.named.size());
  for (size_t l = first; l < last; ++l) {
    const int64_t* place = lists[l].data<int64_t>();
    show.start(lists[l].numel());
    click.start(lists[l].numel());
    for (int64_t i = 0, n = lists[l].numel(); i < n; ++i) {
      const size_t at = static_cast<size_t>(place[i]);
      float* to = out.data() + at * row;
      if (!std::exchange(seen[at], 1))
        to[0] = a.slots.empty() ? 0.0f : static_cast<float>(a.slots[l]);
      to[1] += show.at(i);
      to[2] += click.at(i);
    }
  }
  for (size_t i = 0; i < s.named.size(); ++i)
    std::memcpy(out.data() + i * row + 3, s.sums.data() + i * (row - 1) + 2,
                (row - 3) * sizeof(float));
  return out;
}

// Leaves the keys that have a gradient, and their rows at the front of the values from `first` on.
std::vector<Key> with_gradient(const Tensor& keys, int64_t first, size_t row, Scratch& s) {
  std::vector<Key> named;
  named.reserve(static_cast<size_t>(keys.numel()));
  float* to = s.sums.data() + static_cast<size_t>(first) * row;
  const float* from = to;
  for (int64_t i = 0, n = keys.numel(); i < n; ++i, from += row) {
    if (!s.named[static_cast<size_t>(first + i)]) continue;
    named.push_back(static_cast<Key>(keys.data<int64_t>()[i]));
    if (to != from) std::memmove(to, from, row * sizeof(float));
    to += row;
  }
  return named;
}

void push_run(KernelFrame& f, const PushAttrs& a) {
  const auto keys = f.in.list(0), gradients = f.in.list(1);
  const int64_t width = gradients[0].dim(1);
  ARGOSY_CHECK(width >= (a.click ? 4 : 1), invalid_argument)
      << "[ps_push_rows] a click row has show, click, a weight and the embedding: its width is at "
         "least 4, got "
      << width << '.';
  const double lr = a.lr.real();
  auto send = [&](std::span<const Key> named, const float* values) {
    if (!named.empty())
      remote()->push_sparse(static_cast<uint32_t>(a.table), named, values,
                            static_cast<float>(lr < 0 ? lr : lr * a.lr_scale));
  };
  const size_t row = static_cast<size_t>(a.click ? width + 1 : width);
  Scratch& s = scratch();
  Merged merged(row, a.click);  // of several pulls: a key may be in more than one
  size_t list = 0;
  for (size_t p = 0; p < keys.size(); ++p) {
    const int64_t rows = gradients[p].dim(0), first = rows - keys[p].numel();
    ARGOSY_CHECK(first == 0 || first == 1, invalid_argument)
        << "[ps_push_rows] gradient " << p
        << " must have a row for each key, or one more for padding: got " << gradients[p]
        << " and keys " << keys[p] << '.';
    add_up(gradients[p], rows, width, s);
    if (a.click) {
      const size_t last = list + static_cast<size_t>(a.counts[p]);
      s.sums = click_rows(f, a, list, last, width, s);
      list = last;
    }
    const std::vector<Key> named = with_gradient(keys[p], first, row, s);
    const float* values = s.sums.data() + static_cast<size_t>(first) * row;
    if (keys.size() == 1) return send(named, values);
    for (size_t i = 0; i < named.size(); ++i) merged.add(named[i], values + i * row);
  }
  send(merged.keys(), merged.values());
}

ARGOSY_OP(ps_push_rows, PushAttrs)
    .doc(
        "Gradients of rows that ps_pull_rows gave, row-sparse, to the table they came from, with "
        "the learning rate: of each key the sum of its gradients, over all pulls (one list of keys "
        "and one gradient for each). Click rows count in places how often they were shown and "
        "clicked.")
    .list_input("keys", only(DType::int64))
    .list_input("gradients", only(DType::float32))
    .layouts(op::kDenseOrRows)
    .list_input("places", only(DType::int64))
    .optional_input("show")
    .optional_input("click")
    .infer(push_infer)
    .kernel("remote", push_run)
    .effect(op::Effect::communicates)
    .done();

}  // namespace
}  // namespace argosy::ps
