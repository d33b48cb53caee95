#include "argosy/ops/optim/update.h"

#include <algorithm>
#include <cstring>

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
  // Of a row-sparse gradient: rows of `width` elements each.
  const int64_t* rows = nullptr;
  int64_t width = 0;

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

// Up to kBlock elements at `at` of the parameter, `grad_at` of the gradient.
void run_block(const Job& job, int64_t at, int64_t grad_at, int64_t n) {
  alignas(64) char room[kMaxStates + 2][kBlock * 8];
  alignas(64) char prepared[kBlock * 8];
  const int64_t size = job.compute_size;
  auto load = [&](const Operand& o, int64_t begin, char* buffer) {
    char* from = o.data + begin * o.item;
    if (!o.load) return from;
    convert(o.load, from, o.item, buffer, size, n);
    return buffer;
  };
  auto store = [&](const Operand& o, const char* buffer) {
    if (o.store) convert(o.store, buffer, size, o.data + at * o.item, o.item, n);
  };
  char* param = load(job.param, at, room[0]);
  char* grad = load(job.grad, grad_at, room[1]);
  void* states[kMaxStates] = {};
  for (int k = 0; k < job.state_count; ++k) states[k] = load(job.states[k], at, room[2 + k]);
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

void run_range(const Job& job, int64_t at, int64_t grad_at, int64_t n) {
  bool direct = job.plain_grad() && !job.param.load && !job.grad.load && !job.copy.data;
  for (int k = 0; k < job.state_count; ++k) direct &= !job.states[k].load;
  if (direct) {
    void* states[kMaxStates] = {};
    for (int k = 0; k < job.state_count; ++k)
      states[k] = job.states[k].data + at * job.states[k].item;
    job.step({job.param.data + at * job.param.item, job.grad.data + grad_at * job.grad.item, states,
              n, job.coefficients});
    return;
  }
  for (int64_t done = 0; done < n; done += kBlock)
    run_block(job, at + done, grad_at + done, std::min(kBlock, n - done));
}

void run_rows(const Job& job) {
  const int64_t count = job.n / std::max<int64_t>(job.width, 1);
  parallel_for(count, std::max<int64_t>(1, kChunk / std::max<int64_t>(job.width, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r)
                   run_range(job, job.rows[r] * job.width, r * job.width, job.width);
               });
}

void run_parallel(std::span<const Job> jobs) {
  struct Chunk {
    const Job* job;
    int64_t begin;
  };
  std::vector<Chunk> chunks;
  for (const Job& job : jobs) {
    if (job.rows) {
      run_rows(job);
      continue;
    }
    for (int64_t begin = 0; begin < job.n; begin += kChunk) chunks.push_back({&job, begin});
  }
  parallel_for(static_cast<int64_t>(chunks.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const auto& [job, at] = chunks[static_cast<size_t>(c)];
      run_range(*job, at, at, std::min(kChunk, job->n - at));
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
        << grads_[i] << '.';
}

void Update::check(const char* name, const std::vector<double>& list) const {
  ARGOSY_CHECK(list.empty() || list.size() == params_.size(), invalid_argument)
      << '[' << f_.op.name << "] " << name << " has the wrong length: expected " << params_.size()
      << ", one for each parameter, or 0, got " << list.size() << '.';
}

const Tensor& Update::target(size_t i) const {
  return masters_.empty() ? params_[i] : masters_[i];
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
        << " has the wrong shape: expected that of its parameter, " << to << ", got " << s << '.';
    job.states[job.state_count++].bind(kept.dense(s, true), compute, true);
  }
  job.n = to.numel();
  Tensor grad = grads_[i];
  if (grad.layout() == Layout::row_sparse) {
    if (rows_only && job.l1 == 0 && job.l2 == 0) {  // decay reaches every row
      grad = merge_rows(grad);
      kept.tensors.push_back(grad);
      job.rows = grad.parts()[0].data<int64_t>();
      job.width = to.dim(0) ? to.numel() / to.dim(0) : 0;
      grad = grad.parts()[1];
      job.n = grad.numel();
    } else {
      grad = to_dense(grad);
      kept.tensors.push_back(grad);
    }
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
      if (job.rows)
        run_rows(job);
      else
        run_range(job, 0, 0, job.n);
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
