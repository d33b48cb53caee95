#include "argosy/parallel/data_parallel.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "argosy/parallel/op_names.h"
#include "argosy/passes/rewrite.h"

namespace argosy::parallel {

using program::Operation;
using program::Program;
using program::Role;
using program::Value;

namespace {

constexpr size_t kEnd = SIZE_MAX;
// A bucket holds at most a part of all bytes, as what begins after the last gradient is made hides
// behind nothing; but so many that handing them over costs little beside.
constexpr size_t kParts = 8, kLeastBucket = size_t{1} << 20;

size_t bytes_of(const Value& v) {
  return v.shape.known() ? static_cast<size_t>(v.shape.numel()) * item_size(v.dtype) : 0;
}

// Gradients that are exchanged together. Positions are those of operations before the pass.
struct Bucket {
  GradientList gradients;
  size_t bytes = 0;
  size_t made = 0;     // by this operation, the last of them
  size_t read = kEnd;  // by this operation of the update, first
};

class Averager {
 public:
  Averager(Program& p, const DataParallel& options) : p_(p), options_(options) {}

  bool run(const GradientList& gradients) {
    find_positions(gradients);
    std::vector<Bucket> buckets = in_buckets(gradients);
    if (buckets.empty()) return false;
    for (const Bucket& b : buckets)
      if (b.gradients[0]->layout == Layout::row_sparse)
        join_rows(b);
      else
        exchange(b);
    read_averages();
    insert();
    return true;
  }

 private:
  static bool updates(const Operation& o) { return o.role == Role::optimize; }

  void find_positions(const GradientList& gradients) {
    std::unordered_set<const Value*> wanted;
    for (const Ref<Value>& v : gradients) wanted.insert(v.get());
    const auto& operations = p_.main.operations;
    for (size_t i = 0; i < operations.size(); ++i) {
      for (const Ref<Value>& v : operations[i]->results)
        if (wanted.count(v.get())) made_[v.get()] = i;
      if (!updates(*operations[i])) continue;
      for (const Ref<Value>& v : operations[i]->operands)
        if (v && wanted.count(v.get())) read_.try_emplace(v.get(), i);
    }
  }

  // Of those that an update reads, in the order in which they are made.
  std::vector<Bucket> in_buckets(GradientList gradients) const {
    std::erase_if(gradients, [&](const Ref<Value>& v) {
      return !made_.count(v.get()) || !read_.count(v.get());
    });
    std::stable_sort(gradients.begin(), gradients.end(),
                     [&](const Ref<Value>& a, const Ref<Value>& b) {
                       return made_.at(a.get()) < made_.at(b.get());
                     });
    size_t total = 0;
    for (const Ref<Value>& v : gradients)
      if (v->layout != Layout::row_sparse) total += bytes_of(*v);
    const size_t most = std::min(options_.bucket, std::max(kLeastBucket, total / kParts));
    std::vector<Bucket> buckets;
    std::map<DType, size_t> open;  // the last bucket of each dtype
    for (const Ref<Value>& v : gradients) {
      const size_t bytes = bytes_of(*v);
      size_t index = buckets.size();
      if (v->layout != Layout::row_sparse) {  // these are exchanged one by one
        const auto [it, first] = open.try_emplace(v->dtype, index);
        const size_t limit = it->second == 0 ? std::min(options_.first_bucket, most) : most;
        if (!first && buckets[it->second].bytes + bytes > limit) it->second = index;
        index = it->second;
      }
      if (index == buckets.size()) buckets.emplace_back();
      Bucket& b = buckets[index];
      b.gradients.push_back(v);
      b.bytes += bytes;
      b.made = std::max(b.made, made_.at(v.get()));
      b.read = std::min(b.read, read_.at(v.get()));
    }
    return buckets;
  }

