#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/op/attrs.h"
#include "argosy/tensor/tensor.h"

// What an op is. Everything about an op is said once, by the builder in op/define.h; this is the
// form that dispatch, autograd, Programs, bindings and tools read.
namespace argosy::op {

struct OpDef;

// The operands of one call, by position in the schema. A list input takes several flat places.
class Inputs {
 public:
  Inputs() = default;
  // ends[i]: one past the last flat place of input i; null when every input is one tensor.
  Inputs(std::span<const Tensor> flat, const uint32_t* ends = nullptr) : flat_(flat), ends_(ends) {}

  std::span<const Tensor> flat() const { return flat_; }
  const uint32_t* ends() const { return ends_; }
  // Input i of the schema (not a list); undefined if an optional one is missing.
  const Tensor& operator[](size_t i) const { return flat_[ends_ && i ? ends_[i - 1] : i]; }
  std::span<const Tensor> list(size_t i) const {
    if (!ends_) return flat_.subspan(i, 1);
    uint32_t begin = i ? ends_[i - 1] : 0;
    return flat_.subspan(begin, ends_[i] - begin);
  }
  // Flat place of input i's first tensor.
  size_t place_of(size_t i) const { return ends_ ? (i ? ends_[i - 1] : 0) : i; }

 private:
  std::span<const Tensor> flat_;
  const uint32_t* ends_ = nullptr;
};

struct Meta {
  Shape shape;
  DType dtype = DType::float32;
  Layout layout = Layout::strided;
};

// What infer works on. Sizes of inputs may be kUnknown; so may those it sets. An output whose size
// depends on data gets kUnknown there and is allocated by the kernel (KernelFrame::allocate).
struct InferContext {
  const OpDef& op;
  Inputs in;
  InlineVector<Meta, 3> out;  // sized to the schema; list outputs: resize

  ARGOSY_API const char* name() const;
};

// What one call takes, from shapes alone. All sizes are known.
struct Cost {
  double operations = 0;  // of arithmetic
  double bytes_read = 0, bytes_written = 0;
};

// What a kernel works on. Outputs are allocated (contiguous) unless their size depends on data.
struct KernelFrame {
  const OpDef& op;
  Inputs in;
  Tensors& out;

  ARGOSY_API const char* name() const;
  ARGOSY_API Tensor& allocate(size_t i, const Shape& shape);  // for data-dependent outputs
};

// What a gradient rule works on. Inputs and outputs are those saved; dy(i) may be undefined where
// an output was not used.
class ARGOSY_API GradCall {
 public:
  GradCall(const OpDef& op, Inputs in, std::span<const Tensor> out, std::span<const Tensor> dys,
           const bool* needs)
      : op(op), in(in), outs_(out), dys_(dys), needs_(needs) {}
  const OpDef& op;
  Inputs in;
  const Tensor& out(size_t i) const { return outs_[i]; }
  std::span<const Tensor> outs() const { return outs_; }
  const Tensor& dy(size_t i = 0) const { return dys_[i]; }
  std::span<const Tensor> dys() const { return dys_; }
  // Is the gradient for flat place i wanted?
  bool needs(size_t flat) const { return needs_[flat]; }

