#include <cstring>

#include "argosy/op/define.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ps/distinct.h"
#include "argosy/ps/remote.h"

// Rows of a table that this process does not own: ps_pull_sparse, ps_push_sparse.
namespace argosy::ps {
namespace {

using op::InferContext;
using op::KernelFrame;

uint64_t key_at(const Tensor& ids, int64_t i) {
  return ids.dtype() == DType::int64 ? static_cast<uint64_t>(ids.data<int64_t>()[i])
                                     : static_cast<uint64_t>(int64_t{ids.data<int32_t>()[i]});
}

// The id that stands for no row, in list place i.
uint64_t padding_at(const std::vector<int64_t>& paddings, size_t i) {
  return static_cast<uint64_t>(paddings.empty() ? -1 : paddings[i]);
}

bool has_padding(const std::vector<int64_t>& paddings, size_t i) {
  return !paddings.empty() && paddings[i] >= 0;
}

void check_list(const char* op, const char* name, size_t length, size_t lists) {
  ARGOSY_CHECK(length == 0 || length == lists, invalid_argument)
      << '[' << op << "] " << name << " must be empty or have a number for each of the " << lists
      << " lists of ids, got " << length << '.';
}

struct PullAttrs {
  int64_t table = 0;
  int64_t width = 0;
  std::vector<int64_t> paddings;  // for each list of ids: the id whose row is zeros, -1 for none
  bool training = true;           // makes rows that are not there
};
ARGOSY_ATTRS(PullAttrs, table, width, paddings, training)

void pull_infer(InferContext& c, const PullAttrs& a) {
  const auto ids = c.in.list(0);
  ARGOSY_CHECK(a.width > 0, invalid_argument)
      << "[ps_pull_sparse] width must be positive, got " << a.width << '.';
  check_list("ps_pull_sparse", "paddings", a.paddings.size(), ids.size());
  c.out.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    Shape shape = ids[i].shape();
    shape.push_back(a.width);
    c.out[i] = {shape, DType::float32};
  }
}

// What a thread needs from call to call.
struct Scratch {
  Distinct distinct;
  std::vector<uint32_t> places;
  std::vector<float> rows;
  Merged merged;
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

void pull_run(KernelFrame& f, const PullAttrs& a) {
  const auto ids = f.in.list(0);
  size_t total = 0;
  for (const Tensor& t : ids) total += static_cast<size_t>(t.numel());
  Scratch& s = scratch();
  s.distinct.begin(total);
  s.places.resize(total);
  size_t next = 0;
  for (size_t l = 0; l < ids.size(); ++l) {
    const bool padded = has_padding(a.paddings, l);
    const uint64_t padding = padding_at(a.paddings, l);
    for (int64_t i = 0, n = ids[l].numel(); i < n; ++i) {
      const uint64_t key = key_at(ids[l], i);
      s.places[next++] = padded && key == padding ? Distinct::kNone : s.distinct.add(key);
    }
  }
  const size_t width = static_cast<size_t>(a.width);
  s.rows.resize(s.distinct.size() * width);
  if (s.distinct.size())
    remote()->pull_sparse(static_cast<uint32_t>(a.table), s.distinct.keys(), s.rows.data(),
                          a.training);
  next = 0;
  for (size_t l = 0; l < ids.size(); ++l) {
    float* to = f.out[l].data<float>();
    for (int64_t i = 0, n = ids[l].numel(); i < n; ++i, to += width) {
      const uint32_t place = s.places[next++];
      if (place == Distinct::kNone)
        std::memset(to, 0, width * sizeof(float));
      else
        std::memcpy(to, s.rows.data() + place * width, width * sizeof(float));
    }
  }
}

ARGOSY_OP(ps_pull_sparse, PullAttrs)
    .doc(
        "The rows of a table of the parameter server that ids name, one result for each list of "
        "ids. The ids of all lists go in one request, each once; int64 ids are the bits of 64-bit "
        "keys.")
    .list_input("ids", kIndex)
    .list_output("out")
    .infer(pull_infer)
    .kernel("remote", pull_run)
    .effect(op::Effect::communicates)
    .done();

struct PushAttrs {
  int64_t table = 0;
  std::vector<int64_t> paddings;  // as in ps_pull_sparse: these ids have no gradient
  bool click = false;             // rows are slot, show, click, gradient of the row but its first 2
  std::vector<int64_t> slots;     // for each list of ids, with `click`
  op::Scalar lr = -1.0;           // below 0: the table's own
  double lr_scale = 1;
};
ARGOSY_ATTRS(PushAttrs, table, paddings, click, slots, lr, lr_scale)

void push_infer(InferContext& c, const PushAttrs& a) {
  const auto ids = c.in.list(0), gradients = c.in.list(1);
  check_list("ps_push_sparse", "paddings", a.paddings.size(), ids.size());
  check_list("ps_push_sparse", "slots", a.slots.size(), ids.size());
  ARGOSY_CHECK(ids.size() == gradients.size() && !ids.empty(), invalid_argument)
      << "[ps_push_sparse] expected a gradient for each list of ids, got " << ids.size()
      << " lists of ids and " << gradients.size() << " gradients.";
  for (const Tensor& g : gradients)
    ARGOSY_CHECK(g.rank() >= 1 && g.dim(-1) == gradients[0].dim(-1), invalid_argument)
        << "[ps_push_sparse] gradients of one table must have one width, got " << gradients[0]
        << " and " << g << '.';
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

void push_run(KernelFrame& f, const PushAttrs& a) {
  const auto ids = f.in.list(0), gradients = f.in.list(1);
  PerInstance show(f.in[2], 1), click(f.in[3], 0);
  const int64_t width = gradients[0].dim(-1);
  ARGOSY_CHECK(width >= (a.click ? 4 : 1), invalid_argument)
      << "[ps_push_sparse] a click row has show, click, a weight and the embedding: its width is "
         "at least 4, got "
      << width << '.';
  size_t total = 0;
  for (size_t l = 0; l < ids.size(); ++l) {
    ARGOSY_CHECK(gradients[l].numel() == ids[l].numel() * width, invalid_argument)
        << "[ps_push_sparse] gradient " << l << " has the wrong shape: expected a row of " << width
        << " for each of the ids " << ids[l] << ", got " << gradients[l] << '.';
    total += static_cast<size_t>(ids[l].numel());
  }
  Scratch& s = scratch();
  const size_t row = static_cast<size_t>(a.click ? width + 1 : width);
  if (s.merged.width() != row || s.merged.kept() != size_t{a.click})
    s.merged = Merged(row, a.click);
  s.merged.begin(total);
  std::vector<float> click_row(a.click ? row : 0);
  for (size_t l = 0; l < ids.size(); ++l) {
    const bool padded = has_padding(a.paddings, l);
    const uint64_t padding = padding_at(a.paddings, l);
    const float* from = gradients[l].data<float>();
    show.start(ids[l].numel());
    click.start(ids[l].numel());
    if (a.click) click_row[0] = a.slots.empty() ? 0.0f : static_cast<float>(a.slots[l]);
    for (int64_t i = 0, n = ids[l].numel(); i < n; ++i, from += width) {
      const uint64_t key = key_at(ids[l], i);
      if (padded && key == padding) continue;
      if (!a.click) {
        s.merged.add(key, from);
        continue;
      }
      click_row[1] = show.at(i);
      click_row[2] = click.at(i);
      std::memcpy(click_row.data() + 3, from + 2, static_cast<size_t>(width - 2) * sizeof(float));
      s.merged.add(key, click_row.data());
    }
  }
  const double lr = a.lr.real();
  if (s.merged.size())
    remote()->push_sparse(static_cast<uint32_t>(a.table), s.merged.keys(), s.merged.values(),
                          static_cast<float>(lr < 0 ? lr : lr * a.lr_scale));
}

ARGOSY_OP(ps_push_sparse, PushAttrs)
    .doc(
        "Gradients of rows that ps_pull_sparse gave, to the table they came from, with the "
        "learning rate. Gradients of an id that occurs several times are added first.")
    .list_input("ids", kIndex)
    .list_input("gradients", only(DType::float32))
    .optional_input("show")
    .optional_input("click")
    .infer(push_infer)
    .kernel("remote", push_run)
    .effect(op::Effect::communicates)
    .done();

}  // namespace
}  // namespace argosy::ps
