#include <cstring>
#include <vector>

#include "argosy/infer/c/argosy.h"
#include "argosy/program/serialize.h"
#include "argosy/program/text.h"
#include "fuzz.h"

// Calls of argosy.h in any order, with any handles, places, types and shapes: each gives a status,
// and a text where it fails. What C cannot tell stays right: memory is as large as its shape says,
// and handles are used until they are destroyed.
using namespace argosy;

namespace {

constexpr size_t kHandles = 3;
constexpr size_t kRoom = 4096;

const std::string& model() {
  static const std::string bytes = program::serialize(*program::parse(R"(program {
  input %0 "x" : float32[?, 3]
  input %1 "i" : int64[?]
  %2 = softmax(%0) {axis=-1, dtype=None} : float32[?, 3]
  %3 = abs(%1) : int64[?]
  output "y" = %2
  output "k" = %3
}
)"));
  return bytes;
}

// An ONNX file: sums of x, whose number of dimensions it leaves open, over the axes that i has. So
// its Program depends on what is fed.
const std::string& open_model() {
  constexpr char kFile[] =
      "\x08\x08:X\n'\n\x01x\n\x01i\x12\x01y\"\tReduceSum:\x00*"
      "\x0f\n\x08keepdims\x18\x00\xa0\x01\x02"
      "\x12\x05graphZ\t\n\x01x\x12\x04\n\x02\x08\x01Z\x10\n\x01i\x12\x0b\n\t\x08\x07\x12\x05\n\x03"
      "\x12\x01k"
      "b\t\n\x01y\x12\x04\n\x02\x08\x01"
      "B\x04\n\x00\x10\x11";
  static const std::string bytes(kFile, sizeof(kFile) - 1);
  return bytes;
}

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool empty() const { return data_ == end_; }
  uint8_t byte() { return empty() ? 0 : *data_++; }
  int64_t number() {
    static constexpr int64_t odd[] = {INT64_MIN, INT64_MAX, 1ll << 40, -1, 1000, 1ll << 62};
    const uint8_t v = byte();
    return v < 230 ? v % 6 : odd[v % std::size(odd)];
  }

 private:
  const uint8_t *data_, *end_;
};

class Caller {
 public:
  explicit Caller(Bytes b) : b_(b), room_(kRoom) {}
  ~Caller() {
    for (argosy_options* o : options_) argosy_options_destroy(o);
    for (argosy_predictor* p : predictors_) argosy_predictor_destroy(p);
  }
  void run() {
    while (!b_.empty()) call();
  }

 private:
  argosy_options*& options() { return options_[b_.byte() % kHandles]; }
  argosy_predictor*& predictor() { return predictors_[b_.byte() % kHandles]; }

  void check(argosy_status status) {
    if (status == ARGOSY_OK) return;
    if (status < 0 || status > ARGOSY_ABI_MISMATCH) fuzz::die("there is no such status");
    if (!*argosy_last_error()) fuzz::die("a failure without a text");
    if (status == ARGOSY_INTERNAL) fuzz::die(argosy_last_error());
  }

  void shape() {
    rank_ = static_cast<int32_t>(b_.byte() % 14) - 2;
    for (int64_t& size : shape_) size = b_.number();
  }
  // Does a valid shape fit the room? One that is not valid is refused before memory is looked at.
  bool fits(size_t limit) const {
    __int128 count = 16;
    if (rank_ < 0 || rank_ > ARGOSY_MAX_RANK) return true;
    for (int32_t d = 0; d < rank_; ++d)
      if (shape_[d] < 0) return true;
    for (int32_t d = 0; d < rank_; ++d) {
      count *= shape_[d];
      if (count > static_cast<__int128>(limit)) return false;
    }
    return true;
  }