  Operation& add(size_t after, const char* name, Role role, GradientList operands,
                 const Operation& like) {
    auto o = std::make_unique<Operation>();
    o->op = &op::get(name);
    o->attrs = passes::default_attrs(*o->op);
    o->operands = std::move(operands);
    o->parent = &p_.main;
    o->role = role;
    o->location = like.location;
    Operation& added = *o;
    added_.emplace(after, std::move(o));
    return added;
  }

  Ref<Value> result(Operation& o, const Value& like, DType dtype) {
    Ref<Value> v = p_.make_value(like.shape, dtype, like.layout);
    v->block = &p_.main;
    v->producer = &o;
    v->stop = true;
    o.results.push_back(v);
    return v;
  }

  Ref<Value> cast(size_t at, Role role, const Ref<Value>& v, DType dtype) {
    if (v->dtype == dtype) return v;
    Operation& o = add(at, made::kCast, role, {v}, maker_of(*v));
    passes::set_attr(o.attrs, "dtype", dtype);
    return result(o, *v, dtype);
  }

  const Operation& maker_of(const Value& v) const { return *v.producer; }

  DType wire_of(const Value& v) const {
    return options_.wire && is_floating(v.dtype) ? *options_.wire : v.dtype;
  }

  // Places of what is inserted: 2 * i + 1 right after operation i, 2 * i right before it.
  static size_t after(size_t i) { return 2 * i + 1; }
  static size_t before(size_t i) { return 2 * i; }

  void exchange(const Bucket& b) {
    const size_t begin = after(b.made), end = before(b.read);
    const Operation& last = *p_.main.operations[b.made];
    GradientList sent;
    for (const Ref<Value>& v : b.gradients)
      sent.push_back(cast(begin, Role::backward, v, wire_of(*v)));
    const auto count = static_cast<uint32_t>(sent.size());

    Operation& start = add(begin, made::kStart, Role::backward, sent, last);
    start.ends = {count};
    passes::set_attr(start.attrs, "group", options_.group);
    passes::set_attr(start.attrs, "reduce", std::string("avg"));
    Ref<Value> started = p_.make_value(Shape{1}, DType::int64);
    started->block = &p_.main;
    started->producer = &start;
    start.results.push_back(started);
    GradientList under_way;
    for (const Ref<Value>& v : sent) under_way.push_back(result(start, *v, v->dtype));

    GradientList operands = under_way;
    operands.push_back(started);
    Operation& wait = add(end, made::kWait, Role::optimize, std::move(operands), last);
    wait.ends = {count, count + 1};
    GradientList received;
    for (const Ref<Value>& v : under_way) received.push_back(result(wait, *v, v->dtype));
    for (size_t i = 0; i < b.gradients.size(); ++i)
      take_place(b.gradients[i], cast(end, Role::optimize, received[i], b.gradients[i]->dtype));
  }

  void join_rows(const Bucket& b) {
    const Ref<Value>& v = b.gradients[0];
    Operation& o = add(before(b.read), made::kAverageRows, Role::optimize, {v}, maker_of(*v));
    passes::set_attr(o.attrs, "group", options_.group);
    take_place(v, result(o, *v, v->dtype));
  }

  // Whoever asks for the gradient by its name gets the average.
  void take_place(const Ref<Value>& gradient, const Ref<Value>& average) {
    average->name = std::exchange(gradient->name, {});
    average_of_[gradient.get()] = average;
  }

  void read_averages() {
    for (const auto& o : p_.main.operations) {
      if (!updates(*o)) continue;
      for (Ref<Value>& v : o->operands)
        if (auto it = average_of_.find(v.get()); v && it != average_of_.end()) v = it->second;
    }
    for (program::Output& output : p_.outputs)
      if (auto it = average_of_.find(output.value.get()); it != average_of_.end())
        output.value = it->second;
  }

  void insert() {
    std::vector<std::unique_ptr<Operation>> list;
    auto next = added_.begin();
    const auto until = [&](size_t place) {
      for (; next != added_.end() && next->first <= place; ++next)
        list.push_back(std::move(next->second));
    };
    for (size_t i = 0; i < p_.main.operations.size(); ++i) {
      until(before(i));
      list.push_back(std::move(p_.main.operations[i]));
    }
    until(kEnd);
    p_.main.operations = std::move(list);
    p_.changed();
  }

