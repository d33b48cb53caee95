#include "argosy/ops/optim/update.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/ops/sparse/sparse.h"

namespace argosy::ops::optim {

// Elements in memory and how to get them into the computing type and back.
struct Operand {
  char* data = nullptr;
  int64_t item = 0;
  cpu::Loop load = nullptr;   // null: already of the computing type
  cpu::Loop store = nullptr;  // null: never written, or in place

  void bind(const Tensor& t, DType compute, bool written) {
    data = static_cast<char*>(t.raw());
    item = item_size(t.dtype());
    if (t.dtype() == compute) return;
    load = cpu::cast_loop(t.dtype(), compute);
    if (written) store = cpu::cast_loop(compute, t.dtype());
  }
};

// One parameter, ready to run.
struct Job {
  Operand param, grad;
  Operand states[kMaxStates];
  Operand copy;  // the 16-bit parameter behind a master
  int state_count = 0;
  int64_t n = 0;
  int64_t compute_size = 4;
  double scale = 1, l1 = 0, l2 = 0;
  const void* coefficients = nullptr;
  void (*step)(const Slice&) = nullptr;
  cpu::Loop add = nullptr;  // of gradients
  // Of a row-sparse gradient: its rows of `width` elements each.
  const RowGroups* groups = nullptr;
  int64_t width = 0;
  bool every_row = false;  // also those that the gradient does not name

