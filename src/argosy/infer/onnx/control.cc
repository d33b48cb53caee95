#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/loop.h"
#include "onnx.pb.h"

// If, Loop and Scan.
namespace argosy::infer::onnx {
namespace {

bool truth(const Tensor& t) {
  return *op::contiguous(as(t, DType::bool_)).data<bool>();
}

// --- If ---

struct Branch {
  program::Draft draft;
  std::vector<Tensor> yields;
  bool tensors = true;  // no sequences, nothing missing
};

Branch record(const Node& n, const file::Graph& graph) {
  Branch branch;
  program::OpenBlock block(n.session.builder());
  for (const Item& item : n.session.run(graph, {})) {
    branch.tensors = branch.tensors && item.kind == Item::Kind::tensor;
    branch.yields.push_back(item.tensor);
  }
  if (branch.tensors) branch.draft = block.end(branch.yields);
  return branch;
}

bool agree(const Branch& a, const Branch& b) {
  if (!a.tensors || !b.tensors || a.yields.size() != b.yields.size()) return false;
  for (size_t i = 0; i < a.yields.size(); ++i)
    if (a.yields[i].rank() != b.yields[i].rank() || a.yields[i].dtype() != b.yields[i].dtype())
      return false;
  return true;
}

Items run_if(const Node& n) {
  const file::Graph &yes = n.graph("then_branch"), &no = n.graph("else_branch");
  const Tensor& condition = n.in();
  Tensor known = condition.symbolic() ? program::known(condition) : condition;
  if (!known.defined()) {
    Branch then_branch = record(n, yes), else_branch = record(n, no);
    if (agree(then_branch, else_branch)) {
      const Tensor pred = condition.rank() ? ops::reshape(condition, op::IntArray{}) : condition;
      const Tensors out = n.session.builder().append_if(pred, std::move(then_branch.draft),
                                                        std::move(else_branch.draft));
      return {out.begin(), out.end()};
    }
    // Branches that give values of different forms: which one runs has to be known.
    known = n.session.need(n, condition);
  }
  return n.session.run(truth(known) ? yes : no, {});
}

// --- Loop ---

Items run_loop_node(const Node& n) {
  const file::Graph& body = n.graph("body");
  Loop loop;
  if (n.has(0)) loop.count = as(n.in(0), DType::int64);
  if (n.has(1)) loop.proceed = n.in(1);
  for (size_t i = 2; i < n.inputs(); ++i) loop.carried.push_back(n.has(i) ? n.item(i) : Item());
  const size_t carried = loop.carried.size();
  n.expect(loop.count.defined() || loop.proceed.defined(), "a loop needs a count or a condition");
  // A body that hands its condition on, or makes it of constants, does not check.
  loop.checks = true;
  loop.body = [&n, &body, carried](const Tensor& round, const Tensor& proceed,
                                   const Items& values) {
    Items in{round, proceed};
    in.insert(in.end(), values.begin(), values.end());
    Items out = n.session.run(body, in);
    n.expect(out.size() >= 1 + carried, "the body gives too few values");
    Round r;
    r.proceed = out[0].tensor;
    r.carried.assign(out.begin() + 1, out.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (size_t i = 1 + carried; i < out.size(); ++i) {
      n.expect(out[i].kind == Item::Kind::tensor, "only tensors are collected");
      r.scanned.push_back(out[i].tensor);
    }
    return r;
  };
  return run_loop(n, loop);
}

// --- Scan ---

std::vector<int64_t> or_zeros(std::vector<int64_t> list, size_t count) {
  list.resize(count);
  return list;
}

// What one Scan does, for whole sequences; the form before version 9 does it for each of a batch.
struct ScanForm {
  std::vector<Tensor> sequences;  // along axis 0, in the order in which they are walked
  Items states;
  std::vector<int64_t> out_axes, out_directions;
};

Items scan(const Node& n, const file::Graph& body, const ScanForm& form) {
  Loop loop;
  loop.carried = form.states;
  const Tensor& first = form.sequences.at(0);
  loop.count = first.dim(0) >= 0 ? ops::constant(op::Scalar(first.dim(0)), DType::int64)
                                 : ops::size_of(first, 0, DType::int64);
  const size_t states = form.states.size();
  loop.body = [&](const Tensor& round, const Tensor&, const Items& values) {
    Items in = values;
    for (const Tensor& x : form.sequences) in.emplace_back(ops::take_slices(x, round, 0));
    Items out = n.session.run(body, in);
    n.expect(out.size() >= states, "the body gives too few values");
    Round r;
    r.carried.assign(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(states));
    for (size_t i = states; i < out.size(); ++i) r.scanned.push_back(out[i].tensor);
    return r;
  };
  Items out = run_loop(n, loop);
  const std::vector<int64_t> axes = or_zeros(form.out_axes, out.size() - states);
  const std::vector<int64_t> directions = or_zeros(form.out_directions, out.size() - states);
  for (size_t i = states; i < out.size(); ++i) {
    Tensor& t = out[i].tensor;
    if (directions[i - states]) t = call("flip", {t}, {{"axis", op::IntArray{0}}});
    const int axis = n.axis(axes[i - states], t.rank());
    if (axis == 0) continue;
    std::vector<int64_t> perm = iota(1, t.rank());
    perm.insert(perm.begin() + axis, 0);
    t = ops::transpose(t, perm);
  }
  return out;
}

Items run_scan(const Node& n) {
  const file::Graph& body = n.graph("body");
  const auto count = static_cast<size_t>(n.integer("num_scan_inputs"));
  const bool batched = n.opset < 9;
  const size_t begin = batched ? 1 : 0;
  n.expect(count >= 1 && count + begin <= n.inputs(),
           "num_scan_inputs is not fewer than the inputs");
  if (batched && n.has(0)) n.unsupported("lengths of sequences");
  const size_t states = n.inputs() - begin - count;
  const std::vector<int64_t> axes = or_zeros(n.integers("scan_input_axes"), count);
  const std::vector<int64_t> directions =
      or_zeros(n.integers(batched ? "directions" : "scan_input_directions"), count);
  ScanForm form;
  form.out_axes = n.integers("scan_output_axes");
  form.out_directions = n.integers("scan_output_directions");
  auto sequence = [&](const Tensor& x, size_t i) {
    const int axis = n.axis(axes[i], x.rank());
    std::vector<int64_t> perm{axis};
    for (int d = 0; d < x.rank(); ++d)
      if (d != axis) perm.push_back(d);
    const Tensor y = transposed(x, perm);
    return directions[i] ? call("flip", {y}, {{"axis", op::IntArray{0}}}) : y;
  };
  if (!batched) {
    for (size_t i = 0; i < states; ++i) form.states.push_back(n.item(i));
    for (size_t i = 0; i < count; ++i) form.sequences.push_back(sequence(n.in(states + i), i));
    return scan(n, body, form);
  }
  const int64_t batch = n.in(1).dim(0);
  if (batch < 0) n.session.need_shapes(n);
  std::vector<std::vector<Tensor>> all;
  for (int64_t b = 0; b < batch; ++b) {
    ScanForm one = form;
    for (size_t i = 0; i < states; ++i) one.states.emplace_back(ops::pick(n.in(1 + i), 0, b));
    for (size_t i = 0; i < count; ++i)
      one.sequences.push_back(sequence(ops::pick(n.in(1 + states + i), 0, b), i));
    const Items out = scan(n, body, one);
    all.resize(out.size());
    for (size_t k = 0; k < out.size(); ++k) all[k].push_back(out[k].tensor);
  }
  Items out;
  for (const auto& parts : all) out.emplace_back(ops::stack(parts, 0));
  return out;
}

constexpr Row kRows[] = {
    {"If", run_if},
    {"Loop", run_loop_node},
    {"Scan", run_scan},
};

}  // namespace

std::span<const Row> control_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
