#include "argosy/infer/c/argosy.h"

#include <atomic>
#include <cstring>
#include <new>

#include "argosy/base/parallel.h"
#include "argosy/infer/predictor.h"

// The C interface over infer::Predictor: no exception leaves it.

using namespace argosy;

struct argosy_options {
  infer::Options options;
  int32_t threads = 0;  // 0: as the process has them
};

struct argosy_predictor {
  std::unique_ptr<infer::Predictor> predictor;
  std::vector<Tensor> viewed;  // by output: what views of the caller look at
  std::atomic_flag in_use;     // by the call that is under way, which alone works with the others
};

namespace {

static_assert(static_cast<int>(DType::float32) == ARGOSY_FLOAT32);
static_assert(static_cast<int>(DType::int64) == ARGOSY_INT64);
static_assert(static_cast<int>(DType::complex128) == ARGOSY_COMPLEX128);
static_assert(kMaxRank <= ARGOSY_MAX_RANK);

thread_local std::string last_error;

argosy_status failed(argosy_status status, const char* text) {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

argosy_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::not_found:
      return ARGOSY_NOT_FOUND;
    case ErrorKind::not_implemented:
      return ARGOSY_NOT_IMPLEMENTED;
    case ErrorKind::memory:
      return ARGOSY_OUT_OF_MEMORY;
    case ErrorKind::io:
    case ErrorKind::permission:
      return ARGOSY_IO;
    case ErrorKind::timeout:
      return ARGOSY_TIMEOUT;
    case ErrorKind::runtime:
    case ErrorKind::device:
      return ARGOSY_RUNTIME;
    case ErrorKind::internal:
      return ARGOSY_INTERNAL;
    default:
      return ARGOSY_INVALID_ARGUMENT;
  }
}

