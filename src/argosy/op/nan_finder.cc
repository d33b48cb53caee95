#include "argosy/op/nan_finder.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>

#include "argosy/base/flags.h"
#include "argosy/base/parallel.h"
#include "argosy/base/watch.h"
#include "argosy/op/dispatch.h"

namespace argosy::op {
namespace {

constexpr int64_t kGrain = 1 << 16;

const flags::Flag& level_flag() {
  static const flags::Flag& flag = flags::find("FLAGS_check_nan_inf_level");
  return flag;
}

[[maybe_unused]] const bool installed = [] {
  flags::find("FLAGS_check_nan_inf").listen([] {
    watch::set(watch::finite, flags::find("FLAGS_check_nan_inf").boolean());
  });
  return true;
}();

// Which ops are looked at, and where lines go.
struct Settings {
  std::mutex mutex;
  std::vector<std::string> checked, skipped;
  std::atomic<bool> filtered{false};
  std::atomic<void (*)(const std::string&)> report{nullptr};
  static Settings& instance() {
    static Settings* settings = new Settings;
    return *settings;
  }
};

bool is_checked(const std::string& name) {
  Settings& s = Settings::instance();
  if (!s.filtered.load()) return true;
  std::lock_guard lock(s.mutex);
  auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return s.checked.empty() ? !has(s.skipped) : has(s.checked);
}

// Bits of a value that is infinite or NaN include these (float8_e4m3: NaN has them all).
template <class T>
struct Form;
template <class B, B kSpecial>
struct FormOf {
  using Bits = B;
  static constexpr Bits special = kSpecial;
};
template <>
struct Form<float> : FormOf<uint32_t, 0x7f800000> {};
template <>
struct Form<double> : FormOf<uint64_t, 0x7ff0000000000000> {};
template <>
struct Form<float16> : FormOf<uint16_t, 0x7c00> {};
template <>
struct Form<bfloat16> : FormOf<uint16_t, 0x7f80> {};
template <>
struct Form<float8_e4m3> : FormOf<uint8_t, 0x7f> {};
template <>
struct Form<float8_e5m2> : FormOf<uint8_t, 0x7c> {};

template <class T>
bool all_finite(const T* x, int64_t n) {
  using Bits = typename Form<T>::Bits;
  const Bits* bits = reinterpret_cast<const Bits*>(x);
  std::atomic<bool> found{false};
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    unsigned any = 0;
    for (int64_t i = begin; i < end; ++i)
      any |= static_cast<Bits>(bits[i] & Form<T>::special) == Form<T>::special;
    if (any) found.store(true, std::memory_order_relaxed);
  });
  return !found.load();
}

template <class T>
Numbers numbers_of(const T* x, int64_t n) {
  Numbers r;
  r.count = n;
  r.min = std::numeric_limits<double>::infinity();
  r.max = -r.min;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = x[i];
    r.nans += std::isnan(v);
    r.infs += std::isinf(v);
    r.zeros += v == 0;
    if (v < r.min) r.min = v;
    if (v > r.max) r.max = v;
    sum += v;
  }
  if (r.nans == n) r.min = r.max = std::numeric_limits<double>::quiet_NaN();
  r.mean = n ? sum / static_cast<double>(n) : 0;
  if (n == 0) r.min = r.max = 0;
  return r;
}

// Calls f(pointer, count) with the elements of t as real numbers; false for other dtypes.
template <class F>
bool with_reals(const Tensor& t, F&& f) {
  if (!is_floating(t.dtype()) && !is_complex(t.dtype())) return false;
  if (!t.has_data() || t.place().kind != DeviceKind::cpu) return false;
  Tensor dense = contiguous(t);
  int64_t n = dense.numel() * (is_complex(t.dtype()) ? 2 : 1);
  return dispatch_types<float, double, float16, bfloat16, float8_e4m3, float8_e5m2>(
      real_of(t.dtype()), [&]<class T>(T) { f(reinterpret_cast<const T*>(dense.raw()), n); });
}

const char* short_name(DType t) {
  switch (t) {
    case DType::float16:
      return "fp16";
    case DType::bfloat16:
      return "bf16";
    case DType::float32:
      return "fp32";
    case DType::float64:
      return "fp64";
    default:
      return name_of(t);
  }
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", v);
  return text;
}

std::string place_text(const Tensor& t) {
  Message m;
  m << t.place();
  return m.str();
}