  bool plain_grad() const { return scale == 1 && l1 == 0 && l2 == 0; }
};

namespace {

constexpr int64_t kBlock = 512;         // elements converted at a time
constexpr int64_t kChunk = 16 * 1024;   // elements one thread takes at a time
constexpr int64_t kSerial = 32 * 1024;  // below this many elements nobody is woken

void convert(cpu::Loop loop, const char* from, int64_t from_size, char* to, int64_t to_size,
             int64_t n) {
  char* const ptrs[] = {const_cast<char*>(from), to};
  const int64_t strides[] = {from_size, to_size};
  loop(ptrs, strides, n, nullptr);
}

template <class T>
void regularize(const T* g, const T* p, T* out, int64_t n, const Job& job) {
  const T scale = static_cast<T>(job.scale), l1 = static_cast<T>(job.l1),
          l2 = static_cast<T>(job.l2);
  if (job.l1 == 0) {
    for (int64_t i = 0; i < n; ++i) out[i] = scale * g[i] + l2 * p[i];
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const T sign = p[i] > 0 ? T{1} : p[i] < 0 ? T{-1} : T{0};
    out[i] = scale * g[i] + l2 * p[i] + l1 * sign;
  }
}

// Up to kBlock elements at `at` of the parameter; `given` is their gradient.
void run_block(const Job& job, int64_t at, char* given, int64_t n) {
  alignas(64) char room[kMaxStates + 2][kBlock * 8];
  alignas(64) char prepared[kBlock * 8];
  const int64_t size = job.compute_size;
  auto convert_from = [&](const Operand& o, char* from, char* buffer) {
    if (!o.load) return from;
    convert(o.load, from, o.item, buffer, size, n);
    return buffer;
  };
  auto load = [&](const Operand& o, char* buffer) {
    return convert_from(o, o.data + at * o.item, buffer);
  };
  auto store = [&](const Operand& o, const char* buffer) {
    if (o.store) convert(o.store, buffer, size, o.data + at * o.item, o.item, n);
  };
  char* param = load(job.param, room[0]);
  char* grad = convert_from(job.grad, given, room[1]);
  void* states[kMaxStates] = {};
  for (int k = 0; k < job.state_count; ++k) states[k] = load(job.states[k], room[2 + k]);
  if (!job.plain_grad()) {
    if (size == 4)
      regularize(reinterpret_cast<float*>(grad), reinterpret_cast<float*>(param),
                 reinterpret_cast<float*>(prepared), n, job);
    else
      regularize(reinterpret_cast<double*>(grad), reinterpret_cast<double*>(param),
                 reinterpret_cast<double*>(prepared), n, job);
    grad = prepared;
  }
  job.step({param, grad, states, n, job.coefficients});
  store(job.param, param);
  for (int k = 0; k < job.state_count; ++k)
    store(job.states[k], static_cast<const char*>(states[k]));
  store(job.copy, param);
}

bool is_direct(const Job& job) {
  bool direct = job.plain_grad() && !job.param.load && !job.grad.load && !job.copy.data;
  for (int k = 0; k < job.state_count; ++k) direct &= !job.states[k].load;
  return direct;
}

void run_direct(const Job& job, int64_t at, const char* grad, int64_t n) {
  void* states[kMaxStates] = {};
  for (int k = 0; k < job.state_count; ++k)
    states[k] = job.states[k].data + at * job.states[k].item;
  job.step({job.param.data + at * job.param.item, grad, states, n, job.coefficients});
}

// n elements at `at` of the parameter; `grad` is their gradient.
void run_range(const Job& job, int64_t at, char* grad, int64_t n) {
  if (is_direct(job)) return run_direct(job, at, grad, n);
  for (int64_t done = 0; done < n; done += kBlock)
    run_block(job, at + done, grad + done * job.grad.item, std::min(kBlock, n - done));
}

void run_range(const Job& job, int64_t at, int64_t n) {
  run_range(job, at, job.grad.data + at * job.grad.item, n);
}

// --- rows ---

// Groups [begin, end): the sum of the places of each, then the step on its row.
void run_groups(const Job& job, size_t begin, size_t end) {
  const RowGroups& g = *job.groups;
  const int64_t bytes = job.width * job.grad.item;
  const bool direct = is_direct(job);
  const int64_t step = job.grad.item, strides[] = {step, step, step};
  std::vector<char> sum(static_cast<size_t>(bytes));
  constexpr size_t kAhead = 8;
  for (size_t i = begin; i < end; ++i) {
    if (i + kAhead < end) {
      const int64_t next = g.rows[i + kAhead] * job.width;
      auto fetch = [&](const Operand& o) {
        const char* row = o.data + next * o.item;
        for (int64_t b = 0; b < std::min<int64_t>(job.width * o.item, 512); b += 64)
          __builtin_prefetch(row + b, 1);
        __builtin_prefetch(row + job.width * o.item - 1, 1);
      };
      fetch(job.param);
      for (int k = 0; k < job.state_count; ++k) fetch(job.states[k]);
    }
    uint32_t at = g.first[i];
    auto place = [&] { return job.grad.data + int64_t{g.places[at]} * bytes; };
    char* grad = place();
    if (g.first[i + 1] - at > 1) {
      std::memcpy(sum.data(), grad, sum.size());
      while (++at < g.first[i + 1]) {
        char* const ptrs[] = {sum.data(), place(), sum.data()};
        job.add(ptrs, strides, job.width, nullptr);
      }
      grad = sum.data();
    }
    if (direct)
      run_direct(job, g.rows[i] * job.width, grad, job.width);
    else
      run_range(job, g.rows[i] * job.width, grad, job.width);
  }
}

// Elements [begin, end) of the parameter with a gradient of zeros.
void run_zeros(const Job& job, int64_t begin, int64_t end) {
  alignas(64) static const char zeros[kBlock * 8] = {};
  for (; begin < end; begin += kBlock)
    run_range(job, begin, const_cast<char*>(zeros), std::min(kBlock, end - begin));
}

void run_rows(const Job& job) {
  const RowGroups& g = *job.groups;
  const int64_t width = std::max<int64_t>(job.width, 1);
  if (!job.every_row) {
    parallel_for(static_cast<int64_t>(g.size()), std::max<int64_t>(1, kChunk / width),
                 [&](int64_t begin, int64_t end) {
                   run_groups(job, static_cast<size_t>(begin), static_cast<size_t>(end));
                 });
    return;
  }
  parallel_for(job.n / width, std::max<int64_t>(1, kChunk / width),
               [&](int64_t begin, int64_t end) {
                 auto i = std::lower_bound(g.rows.begin(), g.rows.end(), begin) - g.rows.begin();
                 for (int64_t row = begin; row < end;) {
                   const bool more = static_cast<size_t>(i) < g.size();
                   const int64_t next = more ? std::min(g.rows[static_cast<size_t>(i)], end) : end;
                   run_zeros(job, row * width, next * width);
                   if (next < end)
                     run_groups(job, static_cast<size_t>(i), static_cast<size_t>(i) + 1);
                   ++i;
                   row = next + 1;
                 }
               });
}

void run_parallel(std::span<const Job> jobs) {
  struct Chunk {
    const Job* job;
    int64_t begin;
  };
  std::vector<Chunk> chunks;
  for (const Job& job : jobs) {
    if (job.groups) {
      run_rows(job);
      continue;
    }
    for (int64_t begin = 0; begin < job.n; begin += kChunk) chunks.push_back({&job, begin});
  }
  parallel_for(static_cast<int64_t>(chunks.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const auto& [job, at] = chunks[static_cast<size_t>(c)];
      run_range(*job, at, std::min(kChunk, job->n - at));
    }
  });
}

}  // namespace

