#include "argosy/base/flags.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/text.h"

namespace argosy::flags {
namespace {

using enum Effect;

int64_t operator""_i(unsigned long long n) {
  return static_cast<int64_t>(n);
}
std::string operator""_s(const char* text, size_t size) {
  return {text, size};
}

// To add a flag, add a line, and regenerate docs/flags.md (its test says how).
std::span<Flag> table() {
  static Flag flags[] = {
      {"FLAGS_check_nan_inf", false, live, "Check each op's outputs for NaN and infinity."},
      {"FLAGS_check_nan_inf_level", 0_i, live,
       "What a NaN or infinity found does: 0 raises, 1 and above print. 2 also prints outputs that "
       "float16 cannot hold, 3 all."},
      {"FLAGS_set_to_1d", false, none, "Whether 0-d tensors become 1-d NumPy arrays."},
      {"FLAGS_benchmark", false, none, "Wait for each op."},
      {"FLAGS_call_stack_level", 1_i, none, "How much of the stack an error shows."},
      {"FLAGS_low_precision_op_list", 0_i, none, "Collect the ops that ran under amp."},
      {"FLAGS_use_stride_kernel", true, none, "Views share storage. They always do."},
      {"FLAGS_sort_sum_gradient", false, none, "Sum gradients in the order of use. Always done."},
      {"FLAGS_max_inplace_grad_add", 0_i, none, "How many gradients are added in place."},
      {"FLAGS_retain_grad_for_all_tensor", false, none,
       "Keep .grad of tensors that are not leaves."},
      {"FLAGS_cudnn_deterministic", false, gpu,
       "Convolutions, attention and sums at one place give the same bits each time on GPUs. On "
       "CPUs "
       "they always do."},
      {"FLAGS_cpu_deterministic", false, none, "Deterministic reductions. They always are."},
      {"FLAGS_embedding_deterministic", 0_i, gpu,
       "Gradients that meet at one row, or place, are added in the same order in each run."},
      {"FLAGS_cudnn_exhaustive_search", false, gpu, "Try all convolution algorithms."},
      {"FLAGS_conv_workspace_size_limit", 512_i, gpu, "MiB of scratch for a convolution."},
      {"FLAGS_cudnn_batchnorm_spatial_persistent", false, gpu,
       "A variant of batch norm on GPUs. Changes nothing, and says so: there is one."},
      {"FLAGS_gemm_use_half_precision_compute_type", false, gpu,
       "Accumulate products in half. Changes nothing, and says so: they never are."},
      {"FLAGS_allow_tf32", false, live,
       "Let GPUs round the factors of float32 products to TF32 (10 bits), which is faster. "
       "NVIDIA's libraries obey NVIDIA_TF32_OVERRIDE of the environment before it."},
      {"FLAGS_cublaslt_exhaustive_search_times", 0_i, live,
       "How often a GPU times each algorithm of a product to find the fastest; 0: it takes the one "
       "that cuBLASLt expects to be."},
      {"FLAGS_use_autotune", false, none, "Try kernels and keep the best."},
      {"FLAGS_use_mkldnn", false, none, "Use oneDNN. Where it is best, it is used anyway."},
      {"FLAGS_use_onednn", false, none, "Use oneDNN. Where it is best, it is used anyway."},
      {"FLAGS_allocator_strategy", "auto_growth"_s, none, "auto_growth is the only one."},
      {"FLAGS_fraction_of_cpu_memory_to_use", 1.0, none, "Share of memory to reserve at first."},
      {"FLAGS_fraction_of_gpu_memory_to_use", 0.92, none, "Share of memory to reserve at first."},
      {"FLAGS_initial_cpu_memory_in_mb", 500_i, none, "Memory to reserve at first."},
      {"FLAGS_initial_gpu_memory_in_mb", 0_i, none, "Memory to reserve at first."},
      {"FLAGS_reallocate_gpu_memory_in_mb", 0_i, none, "Memory to reserve when more is needed."},
      {"FLAGS_auto_growth_chunk_size_in_mb", 0_i, none, "Size of the allocator's chunks."},
      {"FLAGS_gpu_memory_limit_mb", 0_i, none, "Most memory to use on a GPU."},
      {"FLAGS_eager_delete_tensor_gb", 0.0, none, "Garbage to collect before tensors are freed."},
      {"FLAGS_fast_eager_deletion_mode", true, none, "Free tensors without waiting."},
      {"FLAGS_memory_fraction_of_eager_deletion", 1.0, none, "Share of tensors to free early."},
      {"FLAGS_use_pinned_memory", true, none, "Pin the host memory of copies to a GPU."},
      {"FLAGS_use_shm_cache", false, none, "Reuse shared memory files of the DataLoader."},
      {"FLAGS_use_system_allocator", false, none, "See ARGOSY_ALLOCATOR."},
      {"FLAGS_paddle_num_threads", 1_i, none, "See ARGOSY_NUM_THREADS."},
      {"FLAGS_inner_op_parallelism", 0_i, none, "See ARGOSY_NUM_THREADS."},
      {"FLAGS_selected_gpus", ""_s, gpu,
       "GPUs of this process by number: set_device('gpu') and ParallelEnv().device_id take the "
       "first."},
      {"FLAGS_enable_pir_api", true, none, "Choose Paddle's newer Program."},
      {"FLAGS_enable_pir_in_executor", true, none, "Choose Paddle's newer Program."},
      {"FLAGS_prim_forward", false, none, "Open composed ops while capturing."},
      {"FLAGS_prim_backward", false, none, "Open composed gradients while capturing."},
      {"FLAGS_print_ir", false, none, "Print Programs as passes rewrite them."},
      {"FLAGS_new_executor_serial_run", false, live,
       "Run the ops of a Program one after the other."},
      {"FLAGS_tensor_operants_mode", "eager"_s, none, "What operators of C++ tensors do."},
      {"FLAGS_host_trace_level", 1_i, none, "How much the profiler records."},

      {"ARGOSY_NUM_THREADS", 0_i, startup,
       "Threads of the pool; 0: OMP_NUM_THREADS, else as many as there are cores. Later: "
       "set_num_threads."},
      {"ARGOSY_ALLOCATOR", "pool"_s, startup,
       "pool; system: each block from the C library, for sanitizers; guard: each block ends at a "
       "page that faults when it is touched, for what reads or writes past a tensor."},
      {"ARGOSY_MEMORY_LIMIT_MB", 0_i, startup,
       "Most memory to use on the CPU, in MiB; 0: no limit."},
      {"ARGOSY_DEVICE_GRAPHS", true, startup,
       "Runs of kernels in plans for a device are recorded and launched as one, where it can."},
      {"ARGOSY_DEVICE_FUSION", true, startup,
       "Elementwise steps of plans for a device become one kernel, where it can."},
      {"ARGOSY_STREAMED_DEVICES", 0_i, startup,
       "Devices streamed:0, .. to test with, see devices.md; 0: none."},
      {"ARGOSY_STREAMED_DELAY_US", 0_i, startup,
       "Their work waits a random time of up to so many microseconds."},
      {"ARGOSY_ISA", ""_s, startup,
       "Widest instruction set to use: avx2, avx512, avx512_vnni, avx512_bf16, amx; empty: all."},
      {"ARGOSY_PASSES", ""_s, startup,
       "Passes to take out of or add to every pipeline: \"-cse,+remat\"."},
      {"ARGOSY_VERIFY_PASSES", false, startup, "Check a Program after each pass."},
      {"ARGOSY_PS_DISK_SECONDS", 60_i, startup,
       "Most seconds that a call of a table on disk waits while its database is being opened."},
      {"ARGOSY_DATA_TIMEOUT", 600.0, startup,
       "Seconds without a byte of a file, command or reader, or without a batch of a DataLoader's "
       "worker, after which waiting ends in TimeoutError; inf: never. Data sets and loaders that "
       "are "
       "given a timeout keep to that."},
      {"ARGOSY_COMM_TIMEOUT", 300.0, startup,
       "Seconds that a process waits for another one in init_parallel_env and in a collective, "
       "after "
       "which all processes of the group raise CommunicationTimeout. Groups that are given a "
       "timeout "
       "keep to that."},
      {"ARGOSY_COMM_ENGINE", ""_s, startup,
       "tcp: connect processes by TCP even where they are on one host; empty: by shared memory "
       "there."},
      {"ARGOSY_COMM_CHECK", false, startup,
       "Compare checksums of all that collectives send between hosts."},
      {"ARGOSY_COMM_ALGORITHM", "automatic"_s, startup,
       "How all_reduce goes between hosts: direct (all send all they have to all), shares (each "
       "rank reduces its share of what all send it), ring, doubling, halving or tree (partial sums "
       "are passed on; not for 16-bit numbers); automatic: what the model of the links finds "
       "fastest for the size."},
      {"ARGOSY_COMM_LINKS", ""_s, startup,
       "The model of the links between hosts, alike on all processes: latency, a rank's time for a "
       "message, bandwidth, as in 30us,5us,10gbit, which is what empty means; or the path of a "
       "file with such a line, as argosy.distributed.measure_links writes it."},
      {"ARGOSY_AMP_FLOAT16", false, startup,
       "Let auto_cast, decorate and GradScaler take effect for float16 too, which CPUs compute as "
       "float32: for tests of programs."},
      {"ARGOSY_LOG_LEVEL", "warning"_s, startup, "error, warning, info or debug."},
  };
  return flags;
}

Type type_of(const Value& value) {
  return static_cast<Type>(value.index());
}

const char* type_name(Type type) {
  constexpr const char* kNames[] = {"bool", "int", "float", "str"};
  return kNames[static_cast<int>(type)];
}

std::string similar_to(std::string_view name) {
  std::vector<std::pair<size_t, const char*>> near;
  for (const Flag& flag : table()) {
    size_t d = edit_distance(name, flag.name(), true);
    std::string_view bare(flag.name());
    bare.remove_prefix(bare.find('_') + 1);
    d = std::min(d, edit_distance(name, bare, true));
    if (d <= name.size() / 3) near.emplace_back(d, flag.name());
  }
  std::stable_sort(near.begin(), near.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(near.size(), 3); ++i) {
    text.append(i == 0 ? " Did you mean " : i + 1 < near.size() && i < 2 ? ", " : " or ");
    text.append(near[i].second);
  }
  return text.empty() ? text : text + "?";
}

bool equals(std::string_view text, const char* word) {
  return text.size() == std::string_view(word).size() &&
         strncasecmp(text.data(), word, text.size()) == 0;
}

template <class T>
std::optional<Value> parse_number(std::string_view text) {
  T number{};
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Nothing where it would lose something.
std::optional<Value> convert(const Value& value, Type to) {
  Type from = type_of(value);
  if (from == to) return value;
  if (from == Type::text) return parse(std::get<std::string>(value), to);
  double number = from == Type::boolean   ? std::get<bool>(value)
                  : from == Type::integer ? static_cast<double>(std::get<int64_t>(value))
                                          : std::get<double>(value);
  if (to == Type::boolean) return number != 0;
  if (to == Type::real) return number;
  if (to == Type::integer && number == std::trunc(number)) return static_cast<int64_t>(number);
  return std::nullopt;
}

}  // namespace

std::optional<Value> parse(std::string_view text, Type type) {
  switch (type) {
    case Type::boolean:
      for (const char* word : {"", "0", "false", "off", "no"}) {
        if (equals(text, word)) return false;
      }
      for (const char* word : {"1", "true", "on", "yes"}) {
        if (equals(text, word)) return true;
      }
      return std::nullopt;
    case Type::integer:
      return parse_number<int64_t>(text);
    case Type::real:
      return parse_number<double>(text);
    case Type::text:
      break;
  }
  return std::string(text);
}

std::string print(const Value& value) {
  Message m;
  switch (type_of(value)) {
    case Type::boolean:
      m << std::get<bool>(value);
      break;
    case Type::integer:
      m << static_cast<long long>(std::get<int64_t>(value));
      break;
    case Type::real:
      m << std::get<double>(value);
      break;
    case Type::text:
      m << std::get<std::string>(value);
      break;
  }
  return m.str();
}

Flag::Flag(const char* name, Value initial, Effect effect, const char* doc)
    : name_(name), doc_(doc), initial_(std::move(initial)), effect_(effect) {
  store(initial_);
  const char* text = std::getenv(name);
  if (!text) return;
  const auto value = parse(text, type());
  // What is read once counts something: threads, MiB, devices, microseconds, seconds.
  const auto is_wrong = [&] {
    if (const auto* number = std::get_if<double>(&*value)) return !(*number >= 0);
    const auto* number = std::get_if<int64_t>(&*value);
    return number && *number < 0;
  };
  if (value && !(effect == startup && is_wrong()))
    store(*value);
  else
    std::fprintf(stderr, "argosy warning: the environment's %s=%s is %s; using %s\n", name, text,
                 value ? "not 0 or more" : std::string("no ").append(type_name(type())).c_str(),
                 print(initial_).c_str());
}

Value Flag::get() const {
  switch (type()) {
    case Type::boolean:
      return boolean();
    case Type::integer:
      return integer();
    case Type::real:
      return real();
    case Type::text:
      break;
  }
  return text();
}

std::string Flag::text() const {
  std::lock_guard lock(mutex_);
  return text_;
}

void Flag::store(const Value& value) {
  switch (type()) {
    case Type::boolean:
      number_.store(std::get<bool>(value), std::memory_order_relaxed);
      break;
    case Type::integer:
      number_.store(std::get<int64_t>(value), std::memory_order_relaxed);
      break;
    case Type::real:
      real_.store(std::get<double>(value), std::memory_order_relaxed);
      break;
    case Type::text: {
      std::lock_guard lock(mutex_);
      text_ = std::get<std::string>(value);
      break;
    }
  }
}

void Flag::set(const Value& value) {
  ARGOSY_CHECK(effect_ != startup, invalid_argument)
      << "[set_flags] " << name_
      << " is read once, when the process starts. Do this: set the environment variable before. ("
      << doc_ << ")";
  auto converted = convert(value, type());
  ARGOSY_CHECK(converted, type) << "[set_flags] " << name_ << " expects a value of type "
                                << type_name(type()) << ", got '" << print(value) << "' of type "
                                << type_name(type_of(value)) << '.';
  store(*converted);
  if (auto* changed = changed_.load()) changed();
}

void Flag::listen(void (*changed)()) {
  changed_.store(changed);
  changed();
}

Flag& find(std::string_view name) {
  for (Flag& flag : table()) {
    if (name == flag.name()) return flag;
  }
  ARGOSY_THROW(not_found) << "[flags] there is no flag '" << name << "'." << similar_to(name)
                          << " Do this: take a name from docs/flags.md.";
}

std::span<Flag> all() {
  return table();
}

std::string markdown() {
  constexpr const char* kEffects[] = {"at once", "at the start", "none", "on GPUs"};
  std::string text =
      "| name | type | default | takes effect | |\n| --- | --- | --- | --- | --- |\n";
  for (const Flag& flag : table()) {
    std::string value = print(flag.initial());
    text.append("| `").append(flag.name()).append("` | ").append(type_name(flag.type()));
    text.append(" | ").append(value.empty() ? "(empty)" : value).append(" | ");
    text.append(kEffects[static_cast<int>(flag.effect())]).append(" | ").append(flag.doc());
    text.append(" |\n");
  }
  return text;
}

}  // namespace argosy::flags
