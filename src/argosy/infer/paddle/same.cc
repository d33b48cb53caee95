#include <deque>

#include "argosy/infer/paddle/common.h"

// Operations that are one op of ours on the same tensors, with attributes that mean the same.
namespace argosy::infer::paddle {
namespace {

struct Same {
  const char* name;        // Paddle's
  const char* op;          // ours
  const char* inputs;      // slots in our order; "?" behind one that may be missing
  const char* outputs;     // slots of our outputs, "-" for one that Paddle's has not
  const char* attributes;  // "ours", or "theirs=ours"; "#" before one that is the number of a dtype
};

constexpr Same kSame[] = {
    // numbers
    {"angle", "angle", "X", "Out", ""},
    {"as_complex", "as_complex", "X", "Out", ""},
    {"as_real", "as_real", "X", "Out", ""},
    {"bitwise_left_shift", "bitwise_left_shift", "x y", "out", "is_arithmetic"},
    {"bitwise_right_shift", "bitwise_right_shift", "x y", "out", "is_arithmetic"},
    {"complex", "complex", "X Y", "Out", ""},
    {"conj", "conj", "X", "Out", ""},
    {"copysign", "copysign", "x y", "out", ""},
    {"equal_all", "equal_all", "X Y", "Out", ""},
    {"gammaincc", "gammaincc", "x y", "out", ""},
    {"gammaln", "lgamma", "x", "out", ""},
    {"i0e", "i0e", "x", "out", ""},
    {"i1", "i1", "x", "out", ""},
    {"i1e", "i1e", "x", "out", ""},
    {"imag", "imag", "X", "Out", ""},
    {"nextafter", "nextafter", "x y", "out", ""},
    {"polygamma", "polygamma", "x", "out", "n"},
    {"real", "real", "X", "Out", ""},
    {"renorm", "renorm", "X", "Out", "p axis max_norm"},
    // reductions and orders
    {"cummax", "cummax", "x", "out indices", "axis #dtype"},
    {"cummin", "cummin", "x", "out indices", "axis #dtype"},
    {"histogram", "histogram", "X Weight?", "Out", "bins min max density"},
    {"mode", "mode", "X", "Out Indices", "axis keepdim"},
    {"nansum", "nansum", "x", "out", "axis #dtype keepdim"},
    {"reduce_as", "reduce_as", "x target", "out", ""},
    // places
    {"as_strided", "as_strided", "input", "out", "dims=shape stride offset"},
    {"fill_diagonal_tensor", "diagonal_scatter", "X Y", "Out", "offset dim1=axis1 dim2=axis2"},
    {"gather_tree", "gather_tree", "Ids Parents", "Out", ""},
    {"index_add", "add_slices", "X Index AddValue", "Out", "axis"},
    {"masked_fill", "masked_fill", "x mask value", "out", ""},
    {"view_dtype", "view_dtype", "input", "out", "#dtype"},
    // matrices
    {"baddbmm", "baddbmm", "input x y", "out", "beta alpha"},
    {"eig", "eig", "X", "Eigenvalues Eigenvectors", ""},
    {"eigh", "eigh", "X", "Eigenvalues Eigenvectors", "UPLO"},
    {"eigvalsh", "eigh", "X", "Eigenvalues Eigenvectors", "UPLO"},
    {"slogdeterminant", "slogdet", "Input", "Out", ""},
    {"svd", "svd", "X", "U S VH", "full_matrices"},
    {"svdvals", "svd", "x", "- s", ""},
    {"triangular_solve", "triangular_solve", "X Y", "Out", "upper transpose unitriangular"},
    // what is drawn in each run
    {"bernoulli", "bernoulli", "X", "Out", ""},
    {"binomial", "binomial", "count prob", "out", ""},
    {"exponential", "exponential_like", "X", "Out", "lambda=lam"},
    {"gaussian_inplace", "normal_like", "x", "out", "mean std"},
    {"gumbel_softmax", "gumbel_softmax", "X", "Out", "temperature hard axis"},
    {"poisson", "poisson", "X", "Out", ""},
    {"randperm", "randperm", "", "Out", "n #dtype"},
    {"standard_gamma", "standard_gamma", "x", "out", ""},
    {"truncated_gaussian_random", "truncated_gaussian_random", "", "Out",
     "shape mean std seed a b #dtype"},
    {"uniform_random_inplace", "uniform_like", "X", "Out", "min max seed"},
    // losses, images
    {"edit_distance", "edit_distance", "Hyps Refs HypsLength? RefsLength?", "Out SequenceNum",
     "normalized"},
    {"correlation", "correlation", "Input1 Input2", "Output",
     "pad_size kernel_size max_displacement stride1 stride2 corr_type_multiply"},
    {"cvm", "continuous_value_model", "X CVM", "Y", "use_cvm"},
};

const Same& find_same(std::string_view name) {
  for (const Same& s : kSame)
    if (name == s.name) return s;
  ARGOSY_THROW(internal) << "[paddle] " << name << " is in no table.";
}

// The next word of `rest`, which loses it.
std::string_view next_word(std::string_view* rest) {
  const size_t end = std::min(rest->find(' '), rest->size());
  const std::string_view word = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return word;
}

// Attributes of the file for our op; those that the file does not have are left out.
struct Arguments {
  std::deque<std::string> names;
  std::vector<Arg> all;

  void add(const Node& n, std::string_view word) {
    const bool is_dtype = word.starts_with('#');
    if (is_dtype) word.remove_prefix(1);
    const size_t equals = word.find('=');
    const std::string_view theirs = word.substr(0, equals);
    if (!n.has_attribute(theirs) || (is_dtype && n.integer(theirs, -1) < 0)) return;
    const char* ours =
        names.emplace_back(equals == word.npos ? theirs : word.substr(equals + 1)).c_str();
    if (is_dtype) {
      all.emplace_back(ours, n.dtype(theirs, DType::float32));
      return;
    }
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, std::vector<int64_t>>)
            if (value.empty()) return;  // all axes, as our ops have it where nothing is said
          if constexpr (std::is_constructible_v<Arg, const char*, const T&>)
            all.emplace_back(ours, value);
          else
            n.fail("attribute " + std::string(theirs) + " is of another kind");
        },
        *n.attribute(theirs));
  }
};

void same(const Node& n) {
  const Same& s = find_same(n.op.type);
  std::vector<Tensor> in;
  for (std::string_view rest = s.inputs; !rest.empty();) {
    std::string_view word = next_word(&rest);
    const bool may_miss = word.ends_with('?');
    if (may_miss) word.remove_suffix(1);
    in.push_back(may_miss ? n.optional(word) : n.in(word));
  }
  Arguments arguments;
  for (std::string_view rest = s.attributes; !rest.empty();) arguments.add(n, next_word(&rest));
  const auto run = [&] { return call_all(s.op, in, arguments.all); };
  const auto run_recorded = [&] {
    const auto recording = n.session.recording();
    return run();
  };
  // What is drawn is drawn in each run of the Program.
  const bool drawn = op::get(s.op).effect == op::Effect::random;
  const Tensors out = drawn ? run_recorded() : run();
  size_t i = 0;
  for (std::string_view rest = s.outputs; !rest.empty(); ++i)
    if (const std::string_view slot = next_word(&rest); slot != "-") n.out(slot, out[i]);
}

constexpr auto kRows = [] {
  std::array<Row, std::size(kSame)> rows{};
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = {kSame[i].name, same};
  return rows;
}();

}  // namespace

std::span<const Row> same_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
