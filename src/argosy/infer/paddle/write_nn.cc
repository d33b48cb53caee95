#include "argosy/infer/paddle/emit.h"

// Layers: products, norms, activations with parameters, recurrent layers.
namespace argosy::infer::paddle {
namespace {

void linear(Emit& e) {
  const Written y = e.like_result("matmul", {e.in(0), e.in(1)},
                                  {boolean("transpose_x", false), boolean("transpose_y", false)});
  e.give(e.has(2) ? e.like_result("add", {y, e.in(2)}) : y);
}

void embedding(Emit& e) {
  e.give("embedding", {e.in(0), e.in(1)},
         {i64("padding_idx", e.integer("padding_idx")), boolean("sparse", false)});
}

template <ForeignName op>
void along_axis(Emit& e) {
  e.give(op, {e.wide()}, {i32("axis", e.rank() ? e.integer("axis") : -1)});
}

void mish(Emit& e) {
  e.give("mish", {e.in(0)}, {f32("lambda", 20)});
}

void prelu(Emit& e) {
  const std::string& format = e.text("data_format");
  const Written slope =
      e.rank(1) == 1 ? e.in(1)
                     : e.to.reshape(e.in(1), std::vector<int64_t>{-1}, Shape({e.shape(1).numel()}));
  e.give("prelu", {e.in(0), slope},
         {text("data_format", format.substr(0, 2) == "NC" ? "NCHW" : "NHWC"),
          text("mode", e.shape(1).numel() == 1 ? "all" : "channel")});
}

// What comes after the row of the last two dimensions becomes a value.
void fill_future(Emit& e) {
  const DType of = e.dtype();
  auto like = [&](double v) {
    return e.like_result("full_like", {e.in(0), e.to.full(op::Scalar(v), of, Shape({1}))},
                         {dtype("dtype", of), place("place", false)});
  };
  const Written seen = e.like_result("tril", {like(1)}, {i32("diagonal", 0)});
  e.give("where", {e.to.cast(seen, DType::bool_), e.in(0), like(e.real("value"))});
}

void pixel_shuffle(Emit& e) {
  e.give("pixel_shuffle", {e.in(0)},
         {i32("upscale_factor", e.integer("upscale_factor")),
          text("data_format", e.text("data_format"))});
}
void pixel_unshuffle(Emit& e) {
  e.give("pixel_unshuffle", {e.in(0)},
         {i32("downscale_factor", e.integer("downscale_factor")),
          text("data_format", e.text("data_format"))});
}
void channel_shuffle(Emit& e) {
  e.give("channel_shuffle", {e.in(0)},
         {i32("groups", e.integer("groups")), text("data_format", e.text("data_format"))});
}

// --- norms ---

// Input i, or `size` times a number.
Written vector_or(Emit& e, size_t i, double value, int64_t size, DType dtype) {
  if (e.has(i)) return e.in(i);
  if (size < 0) e.unsupported("a number of channels that only a run knows");
  return e.to.full(op::Scalar(value), dtype, Shape({size}));
}

void batch_norm(Emit& e) {
  if (e.flag("batch_stats")) e.unsupported("the statistics of the batch (call eval() first)");
  const bool last = e.flag("channel_last") && e.rank() > 2;
  const int64_t channels = e.shape(1)[0];
  const DType of = e.dtype(1);
  const Written each{0, of, Shape({channels})};
  e.give(e.to.nodes("batch_norm_",
                    {e.in(0), e.in(1), e.in(2), vector_or(e, 3, 1, channels, of),
                     vector_or(e, 4, 0, channels, of)},
                    {boolean("is_test", true), f32("momentum", e.real("momentum")),
                     f32("epsilon", e.real("epsilon")), text("data_format", last ? "NHWC" : "NCHW"),
                     boolean("use_global_stats", true), boolean("trainable_statistics", false)},
                    {{0, e.result().dtype, e.result().shape},
                     each,
                     each,
                     each,
                     each,
                     {0, DType::uint8, Shape({kUnknown})}})[0]);
}

void layer_norm(Emit& e) {
  const int64_t axis = e.integer("begin_norm_axis");
  int64_t rows = 1, size = 1;
  for (int d = 0; d < e.rank(); ++d) {
    int64_t& n = d < axis ? rows : size;
    n = n < 0 || e.shape()[d] < 0 ? kUnknown : n * e.shape()[d];
  }
  const Written each{0, DType::float32, Shape({rows})};
  e.give(e.to.nodes("layer_norm", {e.in(0), e.in(1), e.in(2)},
                    {f32("epsilon", e.real("epsilon")), i32("begin_norm_axis", axis)},
                    {{0, e.result().dtype, e.result().shape}, each, each})[0]);
}

void rms_norm(Emit& e) {
  std::vector<int64_t> axes;
  Shape kept = e.shape();
  for (int64_t d = e.integer("begin_norm_axis"); d < e.rank(); ++d) {
    axes.push_back(d);
    kept[static_cast<int>(d)] = 1;
  }
  const Written x = e.in(0);
  const Written squares = e.like_result("multiply", {x, x});
  const Written mean =
      e.to.node("mean", {squares, e.to.integers(axes)}, {boolean("keepdim", true)}, x.dtype, kept);
  const Written root =
      e.to.node("rsqrt", {e.to.scale(mean, 1, e.real("epsilon"))}, {}, x.dtype, kept);
  Written y = e.like_result("multiply", {x, root});
  if (e.has(1)) y = e.like_result("multiply", {y, e.in(1)});
  if (e.has(2)) y = e.like_result("add", {y, e.in(2)});
  e.give(y);
}

void group_norm(Emit& e) {
  const bool last = e.flag("channel_last");
  const int64_t groups = e.integer("num_groups");
  const Written each{0, DType::float32, Shape({e.shape()[0], groups})};
  e.give(e.to.nodes("group_norm", {e.in(0), e.in(1), e.in(2)},
                    {f64("epsilon", e.real("epsilon")), i32("groups", groups),
                     text("data_format", last ? "NHWC" : "NCHW")},
                    {{0, e.result().dtype, e.result().shape}, each, each})[0]);
}

void instance_norm(Emit& e) {
  if (e.flag("channel_last")) e.unsupported("channels last");
  const int64_t n = e.shape()[0], channels = e.shape()[1];
  const Written each{0, DType::float32, Shape({n < 0 || channels < 0 ? kUnknown : n * channels})};
  e.give(e.to.nodes("instance_norm", {e.in(0), e.in(1), e.in(2)},
                    {f32("epsilon", e.real("epsilon"))},
                    {{0, e.result().dtype, e.result().shape}, each, each})[0]);
}

// --- recurrent layers ---

// Paddle's layer of one direction reads time first, and forward.
void rnn_direction(Emit& e) {
  const std::string& mode = e.text("mode");
  const bool lstm = mode == "LSTM", back = e.flag("reverse"), time_major = e.flag("time_major");
  if (e.has(7) && back) e.unsupported("a backward direction with lengths");
  const int64_t hidden = e.shape(4)[1], rows = e.shape(4)[0];
  const DType of = e.dtype();
  const int64_t swap[] = {1, 0, 2}, time[] = {0};
  auto turned = [&](const Written& x) {
    return back ? e.to.node("flip", {x}, {i32s("axis", time)}, x.dtype, x.shape) : x;
  };
  const Written x = turned(time_major ? e.in(0) : e.to.transpose(e.in(0), swap));
  std::vector<Written> states{e.to.unsqueeze(e.in(1), 0)};
  if (lstm) states.push_back(e.to.unsqueeze(e.in(2), 0));
  const std::vector<Written> weights{e.in(3), e.in(4), vector_or(e, 5, 0, rows, of),
                                     vector_or(e, 6, 0, rows, of)};
  const Written unused = e.to.full(op::Scalar(int64_t{0}), DType::uint8, Shape({1}));
  const Written all = e.to.combine(states), parameters = e.to.combine(weights);
  Shape out = x.shape;
  out[2] = hidden;
  const std::vector<Written> made =
      e.to.nodes("rnn", {x, all, parameters, e.in(7), unused},
                 {f32("dropout_prob", 0), boolean("is_bidirec", false),
                  i32("input_size", e.shape()[2]), i32("hidden_size", hidden), i32("num_layers", 1),
                  text("mode", mode), i32("seed", 0), boolean("is_test", true)},
                 {{0, of, out}, {0, of}, Emitter::list(states), {0, of}});
  const Written y = turned(made[0]);
  e.give(time_major ? y : e.to.transpose(y, swap), 0);
  const std::vector<Written> last = e.to.parts_of(made[2]);
  for (size_t i = 0; i < last.size(); ++i) e.give(e.to.squeeze(last[i], 0), 1 + i);
}

constexpr WriteRow kRows[] = {
    {"batch_norm", batch_norm},
    {"channel_shuffle", channel_shuffle},
    {"embedding", embedding},
    {"fill_future", fill_future},
    {"group_norm", group_norm},
    {"instance_norm", instance_norm},
    {"layer_norm", layer_norm},
    {"linear", linear},
    {"log_softmax", along_axis<"log_softmax">},
    {"mish", mish},
    {"pixel_shuffle", pixel_shuffle},
    {"pixel_unshuffle", pixel_unshuffle},
    {"prelu", prelu},
    {"rms_norm", rms_norm},
    {"rnn_direction", rnn_direction},
    {"softmax", along_axis<"softmax">},
};

}  // namespace

std::span<const WriteRow> write_nn_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
