#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/random.h"
#include "argosy/op/dispatch.h"
#include "argosy/passes/rewrite.h"
#include "argosy/program/builder.h"
#include "tests/cpp/tensors.h"

// What the tests of passes share.
namespace argosy::passes {

using Names = std::vector<std::string>;

// An op by name, its attributes at their defaults but for what `set` does.
inline Tensors call(std::string_view name, const std::vector<Tensor>& in,
                    const std::function<void(op::AttrBox&)>& set = {},
                    const std::vector<uint32_t>& ends = {}) {
  const op::OpDef& op = op::get(name);
  op::AttrBox attrs = default_attrs(op);
  if (set) set(attrs);
  return op::dispatch(op, op::Inputs(in, ends.empty() ? nullptr : ends.data()), attrs.get());
}

inline Tensor parameter(Tensor t) {
  t.set_stop_gradient(false);
  return t;
}

// A Program that is recorded until it is first run or rewritten, its feeds, and what is asked for.
class Recorded {
 public:
  Recorded() { recording_.emplace(program); }

  // A value that is fed with `fed`; `known`: what the Program knows of its shape.
  Tensor input(const Tensor& fed, std::optional<Shape> known = {}) {
    feeds.push_back(fed);
    return program->builder().input("x" + std::to_string(feeds.size() - 1),
                                    known ? *known : fed.shape(), fed.dtype());
  }
  void output(const Tensor& t) {
    program->outputs.push_back(
        {"out" + std::to_string(program->outputs.size()), program->builder().current(t)});
  }
  // d(sum of target)/d(wrt) as outputs.
  void output_gradients(const Tensor& target, const std::vector<Tensor>& wrt) {
    for (const Tensor& g : program->builder().gradients({&target, 1}, {}, wrt)) output(g);
  }
  void end() { recording_.reset(); }

  // Names of the operations, in order, those of blocks after their owner.
  Names ops() const {
    Names list;
    program::each_operation(program->main, [&](Operation& o) { list.push_back(o.op->name); });
    return list;
  }
  // The results, then what the state is after the run; state is put back.
  std::vector<Tensor> run() {
    end();
    std::vector<Tensor> before, results;
    for (const auto& s : program->states) before.push_back(copy(s.state->tensor));
    std::vector<Ref<Value>> fetches;
    for (const auto& o : program->outputs) fetches.push_back(o.value);
    random::seed(7);
    for (const Tensor& t : program->run(feeds, fetches)) results.push_back(copy(t));
    for (size_t i = 0; i < before.size(); ++i) {
      const Tensor& t = program->states[i].state->tensor;
      results.push_back(copy(t));
      op::copy_into(t, before[i]);
    }
    return results;
  }
  // Runs passes, verifying after each; true if they changed anything.
  bool rewrite(const Names& names, std::vector<std::pair<std::string, std::string>> options = {}) {
    end();
    PassContext c;
    c.verify = true;
    c.options = std::move(options);
    return run_pipeline(*program, names, c);
  }
  // The same, and results must keep their bits.
  bool keeps_bits(const Names& names,
                  std::vector<std::pair<std::string, std::string>> options = {}) {
    const std::vector<Tensor> want = run();
    const bool changed = rewrite(names, std::move(options));
    const std::vector<Tensor> got = run();
    EXPECT_LE(got.size(), want.size());  // state without use may go
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].dtype(), want[i].dtype());
      EXPECT_EQ(got[i].shape(), want[i].shape());
      EXPECT_FALSE(std::memcmp(got[i].raw(), want[i].raw(), want[i].nbytes()))
          << "result " << i << " has other bits";
    }
    return changed;
  }

  std::shared_ptr<Program> program = Program::make();
  std::vector<Tensor> feeds;

 private:
  static Tensor copy(const Tensor& t) {
    Tensor out = Tensor::empty(t.shape(), t.dtype());
    op::copy_into(out, t);
    return out;
  }
  std::optional<program::Recording> recording_;
};

}  // namespace argosy::passes