 private:
  std::span<const Tensor> outs_, dys_;
  const bool* needs_;
};

// An erased function over a typed attribute struct: `call` knows the type, `fn` is the function.
template <class R, class... Frame>
struct Erased {
  R (*call)(void (*fn)(), Frame..., const void* attrs) = nullptr;
  void (*fn)() = nullptr;
  R operator()(Frame... frame, const void* attrs) const { return call(fn, frame..., attrs); }
  explicit operator bool() const { return call != nullptr; }
};

// What a gradient rule reads of an input. others: its value, but only for gradients of the other
// inputs, as where the op is linear in it; for its own gradient alone, just its shape.
enum class Save : uint8_t { nothing, shape, others, value };

// What an op's kernels (or what it composes) read of an input. Of an input that is read as `shape`
// only, passes may hand over another tensor of its form, or one whose memory holds other values by
// then: reading it is a fault that no kernel notices.
enum class Reads : uint8_t { values, shape };

// A gradient that can be computed some rows at a time: the first rows are exchanged with other
// processes while further ones are computed.
struct RowGradient {
  // For operands of these shapes.
  bool (*applies)(const Inputs& in) = nullptr;
  // Rows [begin, end), of the first dimension, of what the op's gradient rule computes for the
  // input, but for the rounding of a product that is cut.
  Tensor (*rows)(const GradCall& c, int64_t begin, int64_t end) = nullptr;
  explicit operator bool() const { return rows != nullptr; }
};

// The same of operations in Programs, where such a gradient is what another op makes: rows
// [begin, end) of output 0 are what the op makes of [begin, end) of one dimension of an operand.
struct RowSource {
  size_t operand;
  int64_t axis;
};

struct LayoutSet {
  uint8_t bits = 0;
  constexpr LayoutSet(std::initializer_list<Layout> layouts) {
    for (Layout l : layouts) bits = static_cast<uint8_t>(bits | 1u << static_cast<unsigned>(l));
  }
  constexpr bool has(Layout l) const { return bits >> static_cast<unsigned>(l) & 1; }
};
inline constexpr LayoutSet kDense{Layout::strided};
inline constexpr LayoutSet kDenseOrRows{Layout::strided, Layout::row_sparse};
inline constexpr LayoutSet kArray{Layout::tensor_array};
inline constexpr LayoutSet kDenseOrArray{Layout::strided, Layout::tensor_array};

struct InputDef {
  std::string name;
  DTypes dtypes = kAny;
  bool optional = false;
  bool list = false;
  Reads reads = Reads::values;
  // Kernels read its values on the host, whatever place the other operands are on. It may be there
  // while they are on a device; else who runs the kernel brings it there.
  bool host = false;
  LayoutSet layouts = kDense;
  Save save = Save::nothing;
  RowGradient gradient_rows = {};
};

struct OutputDef {
  std::string name;
  bool list = false;
  bool hidden = false;  // for the gradient only: not returned to Python
  bool differentiable = true;
  Save save = Save::nothing;
};

struct KernelDef {
  std::string name;
  DeviceKind device;
  bool strided = false;    // takes any strides; otherwise dispatch makes its inputs contiguous
  bool any_order = false;  // gives the same bits whatever the strides of its inputs
  // Of the CPU: all that it does with operands is run_elementwise (ops/elementwise.h), so a device
  // that has loops of its own runs it as it is.
  bool on_loops = false;
  // It reads numbers of its attributes that are tensors (Scalar::tensor, one of float32 or float64)
  // where those lie, so a Program does not wait for them. Such a tensor also follows its inputs.
  bool reads_numbers = false;
  // Null, or why this kernel cannot do it. Reads shapes, dtypes, strides and attributes only.
  Erased<const char*, const Inputs&> match;
  Erased<void, KernelFrame&> run;
  const AttrType* attrs = nullptr;  // the struct that both read: the op's own
};

enum class Effect : uint8_t { pure, random, writes_input, communicates, io };

// How automatic casting (op/autocast.h) runs an op.
enum class Amp : uint8_t {
  follow,   // in 16 bits if all its floating operands are, else in float32
  lower,    // in 16 bits
  full,     // in float32
  leading,  // in the dtype of its first operand, the others as they come
  never,    // as it is called
};

// Another operation that gives what an operation does, in terms of its own operands and results.
// `op` on `operands` with `attrs`; null where the attributes and operands of the same op change.
struct Instead {
  // Operand i of the original where that is >= 0, none for kNone, else its result -1 - i.
  static constexpr int32_t kNone = INT32_MIN;
  static constexpr int32_t result(int32_t i) { return -1 - i; }

  const OpDef* op = nullptr;
  AttrBox attrs;
  InlineVector<int32_t, 8> operands;
  // It gives these first results of the original; the others are not made.
  uint32_t results = 0;
};

// What `inference` and `again` see of an operation: its attributes, and which op with which
// attributes made an operand.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  // Null for what no operation made or an operation whose attributes are values of the run.
  virtual const OpDef* made_by(size_t operand, const void** attrs) const = 0;
};

// The rule by which servers update a parameter as an optimizer op does. Rules and their numbers
// have the names of ps/config.h.
struct UpdateRule {
  using Names = std::vector<std::pair<std::string, std::string>>;

  std::string name;
  std::string rows;  // the rule for row-sparse gradients, where that is another
  std::vector<std::pair<std::string, double>> numbers;
  Names switches;       // numbers that are 1 where the operation has this list, else 0
  Names powers;         // numbers whose powers are in these lists: they correct a moment's bias
  std::string refused;  // why no rule does what these attributes ask for, or empty
};

// A row of `table` for each of `ids`, or the gradient of that. Its attributes have the names and
// meanings of those of `embedding`.
struct Lookup {
  int32_t ids = -1;
  int32_t table = -1;  // in a gradient: read for its shape
  int32_t dy = -1;     // in a gradient
  explicit operator bool() const { return ids >= 0; }
};

struct OpDef {
  std::string name;
  std::vector<InputDef> inputs;
  std::vector<OutputDef> outputs;
  const AttrType* attrs = nullptr;

  Erased<void, InferContext&> infer;  // null: like the first input
  Erased<Tensors, const Inputs&> compose;
  Erased<Tensor, const Tensor&> view;    // a view of input 0, or undefined where a copy is needed
  Erased<Tensors, const Tensor&> views;  // several views of input 0
  // Its views are a way to save a copy: whoever writes to one, or to input 0, gets it then.
  bool apart = false;
  Erased<Tensors, const GradCall&> gradient;
  Erased<Cost, const InferContext&> cost;  // null: by shapes (op/cost.h, which all callers ask)
  InlineVector<KernelDef, 2> kernels[kDeviceKinds];

