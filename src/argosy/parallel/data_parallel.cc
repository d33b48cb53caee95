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

// What an operation reads, for those who ask for shapes.
Tensors handles(const Operation& o) {
  Tensors out;
  for (const Ref<Value>& v : o.operands) out.push_back(program::handle(v));
  return out;
}

std::optional<op::RowSource> row_source(const Operation& o) {
  if (!o.op->result_rows || o.attr_operands || !o.ends.empty() || o.results.size() != 1)
    return std::nullopt;
  const Tensors operands = handles(o);
  return o.op->result_rows(op::Inputs(operands), o.attrs.get());
}

class Averager {
 public:
  Averager(Program& p, const DataParallel& options) : p_(p), options_(options) {}

  bool run(const GradientList& gradients) {
    find_positions(gradients);
    std::vector<Bucket> buckets = in_buckets(gradients);
    if (buckets.empty()) return false;
    const std::vector<const Bucket*> parted = buckets_in_parts(buckets);
    for (const Bucket& b : buckets)
      if (b.gradients[0]->layout == Layout::row_sparse)
        join_rows(b);
      else if (std::ranges::count(parted, &b))
        exchange_parts(b);
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
      // Exchanged one by one: rows, and what is larger than a bucket, which small ones between wait
      // for company beside.
      if (v->layout != Layout::row_sparse && bytes <= most) {
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
    std::ranges::stable_sort(buckets, {}, &Bucket::made);
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

  // Values of one dtype: their averages, begun at one place and waited for at another.
  GradientList averages(const GradientList& values, size_t begin, size_t end) {
    const Operation& like = maker_of(*values.back());
    GradientList sent;
    for (const Ref<Value>& v : values) sent.push_back(cast(begin, Role::backward, v, wire_of(*v)));
    const auto count = static_cast<uint32_t>(sent.size());

    Operation& start = add(begin, made::kStart, Role::backward, sent, like);
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
    Operation& wait = add(end, made::kWait, Role::optimize, std::move(operands), like);
    wait.ends = {count, count + 1};
    GradientList received;
    for (const Ref<Value>& v : under_way) received.push_back(result(wait, *v, v->dtype));
    for (size_t i = 0; i < values.size(); ++i)
      received[i] = cast(end, Role::optimize, received[i], values[i]->dtype);
    return received;
  }

  void exchange(const Bucket& b) {
    const GradientList received = averages(b.gradients, after(b.made), before(b.read));
    for (size_t i = 0; i < b.gradients.size(); ++i) take_place(b.gradients[i], received[i]);
  }

  // The first and the last one that are large, where their rows can be made one after the other.
  std::vector<const Bucket*> buckets_in_parts(const std::vector<Bucket>& buckets) const {
    std::vector<const Bucket*> large;
    for (const Bucket& b : buckets)
      if (b.gradients[0]->layout != Layout::row_sparse && b.gradients.size() == 1 &&
          b.bytes >= 2 * options_.part)
        large.push_back(&b);
    if (options_.parts < 2) large.clear();
    if (large.size() > 2) large.erase(large.begin() + 1, large.end() - 1);
    std::erase_if(large, [&](const Bucket* b) { return !goes_in_parts(*b); });
    return large;
  }

  bool goes_in_parts(const Bucket& b) const {
    const Value& v = *b.gradients[0];
    const bool in_rows = v.shape.rank() > 0 && v.shape[0] >= parts_of(b);
    return in_rows && row_source(maker_of(v)) && !is_read_before_updates(v);
  }

  int64_t parts_of(const Bucket& b) const {
    return std::min(options_.parts, static_cast<int64_t>(b.bytes / options_.part));
  }

  bool is_read_before_updates(const Value& v) const {
    const auto reads = [&](const Ref<Value>& operand) { return operand.get() == &v; };
    for (const auto& o : p_.main.operations)
      if (!updates(*o) && std::ranges::any_of(o->operands, reads)) return true;
    for (const program::StateUse& use : p_.states)
      if (use.last.get() == &v) return true;
    return false;
  }

  // Its rows are made and sent part by part. The operation that made the whole is left without
  // readers, which the pass dead_code drops.
  void exchange_parts(const Bucket& b) {
    const Ref<Value>& whole = b.gradients[0];
    const Operation& maker = maker_of(*whole);
    const int64_t count = parts_of(b), rows = whole->shape[0];
    GradientList parts;
    for (int64_t k = 0; k < count; ++k) {
      const Ref<Value> part = rows_of(b.made, maker, rows * k / count, rows * (k + 1) / count);
      parts.push_back(averages({part}, before(b.made), before(b.read))[0]);
    }
    Operation& joined = add(before(b.read), made::kConcat, Role::optimize, parts, maker);
    joined.ends = {static_cast<uint32_t>(count)};
    take_place(whole, result(joined, *whole, whole->dtype));
  }

  // Rows [begin, end) of what operation `at` makes.
  Ref<Value> rows_of(size_t at, const Operation& maker, int64_t begin, int64_t end) {
    const op::RowSource source = *row_source(maker);
    const Ref<Value>& from = maker.operands[source.operand];
    Operation& slice = add(before(at), made::kSlice, maker.role, {from}, maker);
    passes::set_attr(slice.attrs, "axes", std::vector<int64_t>{source.axis});
    passes::set_attr(slice.attrs, "starts", op::IntArray::one(begin));
    passes::set_attr(slice.attrs, "ends", op::IntArray::one(end));
    Ref<Value> some = result(slice, *from, from->dtype);
    some->shape[static_cast<int>(source.axis)] = end - begin;

    GradientList operands = maker.operands;
    operands[source.operand] = some;
    Operation& part = add(before(at), maker.op->name.c_str(), maker.role, operands, maker);
    part.attrs = op::AttrBox(*maker.op->attrs, maker.attrs.get());
    Ref<Value> made = result(part, *maker.results[0], maker.results[0]->dtype);
    made->shape[0] = end - begin;
    return made;
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
  options.parts = c.number("data_parallel.parts", options.parts);
  options.part =
      static_cast<size_t>(c.number("data_parallel.part", static_cast<int64_t>(options.part)));
  ARGOSY_CHECK(options.parts > 0 && options.part > 0, invalid_argument)
      << "[data_parallel] data_parallel.parts and data_parallel.part: expected numbers from 1 on, "
         "got "
      << options.parts << " and " << static_cast<int64_t>(options.part)
      << ". Do this: leave them out to exchange whole gradients.";
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
    "exchange (1048576); data_parallel.parts, the most parts in which the first and the last large "
    "gradient are computed and exchanged (1), and data_parallel.part, their least bytes (524288); "
    "data_parallel.wire, the dtype in which floating gradients are "
    "exchanged (their own); data_parallel.gradients, numbers of the values that are "
    "averaged, by commas (all that updates read).",
    run)

}  // namespace
}  // namespace argosy::parallel