template <class F>
argosy_status guarded(F&& f) noexcept {
  try {
    f();
    return ARGOSY_OK;
  } catch (const Error& e) {
    return failed(status_of(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return failed(ARGOSY_OUT_OF_MEMORY, "[argosy] there is no memory left.");
  } catch (const std::exception& e) {
    return failed(ARGOSY_INTERNAL, e.what());
  } catch (...) {
    return failed(ARGOSY_INTERNAL, "[argosy] an unknown exception.");
  }
}

template <class... P>
void need(const char* what, const P*... pointers) {
  ARGOSY_CHECK(((pointers != nullptr) && ...), invalid_argument)
      << '[' << what << "] a pointer is null. Do this: pass what the header says.";
}

// f, unless another thread is in such a call with this predictor.
template <class F>
argosy_status in_use(const char* what, argosy_predictor* p, F&& f) noexcept {
  return guarded([&] {
    need(what, p);
    ARGOSY_CHECK(!p->in_use.test_and_set(std::memory_order_acquire), runtime)
        << '[' << what << "] another thread is in a call with this predictor. Do this: give each "
        << "thread its own by argosy_predictor_clone.";
    struct Leave {
      std::atomic_flag& flag;
      ~Leave() { flag.clear(std::memory_order_release); }
    } leave{p->in_use};
    f();
  });
}

void need_place(const char* what, size_t i, size_t count) {
  ARGOSY_CHECK(i < count, index) << '[' << what << "] expected a place below " << count << ", got "
                                 << i << '.';
}

Shape shape_of(const char* what, int32_t rank, const int64_t* sizes) {
  ARGOSY_CHECK(rank >= 0 && rank <= kMaxRank && (sizes || rank == 0), invalid_argument)
      << '[' << what << "] expected a rank from 0 to " << kMaxRank << " and its sizes, got rank "
      << rank << '.';
  Shape shape;
  for (int32_t d = 0; d < rank; ++d) {
    ARGOSY_CHECK(sizes[d] >= 0, invalid_argument)
        << '[' << what << "] size " << d << " is " << sizes[d]
        << ". Do this: pass sizes of 0 or more.";
    shape.push_back(sizes[d]);
  }
  return shape;
}

Tensor borrowed(const char* what, argosy_dtype dtype, int32_t rank, const int64_t* sizes,
                const void* data) {
  const Shape shape = shape_of(what, rank, sizes);
  const int code = static_cast<int>(dtype);
  ARGOSY_CHECK(code >= 0 && code < kDTypeCount, invalid_argument)
      << '[' << what << "] there is no dtype " << code << '.';
  ARGOSY_CHECK(data || shape.numel() == 0, invalid_argument) << '[' << what << "] data is null.";
  static char nothing;
  return Tensor::wrap(data ? const_cast<void*>(data) : &nothing, shape, shape.contiguous_strides(),
                      static_cast<DType>(code), {}, nullptr, [](void*) {});
}

argosy_view view_of(const Shape& shape, DType dtype) {
  argosy_view view{};
  view.dtype = static_cast<argosy_dtype>(dtype);
  view.rank = shape.rank();
  for (int d = 0; d < shape.rank(); ++d) view.shape[d] = shape[d];
  return view;
}

argosy_status describe(const char* what, std::span<const infer::Port> ports, size_t i,
                       const char** name, argosy_view* view) {
  return guarded([&] {
    need_place(what, i, ports.size());
    if (name) *name = ports[i].name.c_str();
    if (!view) return;
    *view = view_of(ports[i].shape, ports[i].dtype);
    if (!ports[i].ranked) view->rank = -1;
  });
}

Tensor output_of(const char* what, argosy_predictor* p, size_t i) {
  need_place(what, i, p->predictor->outputs().size());
  Tensor t = p->predictor->output_on_host(i);
  ARGOSY_CHECK(t.defined(), runtime)
      << '[' << what << "] there is no output yet. Do this: call argosy_predictor_run first.";
  ARGOSY_CHECK(t.layout() == Layout::strided && t.is_contiguous(), not_implemented)
      << '[' << what << "] output '" << p->predictor->outputs()[i].name << "' is no dense array.";
  return t;
}

}  // namespace

uint32_t argosy_abi_version(void) {
  return ARGOSY_ABI_VERSION;
}

const char* argosy_last_error(void) {
  return last_error.c_str();
}

argosy_status argosy_options_create(uint32_t abi_version, argosy_options** options) {
  if (abi_version != ARGOSY_ABI_VERSION)
    return failed(
        ARGOSY_ABI_MISMATCH,
        "[argosy_options_create] the program was compiled for another version of argosy.h. "
        "Do this: compile it with the header beside this library.");
  return guarded([&] {
    need("argosy_options_create", options);
    *options = new argosy_options;
  });
}

void argosy_options_destroy(argosy_options* options) {
  delete options;
}

argosy_status argosy_options_set_model(argosy_options* options, const char* path,
                                       const char* weights) {
  return guarded([&] {
    need("argosy_options_set_model", options, path);
    options->options.model = {};
    options->options.model.path = path;
    if (weights) options->options.model.weights = weights;
  });
}

argosy_status argosy_options_set_model_memory(argosy_options* options, const void* program,
                                              size_t program_bytes, const void* weights,
                                              size_t weight_bytes) {
  return guarded([&] {
    need("argosy_options_set_model_memory", options, program);
    options->options.model = {};
    options->options.model.program_bytes = {static_cast<const char*>(program), program_bytes};
    if (weights)
      options->options.model.weight_bytes = {static_cast<const char*>(weights), weight_bytes};
  });
}

argosy_status argosy_options_set_threads(argosy_options* options, int32_t threads) {
  return guarded([&] {
    need("argosy_options_set_threads", options);
    ARGOSY_CHECK(threads >= 1 && threads <= 4096, invalid_argument)
        << "[argosy_options_set_threads] expected 1 to 4096, got " << threads << '.';
    options->threads = threads;
  });
}

argosy_status argosy_options_set_memory_limit(argosy_options* options, size_t bytes) {
  return guarded([&] {
    need("argosy_options_set_memory_limit", options);
    options->options.memory_limit = bytes;
  });
}

argosy_status argosy_options_set_time_limit(argosy_options* options, double seconds) {
  return guarded([&] {
    need("argosy_options_set_time_limit", options);
    ARGOSY_CHECK(seconds >= 0, invalid_argument)
        << "[argosy_options_set_time_limit] expected 0 or more seconds, got " << seconds << '.';
    options->options.time_limit = seconds;
  });
}

argosy_status argosy_options_set_device(argosy_options* options, const char* kind, int32_t index) {
  return guarded([&] {
    need("argosy_options_set_device", options, kind);
    ARGOSY_CHECK(index >= 0, invalid_argument)
        << "[argosy_options_set_device] expected an index of 0 or more, got " << index << '.';
    options->options.device = kind;
    options->options.device_index = index;
  });
}

argosy_status argosy_options_set_precision(argosy_options* options, argosy_dtype dtype) {
  return guarded([&] {
    need("argosy_options_set_precision", options);
    ARGOSY_CHECK(dtype == ARGOSY_FLOAT32 || dtype == ARGOSY_FLOAT16 || dtype == ARGOSY_BFLOAT16,
                 invalid_argument)
        << "[argosy_options_set_precision] expected ARGOSY_FLOAT32, ARGOSY_FLOAT16 or "
           "ARGOSY_BFLOAT16, got "
        << static_cast<int>(dtype) << '.';
    options->options.precision = static_cast<DType>(dtype);
  });
}

argosy_status argosy_options_set_kept_shapes(argosy_options* options, size_t count) {
  return guarded([&] {
    need("argosy_options_set_kept_shapes", options);
    options->options.plans = count;
  });
}

argosy_status argosy_options_set_optimize(argosy_options* options, int32_t optimize) {
  return guarded([&] {
    need("argosy_options_set_optimize", options);
    options->options.optimize = optimize != 0;
  });
}

argosy_status argosy_predictor_create(const argosy_options* options, argosy_predictor** predictor) {
  return guarded([&] {
    need("argosy_predictor_create", options, predictor);
    if (options->threads) set_num_threads(options->threads);
    auto made = std::make_unique<argosy_predictor>();
    made->predictor = std::make_unique<infer::Predictor>(options->options);
    *predictor = made.release();
  });
}

argosy_status argosy_predictor_clone(const argosy_predictor* predictor, argosy_predictor** clone) {
  return guarded([&] {
    need("argosy_predictor_clone", predictor, clone);
    auto made = std::make_unique<argosy_predictor>();
    made->predictor = predictor->predictor->clone();
    *clone = made.release();
  });
}

void argosy_predictor_destroy(argosy_predictor* predictor) {
  delete predictor;
}

size_t argosy_predictor_input_count(const argosy_predictor* predictor) {
  return predictor ? predictor->predictor->inputs().size() : 0;
}

size_t argosy_predictor_output_count(const argosy_predictor* predictor) {
  return predictor ? predictor->predictor->outputs().size() : 0;
}

argosy_status argosy_predictor_describe_input(const argosy_predictor* predictor, size_t i,
                                              const char** name, argosy_view* view) {
  if (!predictor) return failed(ARGOSY_INVALID_ARGUMENT, "[argosy_predictor] it is null.");
  return describe("argosy_predictor_describe_input", predictor->predictor->inputs(), i, name, view);
}

argosy_status argosy_predictor_describe_output(const argosy_predictor* predictor, size_t i,
                                               const char** name, argosy_view* view) {
  if (!predictor) return failed(ARGOSY_INVALID_ARGUMENT, "[argosy_predictor] it is null.");
  return describe("argosy_predictor_describe_output", predictor->predictor->outputs(), i, name,
                  view);
}

argosy_status argosy_predictor_find_input(const argosy_predictor* predictor, const char* name,
                                          size_t* i) {
  return guarded([&] {
    need("argosy_predictor_find_input", predictor, name, i);
    *i = predictor->predictor->input(name);
  });
}

argosy_status argosy_predictor_find_output(const argosy_predictor* predictor, const char* name,
                                           size_t* i) {
  return guarded([&] {
    need("argosy_predictor_find_output", predictor, name, i);
    *i = predictor->predictor->output(name);
  });
}

argosy_status argosy_predictor_borrow_input(argosy_predictor* predictor, size_t i,
                                            argosy_dtype dtype, int32_t rank, const int64_t* shape,
                                            const void* data) {
  constexpr const char* kName = "argosy_predictor_borrow_input";
  return in_use(kName, predictor, [&] {
    need_place(kName, i, predictor->predictor->inputs().size());
    predictor->predictor->set_input(i, borrowed(kName, dtype, rank, shape, data));
  });
}

argosy_status argosy_predictor_copy_input(argosy_predictor* predictor, size_t i, argosy_dtype dtype,
                                          int32_t rank, const int64_t* shape, const void* data) {
  constexpr const char* kName = "argosy_predictor_copy_input";
  return in_use(kName, predictor, [&] {
    need_place(kName, i, predictor->predictor->inputs().size());
    const Tensor from = borrowed(kName, dtype, rank, shape, data);
    const infer::Port& port = predictor->predictor->inputs()[i];
    ARGOSY_CHECK(from.dtype() == port.dtype, invalid_argument)
        << '[' << kName << "] input '" << port.name << "': expected " << port.dtype << ", got "
        << from.dtype() << '.';
    const Tensor& to = predictor->predictor->input_buffer(i, from.shape());
    if (from.nbytes()) std::memcpy(to.raw(), from.raw(), from.nbytes());
  });
}

argosy_status argosy_predictor_input_memory(argosy_predictor* predictor, size_t i, int32_t rank,
                                            const int64_t* shape, void** data) {
  constexpr const char* kName = "argosy_predictor_input_memory";
  return in_use(kName, predictor, [&] {
    need(kName, data);
    need_place(kName, i, predictor->predictor->inputs().size());
    *data = predictor->predictor->input_buffer(i, shape_of(kName, rank, shape)).raw();
  });
}

argosy_status argosy_predictor_run(argosy_predictor* predictor) {
  return in_use("argosy_predictor_run", predictor, [&] {
    predictor->viewed.clear();
    predictor->predictor->run();
  });
}

argosy_status argosy_predictor_interrupt(argosy_predictor* predictor) {
  return guarded([&] {
    need("argosy_predictor_interrupt", predictor);
    predictor->predictor->interrupt();
  });
}

argosy_status argosy_predictor_view_output(argosy_predictor* predictor, size_t i,
                                           argosy_view* view) {
  constexpr const char* kName = "argosy_predictor_view_output";
  return in_use(kName, predictor, [&] {
    need(kName, view);
    const Tensor t = output_of(kName, predictor, i);
    *view = view_of(t.shape(), t.dtype());
    view->data = t.raw();
    view->bytes = t.nbytes();
    predictor->viewed.resize(predictor->predictor->outputs().size());
    predictor->viewed[i] = t;
  });
}

argosy_status argosy_predictor_copy_output(argosy_predictor* predictor, size_t i, void* to,
                                           size_t bytes) {
  constexpr const char* kName = "argosy_predictor_copy_output";
  return in_use(kName, predictor, [&] {
    const Tensor t = output_of(kName, predictor, i);
    ARGOSY_CHECK(t.nbytes() == bytes && (to || !bytes), invalid_argument)
        << '[' << kName << "] output " << i << " has " << t.nbytes() << " bytes, there is room for "
        << bytes << ". Do this: ask argosy_predictor_view_output for its size.";
    if (bytes) std::memcpy(to, t.raw(), bytes);
  });
}

argosy_status argosy_predictor_release_memory(argosy_predictor* predictor) {
  return in_use("argosy_predictor_release_memory", predictor, [&] {
    predictor->viewed.clear();
    predictor->predictor->release_memory();
  });
}