  Effect effect = Effect::pure;
  bool promotes = false;     // inputs are cast to their common dtype first
  bool mixes_kinds = false;  // .. also of different kinds with dimensions: float32 with int64
  bool counts_0d = false;    // .. which 0-d operands decide as others do: float32[3], float64[]
  bool elementwise = false;  // all inputs broadcast to one shape, which is that of every output
  bool any_list = false;
  Amp amp_o1 = Amp::follow, amp_o2 = Amp::follow;  // automatic casting of levels O1 and O2
  // Where automatic casting wants its first operand in float32, its composition takes that in 16
  // bits and computes in float32 all the same: eager calls make no copy of it then.
  bool widens = false;
  // Dtypes that every input takes if all are given, dense and of one dtype; empty where that does
  // not settle it. Set by register_op.
  DTypes plain_dtypes;
  // Its kernels may be given input 0 itself as output 0 (the in-place form).
  bool overwrites = false;
  // Writes outputs over inputs: output i is the same tensor as input writes[i]. For optimizer-like
  // ops with list inputs, input writes[i] is a list and so is output i.
  std::vector<uint32_t> writes;
  // Inputs that the kernel also updates in place, beside making its outputs, if `updates_if` says
  // so (null: always). In a Program the operation has one more result for each: the new value.
  std::vector<uint32_t> updates;
  Erased<bool, const Inputs&> updates_if;
  // Owns blocks of a Program (if, while): has no kernel, executors run it.
  bool structural = false;

  // --- where it works, which is where its operands are unless something is said here ---

  // On a device without a kernel of its own for it, the CPU's kernel runs on the calling thread: it
  // works with tensors as wholes, or with the world outside of them. It writes by ops and by
  // op/copy.h. Ops that do I/O (set by register_op) or say so.
  bool on_host = false;
  bool host_inputs = false;    // some input is `host`; set by register_op
  Erased<Place> result_place;  // null: where the operands are
  bool placed() const { return on_host || host_inputs || result_place; }

  // --- what passes, planner, executors and the split for servers may know ---

  // Output 0 is this number in every element; nothing where the attributes do not say it.
  Erased<std::optional<Scalar>> fills;
  bool uninitialized = false;  // output 0 holds whatever memory held
  bool same_order = false;     // output 0 has the elements of input 0, in their order
  bool sums = false;           // output 0 is the sum of the inputs, in whatever layout
  Erased<bool> sums_if;        // null: whatever the attributes
  // Computes each parameter of its lists from the operands at the parameter's own place alone.
  bool per_parameter = false;
  // Worth computing again instead of keeping what it made. With a function: from what; false where
  // these attributes forbid it. Elementwise ops and views always are.
  bool again = false;
  Erased<bool, Instead&> again_from;
  // What it is when not training; false: the same.
  Erased<bool, const Surroundings&, Instead&> inference;
  // What it draws is for training: where nobody reads it, nothing is drawn.
  bool training_only = false;
  Lookup lookup;           // looks rows up
  Lookup lookup_gradient;  // gives the gradient of a table's rows
  Erased<void, UpdateRule&> update_rule;
  // Null, and nothing where these attributes or shapes forbid it: where rows of output 0 come from.
  // Only of ops without lists.
  Erased<std::optional<RowSource>, const Inputs&> result_rows;
  // Rows made by servers are uniform in [-r, r]: the r with the spread that this initializer has.
  Erased<std::optional<double>> initial_range;

  // The public face.
  std::vector<std::string> python;   // "nn.functional.gelu(x, approximate=False, name=None)"
  std::vector<std::string> methods;  // "gelu", or with a signature of its own
  std::vector<std::string> inplace;  // names of in-place methods and functions: "gelu_"
  std::vector<std::pair<std::string, std::string>> aliases;  // argument: other name -> own name
  std::string doc, paper;
  std::string shape;    // "x [*b,m,k], y [*b,k,n] -> [*b,m,n]" (tools/shape_notation.py)
  std::string example;  // an interactive session: >>> lines and what they print
  const char* file = "";

  ARGOSY_API int find_input(std::string_view name) const;
};

// All ops by name, complete after the first look-up: registering after it is an error.
ARGOSY_API const OpDef* find(std::string_view name);
ARGOSY_API const OpDef& get(std::string_view name);  // throws, listing near names
ARGOSY_API std::vector<const OpDef*> all();

// Adds a kernel to an op of another file, e.g. for another device (make_kernel of op/define.h).
// Best kernels first: `first` puts it before those registered so far. True, for static
// initializers.
ARGOSY_API bool register_kernel(std::string_view op, KernelDef kernel, bool first);
ARGOSY_API OpDef* register_op(OpDef def);

}  // namespace argosy::op