void report(const Tensor& t, const std::string& op, const std::string& label, const Numbers& r) {
  char tail[256];
  auto n = [](int64_t v) { return static_cast<long long>(v); };
  int used = std::snprintf(tail, sizeof(tail), "numel=%lld, ", n(t.numel()));
  if (!r.finite())
    used += std::snprintf(tail + used, sizeof(tail) - used, "num_nan=%lld, num_inf=%lld, ",
                          n(r.nans), n(r.infs));
  std::snprintf(tail + used, sizeof(tail) - used, "num_zero=%lld, max=%e, min=%e, mean=%e",
                n(r.zeros), r.max, r.min, r.mean);
  std::string line = std::string(r.finite() ? "[PRECISION]" : "[PRECISION] [ERROR]") +
                     " in [device=" + place_text(t) + ", op=" + op + ", tensor=" + label +
                     ", dtype=" + short_name(t.dtype()) + "], " + tail;
  if (auto* to = Settings::instance().report.load()) return to(line);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void describe(Message& m, const char* role, const Labelled& item) {
  m << "\n  " << role << ' ' << item.label << ": ";
  const Tensor& t = item.tensor;
  if (!t.defined()) {
    m << "None";
    return;
  }
  m << t.dtype() << ' ' << t.shape();
  if (item.overwritten) {
    m << ", overwritten by the result";
    return;
  }
  Numbers r;
  if (with_reals(t, [&](const auto* x, int64_t n) { r = numbers_of(x, n); }))
    m << ", num_nan=" << r.nans << ", num_inf=" << r.infs << ", min=" << number(r.min)
      << ", max=" << number(r.max);
}

[[noreturn]] void fail(const std::string& name, std::span<const Labelled> in,
                       std::span<const Labelled> out, const Labelled& bad, const Numbers& r) {
  Message m;
  m << '[' << name << "] NaN or Inf in the result: " << bad.label << " has num_nan=" << r.nans
    << ", num_inf=" << r.infs << " among " << r.count << " values.";
  bool came_in = false;
  for (const Labelled& item : in) {
    describe(m, "input", item);
    if (item.tensor.defined() && !item.overwritten)
      with_reals(item.tensor, [&](const auto* x, int64_t n) { came_in |= !all_finite(x, n); });
  }
  for (const Labelled& item : out) describe(m, "output", item);
  m << "\nDo this: "
    << (came_in ? "an input has them already; look at where it comes from (data, a parameter, or "
                  "an op that was not checked)."
                : "the inputs are finite, so this op made them; keep its inputs in the range "
                  "where it is defined, or scale them down.");
  throw Error(ErrorKind::runtime, m.str());
}

bool beyond_half(const Numbers& r) {
  return std::max(std::abs(r.min), std::abs(r.max)) > 65504;
}

// The names that a schema gives to flat places.
std::vector<Labelled> labelled_inputs(const OpDef& op, const Inputs& in,
                                      std::span<const Tensor> out) {
  std::vector<Labelled> items;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    bool list = op.inputs[i].list;
    std::span<const Tensor> of =
        list ? in.list(i) : std::span<const Tensor>(in.flat()).subspan(in.place_of(i), 1);
    for (size_t k = 0; k < of.size(); ++k) {
      std::string label = list ? indexed(op.inputs[i].name, k) : op.inputs[i].name;
      bool overwritten = false;
      for (const Tensor& o : out)
        overwritten |= o.defined() && of[k].defined() && o.raw() && o.raw() == of[k].raw();
      items.push_back({std::move(label), of[k], overwritten});
    }
  }
  return items;
}

std::vector<Labelled> labelled_outputs(const OpDef& op, std::span<const Tensor> out) {
  std::vector<Labelled> items;
  bool one_list = op.outputs.size() == 1 && op.outputs[0].list;
  for (size_t i = 0; i < out.size(); ++i) {
    std::string label = one_list                ? indexed(op.outputs[0].name, i)
                        : i < op.outputs.size() ? op.outputs[i].name
                                                : indexed("out", i);
    items.push_back({std::move(label), out[i]});
  }
  return items;
}

// Views hold what their base holds.
bool is_view(const OpDef& op, const Inputs& in, const Tensor& out) {
  if (!(op.view || op.views) || in.flat().empty()) return false;
  const Tensor& base = in.flat()[0];
  return base.defined() && in_one_memory(base, out);
}

bool worth_a_look(const Tensor& t, int64_t level) {
  bool look = false;
  with_reals(t, [&](const auto* x, int64_t n) { look = level >= 2 || !all_finite(x, n); });
  return look;
}

}  // namespace

std::string indexed(const std::string& name, size_t i) {
  std::string text = name;
  text.append("[").append(std::to_string(i)).append("]");
  return text;
}

Numbers look_at(const Tensor& t) {
  Numbers r;
  ARGOSY_CHECK(with_reals(t, [&](const auto* x, int64_t n) { r = numbers_of(x, n); }), type)
      << "[check_numerics] expected a Tensor of floating or complex numbers on the CPU, got " << t
      << '.';
  return r;
}

Numbers check_numbers(const Tensor& t, const std::string& op, const std::string& label,
                      int64_t level) {
  Numbers r = look_at(t);
  Labelled item{label.empty() ? "out" : label, t};
  if (level <= 0 && !r.finite()) fail(op, {}, {}, item, r);
  if (!r.finite() || level >= 3 || (level == 2 && beyond_half(r))) report(t, op, label, r);
  return r;
}

void check_finite(const std::string& name, std::span<const Labelled> in,
                  std::span<const Labelled> out) {
  if (!is_checked(name)) return;
  int64_t level = level_flag().integer();
  for (const Labelled& item : out) {
    if (!item.tensor.defined() || !worth_a_look(item.tensor, level)) continue;
    Numbers r = look_at(item.tensor);
    if (level <= 0) fail(name, in, out, item, r);
    if (!r.finite() || level >= 3 || (level == 2 && beyond_half(r)))
      report(item.tensor, name, item.label, r);
  }
}

void check_finite(const OpDef& op, const Inputs& in, std::span<const Tensor> out) {
  if (op.uninitialized) return;
  int64_t level = level_flag().integer();
  bool look = false;
  for (const Tensor& t : out) look |= t.defined() && !is_view(op, in, t) && worth_a_look(t, level);
  if (look) check_finite(op.name, labelled_inputs(op, in, out), labelled_outputs(op, out));
}

void set_checked_ops(std::vector<std::string> checked, std::vector<std::string> skipped) {
  Settings& s = Settings::instance();
  std::lock_guard lock(s.mutex);
  s.filtered = !checked.empty() || !skipped.empty();
  s.checked = std::move(checked);
  s.skipped = std::move(skipped);
}

void set_report(void (*report)(const std::string& line)) {
  Settings::instance().report = report;
}

}  // namespace argosy::op