Update::Update(const op::KernelFrame& f, int states, const Common& common)
    : f_(f),
      states_(states),
      common_(common),
      params_(f.in.list(0)),
      grads_(f.in.list(1)),
      masters_(f.in.list(2 + static_cast<size_t>(states))) {
  for (size_t k = 1; k < f.op.inputs.size(); ++k) {
    const size_t count = f.in.list(k).size();
    ARGOSY_CHECK(count == params_.size() || (k > 1 && count == 0), invalid_argument)
        << '[' << f.op.name << "] " << f.op.inputs[k].name << " has the wrong length: expected "
        << params_.size() << ", one for each parameter, got " << count << '.';
  }
  check("lr_scales", common.lr_scales);
  check("l1", common.l1);
  check("l2", common.l2);
  for (size_t i = 0; i < params_.size(); ++i)
    ARGOSY_CHECK(grads_[i].shape() == params_[i].shape(), invalid_argument)
        << '[' << f.op.name << "] gradient " << i
        << " has the wrong shape: expected that of its parameter, " << params_[i] << ", got "
        << grads_[i] << ". Do this: check what was assigned to the parameter's gradient.";
  for (size_t i = 0; i < masters_.size(); ++i)
    ARGOSY_CHECK(masters_[i].numel() == params_[i].numel(), invalid_argument)
        << '[' << f.op.name << "] master " << i
        << " has the wrong shape: expected that of its parameter, " << params_[i] << ", got "
        << masters_[i] << ". Do this: load a state_dict of the same parameters.";
}

void Update::check(const char* name, const std::vector<double>& list) const {
  ARGOSY_CHECK(list.empty() || list.size() == params_.size(), invalid_argument)
      << '[' << f_.op.name << "] " << name << " has the wrong length: expected " << params_.size()
      << ", one for each parameter, or 0, got " << list.size() << '.';
}

const Tensor& Update::target(size_t i) const {
  return masters_.empty() ? params_[i] : masters_[i];
}

const Tensor& Update::state(int k, size_t i) const {
  ARGOSY_CHECK(has_state(k), invalid_argument)
      << '[' << f_.op.name << "] " << f_.op.inputs[2 + static_cast<size_t>(k)].name
      << " is empty: expected one for each of " << params_.size()
      << " parameters. Do this: pass the tensors that hold this state.";
  return f_.in.list(2 + static_cast<size_t>(k))[i];
}

double Update::scalar(int k, size_t i) const {
  const Tensor& t = state(k, i);
  ARGOSY_CHECK(t.numel() >= 1, invalid_argument)
      << '[' << f_.op.name << "] " << f_.op.inputs[2 + static_cast<size_t>(k)].name << ' ' << i
      << " must have one element, got " << t << '.';
  double value = 0;
  dispatch_types<float, double, int64_t>(
      t.dtype(), [&]<class T>(T) { value = static_cast<double>(*t.data<T>()); });
  return value;
}