  void set_options() {
    argosy_options* o = options();
    switch (b_.byte() % 8) {
      case 0:
        return check(argosy_options_set_model(o, b_.byte() % 2 ? "/nowhere" : nullptr, nullptr));
      case 1:
        return check(
            argosy_options_set_model_memory(o, model().data(), model().size(), nullptr, 0));
      case 7:
        return check(argosy_options_set_model_memory(o, open_model().data(), open_model().size(),
                                                     nullptr, 0));
      case 2:
        return check(argosy_options_set_model_memory(o, model().data(), b_.byte(), nullptr, 0));
      case 3:
        return check(argosy_options_set_threads(o, static_cast<int32_t>(b_.byte() % 4) - 1));
      case 4:
        return check(argosy_options_set_memory_limit(o, b_.byte() * size_t{64}));
      case 5: {
        const int n = b_.byte();
        check(argosy_options_set_time_limit(o, n / 4 - 1));
        return check(argosy_options_set_kept_shapes(o, n % 4));
      }
      default:
        return check(argosy_options_set_optimize(o, b_.byte() % 2));
    }
  }

  void ask(argosy_predictor* p) {
    const char* name = nullptr;
    argosy_view view;
    size_t i = b_.byte() % 4;
    switch (b_.byte() % 4) {
      case 0:
        check(argosy_predictor_describe_input(p, i, &name, b_.byte() % 2 ? &view : nullptr));
        break;
      case 1:
        check(argosy_predictor_describe_output(p, i, b_.byte() % 2 ? &name : nullptr, &view));
        break;
      case 2:
        check(argosy_predictor_find_input(p, b_.byte() % 2 ? "x" : "none", &i));
        break;
      default:
        check(argosy_predictor_find_output(p, b_.byte() % 2 ? "k" : nullptr, &i));
        break;
    }
    if (argosy_predictor_input_count(p) > 2 || argosy_predictor_output_count(p) > 2)
      fuzz::die("the model has two of each");
  }

  void give(argosy_predictor* p) {
    const size_t i = b_.byte() % 3;
    const auto dtype = static_cast<argosy_dtype>(b_.byte() % 20);
    const uint8_t how = b_.byte();
    shape();
    void* memory = nullptr;
    if (how % 3 == 2) {
      if (!fits(1 << 20)) return;
      check(argosy_predictor_input_memory(p, i, rank_, shape_, &memory));
      return;
    }
    if (!fits(kRoom)) return;
    const void* data = how % 16 == 15 ? nullptr : room_.data();
    check(how % 3 ? argosy_predictor_copy_input(p, i, dtype, rank_, shape_, data)
                  : argosy_predictor_borrow_input(p, i, dtype, rank_, shape_, data));
  }

  void take(argosy_predictor* p) {
    argosy_view view;
    const size_t i = b_.byte() % 3;
    const argosy_status status = argosy_predictor_view_output(p, i, &view);
    check(status);
    if (status != ARGOSY_OK) return;
    std::vector<char> copy(view.bytes);
    if (argosy_predictor_copy_output(p, i, copy.data(), copy.size()) ||
        std::memcmp(copy.data(), view.data, copy.size()))
      fuzz::die("a copy is not what is seen");
    check(argosy_predictor_copy_output(p, i, room_.data(), b_.byte()));
  }

  void call() {
    switch (b_.byte() % 12) {
      case 0: {
        argosy_options*& o = options();
        argosy_options_destroy(o);
        o = nullptr;
        return check(argosy_options_create(b_.byte() % 8 ? ARGOSY_ABI_VERSION : b_.byte(), &o));
      }
      case 1:
      case 2:
        return set_options();
      case 3: {
        argosy_predictor*& p = predictor();
        argosy_predictor_destroy(p);
        p = nullptr;
        return check(argosy_predictor_create(options(), &p));
      }
      case 4: {
        argosy_predictor *from = predictor(), *made = nullptr;
        check(argosy_predictor_clone(from, &made));
        argosy_predictor*& to = predictor();
        argosy_predictor_destroy(to);
        to = made;
        return;
      }
      case 5:
        return ask(predictor());
      case 6:
      case 7:
        return give(predictor());
      case 8:
      case 9:
        return check(argosy_predictor_run(predictor()));
      case 10:
        return take(predictor());
      default: {
        argosy_predictor* p = predictor();
        check(argosy_predictor_interrupt(p));
        return check(argosy_predictor_release_memory(p));
      }
    }
  }

  Bytes b_;
  std::vector<char> room_;
  argosy_options* options_[kHandles] = {};
  argosy_predictor* predictors_[kHandles] = {};
  int32_t rank_ = 0;
  int64_t shape_[16] = {};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Caller(Bytes(data, size)).run();
  return 0;
}