  Program& p_;
  const DataParallel& options_;
  std::unordered_map<const Value*, size_t> made_, read_;  // by operation
  std::unordered_map<const Value*, Ref<Value>> average_of_;
  std::multimap<size_t, std::unique_ptr<Operation>> added_;  // by place
};

}  // namespace

GradientList gradients_of(const Program& p) {
  GradientList list;
  std::unordered_set<const Value*> read;
  for (const auto& o : p.main.operations)
    if (o->role == Role::optimize)
      for (const Ref<Value>& v : o->operands)
        if (v) read.insert(v.get());
  for (const auto& o : p.main.operations) {
    if (o->role != Role::backward || o->op->effect == op::Effect::communicates) continue;
    for (const Ref<Value>& v : o->results)
      if (read.count(v.get()) && is_differentiable(v->dtype) && v->layout != Layout::tensor_array)
        list.push_back(v);
  }
  return list;
}

bool average_gradients(Program& p, const GradientList& gradients, const DataParallel& options) {
  return Averager(p, options).run(gradients);
}

namespace {

// The gradients whose numbers the option lists; all where it is empty.
GradientList chosen(const Program& p, std::string_view text) {
  GradientList all = gradients_of(p);
  if (text.empty()) return all;
  std::unordered_set<uint32_t> ids;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    uint32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    ARGOSY_CHECK(error == std::errc() && (next == end || *next == ','), invalid_argument)
        << "[data_parallel] data_parallel.gradients: expected numbers of values by commas, got '"
        << std::string(text) << "'. Do this: pass those of gradients.";
    ids.insert(id);
    at = next + 1;
  }
  std::erase_if(all, [&](const Ref<Value>& v) { return !ids.count(v->id); });
  for (const Ref<Value>& v : all) ids.erase(v->id);
  ARGOSY_CHECK(ids.empty(), invalid_argument)
      << "[data_parallel] data_parallel.gradients: expected gradients that updates read, got value "
      << *ids.begin()
      << ", which is none, so that ranks would train apart. Do this: average gradients as backward "
         "gives them.";
  return all;
}

bool run(Program& p, const passes::PassContext& c) {
  DataParallel options;
  options.group = c.number("data_parallel.group", options.group);
  options.bucket =
      static_cast<size_t>(c.number("data_parallel.bucket", static_cast<int64_t>(options.bucket)));
  options.first_bucket = static_cast<size_t>(
      c.number("data_parallel.first_bucket", static_cast<int64_t>(options.first_bucket)));
  if (const std::string_view wire = c.option("data_parallel.wire"); !wire.empty()) {
    options.wire = dtype_from_name(wire);
    ARGOSY_CHECK(options.wire && is_floating(*options.wire), invalid_argument)
        << "[data_parallel] data_parallel.wire: expected a floating dtype such as bfloat16, got '"
        << std::string(wire) << "'. Do this: pass one, or leave the option out.";
  }
  return average_gradients(p, chosen(p, c.option("data_parallel.gradients")), options);
}

ARGOSY_PASS(
    data_parallel, passes::Rounding::meaning,
    "Updates read gradients that are averaged over the ranks of a group, for a Program that "
    "every rank runs on its part of the batch: before plans split updates. Exchanges begin "
    "where gradients are made and are waited for where updates, clipping or the search for "
    "infinities first read them. Options: data_parallel.group (0); data_parallel.bucket, "
    "the most bytes exchanged at a time (26214400); data_parallel.first_bucket, of the first "
    "exchange (1048576); data_parallel.wire, the dtype in which floating gradients are "
    "exchanged (their own); data_parallel.gradients, numbers of the values that are "
    "averaged, by commas (all that updates read).",
    run)

}  // namespace
}  // namespace argosy::parallel
