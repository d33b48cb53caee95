#include "argosy/infer/paddle/old_forms.h"

#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "argosy/base/error.h"

namespace argosy::infer::paddle {
namespace {

// Operands: "1:shape:ints" is the attribute `shape` where operand 1 is a constant, and
// "1:shape:ints:Shape" the input `Shape` where it is none; "1:dim:ints::all" says by `all` that
// the list is empty; "4:" is left out.
// Attributes: "theirs:type=pir"; "=pir", which has to be 0, and "~pir" are left out; "name:type!1"
// is always 1, and "name:ints!1" as many as the operation has axes. Outputs: those of pir_names.h
// and more; "MeanOut=1" is the variable of operand 1.
struct Row {
  const char* pir;
  const char* op;
  const char* operands;
  const char* attributes;
  const char* outputs;
};

constexpr const char* kElementwise = "axis:int!-1";
constexpr const char* kReduced = "1:dim:ints::reduce_all";
constexpr const char* kLayout = "data_layout:str=data_format";
constexpr const char* kAxes = "dim:longs=axis keep_dim:bool=keepdim";

constexpr Row kRows[] = {
    {"add", "", "", kElementwise, ""},
    {"subtract", "", "", kElementwise, ""},
    {"multiply", "", "", kElementwise, ""},
    {"divide", "", "", kElementwise, ""},
    {"maximum", "", "", kElementwise, ""},
    {"minimum", "", "", kElementwise, ""},
    {"elementwise_pow", "", "", kElementwise, ""},
    {"remainder", "", "", kElementwise, ""},
    {"floor_divide", "", "", kElementwise, ""},
    {"add_n", "sum", "", "", ""},
    {"scale", "", "1:scale:float:ScaleTensor", "", ""},
    {"clip", "", "1:min:float:Min 2:max:float:Max", "", ""},
    {"leaky_relu", "", "", "alpha:float=negative_slope", ""},
    {"hardswish", "", "", "threshold:float!6 scale:float!6 offset:float!3", ""},
    {"mish", "", "", "threshold:float=lambda", ""},
    {"softshrink", "", "", "lambda:float=threshold", ""},
    {"thresholded_relu", "", "", "=value value:float!0", ""},
    {"round", "", "", "=decimals decimals:int!0", ""},
    {"sum", "", kReduced, "keep_dim:bool=keepdim in_dtype:int!-1 out_dtype:int=dtype", ""},
    {"mean", "", kReduced, "keep_dim:bool=keepdim in_dtype:int!-1 out_dtype:int!-1", ""},
    {"max", "", kReduced, "keep_dim:bool=keepdim in_dtype:int!-1 out_dtype:int!-1", ""},
    {"min", "", kReduced, "keep_dim:bool=keepdim in_dtype:int!-1 out_dtype:int!-1", ""},
    {"prod", "", "1:dim:ints", "keep_dim:bool=keepdim in_dtype:int!-1 out_dtype:int!-1", ""},
    {"all", "", "", kAxes, ""},
    {"any", "", "", kAxes, ""},
    {"amax", "", "", kAxes, ""},
    {"amin", "", "", kAxes, ""},
    {"argmax", "", "1:axis:long", "", ""},
    {"argmin", "", "1:axis:long", "", ""},
    {"cumsum", "", "1:axis:int", "", ""},
    {"argsort", "", "", "=stable", ""},
    {"topk", "", "1:k:int:K", "", ""},
    // matrices, orders
    {"eye", "", "0:num_rows:long 1:num_columns:long", "", ""},
    {"bincount", "", "2:minlength:int", "", ""},
    {"lstsq", "", "2:rcond:float", "", ""},
    {"unique", "", "",
     "return_index:bool=return_index return_inverse:bool=return_inverse "
     "return_counts:bool=return_counts axis:ints=axis is_sorted:bool=is_sorted",
     ""},
    {"histogram", "", "", "bins:long=bins min:int=min max:int=max", ""},
    {"fill_diagonal_tensor", "", "", "offset:long=offset", ""},
    {"repeat_interleave_with_tensor_index", "", "", "output_size:long=output_size", ""},
    // shapes
    {"reshape", "", "1:shape:ints:Shape", "", ""},
    {"flatten", "", "", "", "Out XShape"},
    {"squeeze", "", "1:axes:ints", "", ""},
    {"unsqueeze", "", "1:axes:ints", "", ""},
    {"expand", "", "1:shape:ints:Shape", "", ""},
    {"tile", "", "1:repeat_times:ints:RepeatTimes", "", ""},
    {"concat", "", "1:axis:int", "", ""},
    {"split", "", "1:sections:ints 2:axis:int", "num:int!0", ""},
    {"split_with_num", "", "1:axis:int", "", ""},
    {"slice", "", "1:starts:ints:StartsTensor 2:ends:ints:EndsTensor", "", ""},
    {"strided_slice", "",
     "1:starts:ints:StartsTensor 2:ends:ints:EndsTensor 3:strides:ints:StridesTensor",
     "infer_flags:ints!1", ""},
    {"set_value_with_tensor", "", "2:starts:longs 3:ends:longs 4:steps:longs",
     "axes:longs=axes decrease_axes:longs=decrease_axes none_axes:longs=none_axes", ""},
    {"roll", "", "1:shifts:longs:ShiftsTensor", "axis:longs=axis", ""},
    {"pad", "", "1:pad_value:float", "", ""},
    {"pad3d", "", "1:paddings:ints", "", ""},
    {"tril", "", "", "lower:bool!1", ""},
    {"triu", "tril_triu", "", "lower:bool!0", ""},
    {"gather", "", "2:axis:int", "", ""},
    {"one_hot", "", "1:depth:int:depth_tensor", "", ""},
    {"embedding", "", "", "padding_idx:long=padding_idx is_sparse:bool=sparse", ""},
    {"full_like", "", "1:value:float", "", ""},
    {"arange", "", "", "~dtype", ""},
    {"full_with_tensor", "", "1:shape:longs:ShapeTensor", "", ""},
    // layers
    {"batch_norm_", "", "", "data_layout:str=data_format",
     "Y MeanOut=1 VarianceOut=2 SavedMean SavedVariance ReserveSpace"},
    {"layer_norm", "", "", "", "Y Mean Variance"},
    {"group_norm", "", "", "data_layout:str=data_format", "Y Mean Variance"},
    {"instance_norm", "", "", "", "Y SavedMean SavedVariance"},
    {"rnn", "", "4:", "", ""},
    {"conv2d_transpose", "", "2:output_size:ints", "", ""},
    {"pool2d", "", "1:ksize:ints", "", ""},
    {"max_pool2d_with_index", "", "", "=ceil_mode ceil_mode:bool!0", ""},
    {"max_pool3d_with_index", "", "", "=ceil_mode ceil_mode:bool!0", ""},
    {"linear_interp", "", "", kLayout, ""},
    {"nearest_interp", "", "", kLayout, ""},
    {"bilinear_interp", "", "", kLayout, ""},
    {"bicubic_interp", "", "", kLayout, ""},
    {"trilinear_interp", "", "", kLayout, ""},
};

AttributeType type_of(const std::string& word) {
  static const std::unordered_map<std::string, AttributeType> types{
      {"int", AttributeType::integer},  {"ints", AttributeType::integers},
      {"long", AttributeType::large},   {"longs", AttributeType::larges},
      {"float", AttributeType::real},   {"floats", AttributeType::reals},
      {"bool", AttributeType::boolean}, {"str", AttributeType::text}};
  auto it = types.find(word);
  ARGOSY_CHECK(it != types.end(), internal) << "no type of attribute: " << word;
  return it->second;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

OldOperand operand_of(const std::string& word) {
  std::vector<std::string> parts = split(word, ':');
  parts.resize(5);
  return {static_cast<size_t>(std::atoi(parts[0].c_str())), parts[1],
          parts[2].empty() ? AttributeType::integer : type_of(parts[2]), parts[3], parts[4]};
}

void add_attribute(OldForm* form, const std::string& word) {
  const size_t colon = word.find(':'), sign = word.find_first_of("=!~");
  if (sign == 0) return form->attributes.push_back({word.substr(1), "", {}, word[0] == '~'});
  const std::string name = word.substr(0, colon), rest = word.substr(sign + 1);
  const AttributeType type = type_of(word.substr(colon + 1, sign - colon - 1));
  if (word[sign] == '!')
    form->fixed.push_back({name, type, std::atof(rest.c_str())});
  else
    form->attributes.push_back({rest, name, type});
}

OldForm form_of(const Row& row) {
  OldForm form{row.op, {}, {}, {}, words_of(row.outputs)};
  for (const std::string& word : words_of(row.operands)) form.operands.push_back(operand_of(word));
  for (const std::string& word : words_of(row.attributes)) add_attribute(&form, word);
  return form;
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words = split(text, ' ');
  std::erase(words, "");
  return words;
}

const OldForm& old_form(std::string_view pir) {
  static const auto forms = [] {
    std::unordered_map<std::string_view, OldForm> all;
    for (const Row& row : kRows) all.emplace(row.pir, form_of(row));
    return all;
  }();
  static const OldForm none;
  auto it = forms.find(pir);
  return it == forms.end() ? none : it->second;
}

}  // namespace argosy::infer::paddle