void Update::set_scalar(int k, size_t i, double value) const {
  const Tensor& t = state(k, i);
  dispatch_types<float, double, int64_t>(t.dtype(),
                                         [&]<class T>(T) { *t.data<T>() = static_cast<T>(value); });
}

// What the jobs of one run point into.
struct Update::Kept {
  std::vector<Tensor> tensors;
  std::vector<std::pair<Tensor, Tensor>> write_back;  // (strided tensor, its dense copy)
  std::vector<std::unique_ptr<RowGroups>> groups;

  Tensor dense(const Tensor& t, bool written) {
    if (t.is_contiguous()) return t;
    tensors.push_back(op::contiguous(t));
    if (written) write_back.emplace_back(t, tensors.back());
    return tensors.back();
  }
};

Job Update::prepare(size_t i, Rule rule, std::initializer_list<int> states,
                    const void* coefficients, Kept& kept) const {
  Job job;
  const Tensor& to = target(i);
  const DType compute = to.dtype() == DType::float64 ? DType::float64 : DType::float32;
  job.compute_size = item_size(compute);
  job.step = compute == DType::float64 ? rule.f64 : rule.f32;
  job.scale = grad_scale;
  job.l1 = at(common_.l1, i, 0);
  job.l2 = at(common_.l2, i, 0);
  job.coefficients = coefficients;
  job.param.bind(kept.dense(to, true), compute, true);
  if (!to.is(params_[i])) {
    job.copy.bind(kept.dense(params_[i], true), compute, true);
    if (!job.copy.store) job.copy.store = cpu::cast_loop(compute, compute);
  }
  for (int k : states) {
    const Tensor& s = state(k, i);
    ARGOSY_CHECK(s.numel() == to.numel(), invalid_argument)
        << '[' << f_.op.name << "] " << f_.op.inputs[2 + static_cast<size_t>(k)].name << ' ' << i
        << " has the wrong shape: expected that of its parameter, " << to << ", got " << s
        << ". Do this: load a state_dict of the same parameters, or make the optimizer anew.";
    job.states[job.state_count++].bind(kept.dense(s, true), compute, true);
  }
  job.n = to.numel();
  Tensor grad = grads_[i];
  if (grad.layout() == Layout::row_sparse) {
    const Tensor rows = kept.dense(grad.parts()[0], false);
    kept.groups.push_back(std::make_unique<RowGroups>(
        group_rows({rows.data<int64_t>(), static_cast<size_t>(rows.numel())})));
    job.groups = kept.groups.back().get();
    job.width = to.dim(0) ? to.numel() / to.dim(0) : 0;
    job.every_row = !rows_only || job.l1 != 0 || job.l2 != 0;  // decay reaches every row
    grad = grad.parts()[1];
    job.add = cpu::add_loops()[grad.dtype()];
  }
  job.grad.bind(kept.dense(grad, false), compute, false);
  return job;
}

void Update::run(Rule rule, std::initializer_list<int> states, const void* coefficients,
                 size_t bytes) const {
  auto coefficients_of = [&](size_t i) {
    return static_cast<const char*>(coefficients) + i * bytes;
  };
  Kept kept;
  int64_t total = 0;
  for (const Tensor& p : params_) total += p.numel();
  if (total <= kSerial) {
    for (size_t i = 0; i < params_.size(); ++i) {
      const Job job = prepare(i, rule, states, coefficients_of(i), kept);
      if (job.groups)
        run_rows(job);
      else
        run_range(job, 0, job.n);
    }
  } else {
    std::vector<Job> jobs;
    jobs.reserve(params_.size());
    for (size_t i = 0; i < params_.size(); ++i)
      jobs.push_back(prepare(i, rule, states, coefficients_of(i), kept));
    run_parallel(jobs);
  }
  for (const auto& [strided, copy] : kept.write_back) op::copy_into(strided, copy);
}

}  // namespace argosy::ops::optim
