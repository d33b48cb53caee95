#include "argosy/autograd/engine.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "argosy/base/profile.h"
#include "argosy/op/autocast.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/tensor/shared_bytes.h"

namespace argosy::autograd {
namespace {

// Where grad() picks up results.
struct Capture {
  Edge at;
  Tensor result;
};

const char* profiled_name(const Node& node) {
  return profile::enabled() ? profile::intern(std::string(node.name()) + " backward") : "";
}

using Needs = InlineVector<bool, 8>;  // by edge

// One backward pass. Nodes are taken in falling order of creation, which is a topological order,
// from a heap; so no count of dependencies is needed and a pass costs only what it reaches. Leaves
// come last, except for those with an exchange: they follow the first made of their consumers. A
// product then computes their gradients first, and its others once the exchange has begun.
class Pass {
 public:
  // The caller's mode is told before that of the pass is set.
  Pass(bool retain_graph, bool create_graph, bool grad_of_caller, std::span<Capture> captures,
       const std::vector<Edge>& blocked)
      : retain_graph_(retain_graph),
        records_(create_graph),
        grad_of_caller_(grad_of_caller),
        captures_(captures) {
    for (const Edge& e : blocked) blocked_.insert(key(e.node.get(), e.index));
  }

  void seed(const Tensor& root, Tensor dy) {
    if (!root.requires_grad()) return;  // reaches nothing, as in Paddle
    if (!dy.defined()) {
      dy = ops::ones_like(root);
    } else {
      ARGOSY_CHECK(dy.shape() == root.shape(), invalid_argument)
          << "[backward] the gradient given for a root must have its shape: expected "
          << root.shape() << ", got " << dy.shape() << '.';
    }
    Edge e = edge_to(root);
    send(e, dy);
  }

  // Only nodes from which a capture can be reached need to run.
  void limit_to_captures(std::span<const Tensor> roots) {
    limited_ = true;
    for (const Capture& c : captures_)
      if (c.at.node) useful_.insert(c.at.node.get());
    struct Visit {
      Node* node;
      size_t edge;
    };
    std::vector<Visit> stack;
    std::unordered_set<Node*> seen;
    auto enter = [&](Node* n) {
      if (n && seen.insert(n).second) stack.push_back({n, 0});
    };
    for (const Tensor& root : roots) {
      enter(edge_to(root).node.get());
      while (!stack.empty()) {
        Visit& v = stack.back();
        if (v.edge > 0) {
          const Edge& e = v.node->edges[v.edge - 1];
          if (e.node && useful_.count(e.node.get())) useful_.insert(v.node);
        }
        if (v.edge == v.node->edges.size()) {
          stack.pop_back();
          continue;
        }
        enter(v.node->edges[v.edge++].node.get());
      }
    }
  }

  // Finds the places of leaves with an exchange.
  void place_exchanged_leaves(std::span<const Tensor> roots) {
    std::vector<Node*> stack;
    std::unordered_set<Node*> seen;
    auto enter = [&](Node* n) {
      if (n && seen.insert(n).second) stack.push_back(n);
    };
    for (const Tensor& root : roots) enter(edge_to(root).node.get());
    while (!stack.empty()) {
      Node* consumer = stack.back();
      stack.pop_back();
      for (const Edge& e : consumer->edges) {
        if (!e.node) continue;
        if (e.node->order != 0) {
          enter(e.node.get());
        } else if (static_cast<Accumulate*>(e.node.get())->exchanged()) {
          auto [it, fresh] = first_consumer_.try_emplace(e.node.get(), consumer->order);
          if (!fresh) it->second = std::min(it->second, consumer->order);
        }
      }
    }
  }

  void run() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      Ref<Node> node = std::move(heap_.back().node);
      heap_.pop_back();
      auto it = pending_.find(node.get());
      Pending p = std::move(it->second);
      pending_.erase(it);
      if (p.rest.empty())
        step(*node, p);
      else
        compute(*node, p.dys, p.rest, true);
    }
  }

 private:
  struct Pending {
    Tensors dys;
    uint64_t own = 0;  // bit i: dys[i] was summed here and may be overwritten
    Needs rest;        // not empty: what is left of a node that has run in part
  };

  static uint64_t key(Node* node, uint32_t index) {
    return reinterpret_cast<uintptr_t>(node) * 31 + index;
  }
  struct Waiting {
    uint64_t place;  // the highest is next
    Ref<Node> node;
  };
  static bool later(const Waiting& a, const Waiting& b) { return a.place < b.place; }
  uint64_t place(Node* node) const {
    if (!first_consumer_.empty())
      if (auto it = first_consumer_.find(node); it != first_consumer_.end())
        return 4 * it->second + 1;
    return 4 * node->order + 2;
  }

  void enqueue(uint64_t place, Ref<Node> node) {
    heap_.push_back({place, std::move(node)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  void send(const Edge& e, const Tensor& dy) {
    auto [it, fresh] = pending_.try_emplace(e.node.get());
    Pending& p = it->second;
    if (fresh) {
      p.dys.resize(e.node->outputs);
      enqueue(place(e.node.get()), e.node);
    }
    Tensor& sum = p.dys[e.index];
    if (!sum.defined()) {
      sum = dy;
      return;
    }
    uint64_t bit = e.index < 64 ? 1ull << e.index : 0;
    sum = add_grads(sum, dy, p.own & bit);
    if (sum.layout() == Layout::strided) p.own |= bit;
  }

  // A hook is code of the caller: what it computes is recorded if the caller's would be, so it may
  // run a backward of its own. The gradient that it gives has no history unless this pass records.
  void run_hooks(Node& node, Tensors& dys) {
    for (size_t i = 0; i < node.hooks.size(); ++i) {
      auto fn = node.hooks[i].fn;  // a hook may remove itself
      Tensor& dy = dys[node.hooks[i].index];
      if (!dy.defined()) continue;
      Tensor replaced;
      {
        op::GradMode mode(grad_of_caller_);
        replaced = fn(dy);
      }
      if (!replaced.defined()) continue;
      ARGOSY_CHECK(replaced.shape() == dy.shape() && replaced.dtype() == dy.dtype(), runtime)
          << "[register_hook] a hook must give a gradient like the one it got: expected " << dy
          << ", got " << replaced << ". Do this: return it with that shape and dtype, or None.";
      dy = records_ ? std::move(replaced) : replaced.detach();
    }
  }

  void step(Node& node, Pending& p) {
    // Hooks of a leaf are about what is added to .grad, which grad() does not touch.
    if (!node.hooks.empty() && !(limited_ && node.order == 0)) run_hooks(node, p.dys);
    for (Capture& c : captures_)
      if (c.at.node.get() == &node && p.dys[c.at.index].defined()) c.result = p.dys[c.at.index];
    if (!blocked_.empty()) {
      bool any = false;
      for (uint32_t i = 0; i < p.dys.size(); ++i) {
        if (blocked_.count(key(&node, i))) p.dys[i] = Tensor();
        any |= p.dys[i].defined();
      }
      if (!any) return;
    }
    if (limited_ && node.order == 0) return;  // grad() does not touch .grad
    Needs needs;
    bool any = node.edges.empty();
    for (const Edge& e : node.edges) {
      needs.push_back(e.node && (!limited_ || useful_.count(e.node.get())));
      any |= needs.back();
    }
    if (!any) return;
    ARGOSY_CHECK(!node.released(), runtime)
        << "[" << node.name()
        << "] backward was already run through this graph and its saved values were freed. Do "
           "this: pass retain_graph=True to the first backward.";
    Pending later_part;
    const uint64_t then = put_off(node, needs, later_part.rest);
    if (!then) return compute(node, p.dys, needs, true);
    later_part.dys = p.dys;
    compute(node, p.dys, needs, false);
    pending_.emplace(&node, std::move(later_part));
    enqueue(then, Ref<Node>::share(&node));
  }

  // Moves what no exchange waits for from `needs` to `rest`. Gives its place: right behind the
  // first leaf that is exchanged now, but before whoever waits for it. 0 if there is nothing to be
  // gained.
  uint64_t put_off(const Node& node, Needs& needs, Needs& rest) const {
    if (first_consumer_.empty() || !node.computes_apart()) return 0;
    InlineVector<uint64_t, 8> places;  // behind the leaves
    uint64_t wanted = 0;               // the place of who waits for the rest; 0: nobody
    for (size_t i = 0; i < needs.size(); ++i) {
      places.push_back(needs[i] ? place_behind_leaf(node, node.edges[i]) : 0);
      rest.push_back(needs[i] && !places[i]);
      if (rest[i]) wanted = std::max(wanted, place(node.edges[i].node.get()));
    }
    uint64_t first = 0;
    for (const uint64_t p : places)
      if (p > wanted) first = first ? std::min(first, p) : p;
    if (!wanted || !first) return 0;
    for (size_t i = 0; i < needs.size(); ++i) needs[i] = places[i] != 0;
    return first;
  }

  // Of the leaf with an exchange that an edge of a node leads to, directly or through a cast, if it
  // runs as soon as they have; else 0.
  uint64_t place_behind_leaf(const Node& node, const Edge& e) const {
    const Node* before = &node;
    const Node* leaf = e.node.get();
    if (leaf->order != 0 && leaf->edges.size() == 1) {
      before = leaf;
      leaf = leaf->edges[0].node.get();
    }
    const auto it = first_consumer_.find(leaf);
    if (it == first_consumer_.end() || it->second != before->order) return 0;
    // What else is called there may write the leaf, which the rest may read.
    const bool alone = static_cast<const Accumulate*>(leaf)->after.empty();
    return alone ? 4 * before->order : 0;
  }

  // The leaf behind an edge, if it takes its gradient in parts and this node makes all of it; else
  // null.
  Accumulate* leaf_in_parts(const Node& node, size_t edge) const {
    Node* const target = node.edges[edge].node.get();
    const auto it = first_consumer_.find(target);
    if (it == first_consumer_.end() || it->second != node.order || pending_.count(target))
      return nullptr;
    const auto leads_there = [&](const Edge& e) { return e.node.get() == target; };
    if (std::ranges::count_if(node.edges, leads_there) > 1) return nullptr;
    auto* const leaf = static_cast<Accumulate*>(target);
    const bool observed = limited_ || !captures_.empty() || !blocked_.empty();
    return !observed && leaf->takes_parts() && node.computes_rows(edge) ? leaf : nullptr;
  }

  // Hands over gradients in parts where leaves want that. Gives what is left of `needs`.
  Needs compute_parts(Node& node, const Tensors& dys, Needs needs) {
    for (size_t i = 0; i < needs.size(); ++i) {
      Accumulate* const leaf = needs[i] ? leaf_in_parts(node, i) : nullptr;
      if (!leaf) continue;
      needs[i] = false;
      profile::Scope scope(profiled_name(node), profile::Kind::gradient);
      leaf->backward_in_parts(
          [&](int64_t begin, int64_t end) { return node.backward_rows(dys, i, begin, end); });
    }
    return needs;
  }

  // The gradients of these edges, the last ones of the node or not.
  void compute(Node& node, const Tensors& dys, const Needs& needs, bool last) {
    if (first_consumer_.empty()) return compute_whole(node, dys, needs, last);
    const Needs left = compute_parts(node, dys, needs);
    if (std::ranges::count(left, true) > 0 || node.edges.empty())
      compute_whole(node, dys, left, last);
    else if (last && !retain_graph_)
      node.release_saved();
  }

  void compute_whole(Node& node, const Tensors& dys, const Needs& needs, bool last) {
    Tensors dxs;
    {
      profile::Scope scope(profiled_name(node), profile::Kind::gradient);
      SharedBytes shared(leads_to_exchange(node, needs));
      dxs = node.backward(dys, needs.data());
    }
    if (last && !retain_graph_) node.release_saved();
    for (size_t i = 0; i < node.edges.size() && i < dxs.size(); ++i)
      if (needs[i] && dxs[i].defined()) send(node.edges[i], dxs[i]);
  }

  // Whether a gradient that is wanted of the node goes to a leaf with an exchange.
  bool leads_to_exchange(const Node& node, const Needs& needs) const {
    if (first_consumer_.empty()) return false;
    for (size_t i = 0; i < needs.size(); ++i)
      if (needs[i] && first_consumer_.count(node.edges[i].node.get())) return true;
    return false;
  }

  bool retain_graph_;
  bool records_;
  bool grad_of_caller_;
  bool limited_ = false;
  std::span<Capture> captures_;
  std::unordered_map<Node*, Pending> pending_;
  std::vector<Waiting> heap_;
  std::unordered_map<const Node*, uint64_t>
      first_consumer_;  // of leaves with an exchange: its order
  std::unordered_set<Node*> useful_;
  std::unordered_set<uint64_t> blocked_;
};

void seed_all(Pass& pass, std::span<const Tensor> roots, std::span<const Tensor> seeds) {
  ARGOSY_CHECK(seeds.empty() || seeds.size() == roots.size(), invalid_argument)
      << "[backward] expected one gradient for each of " << roots.size() << " roots, got "
      << seeds.size() << '.';
  for (size_t i = 0; i < roots.size(); ++i)
    pass.seed(roots[i], seeds.empty() ? Tensor() : seeds[i]);
}

}  // namespace

void backward(std::span<const Tensor> roots, std::span<const Tensor> seeds, bool retain_graph,
              bool create_graph) {
  profile::Scope scope("backward", profile::Kind::backward);
  const bool grad_of_caller = op::thread_state.grad_enabled;
  op::GradMode mode(create_graph);
  op::AutocastOff as_called;
  Pass pass(retain_graph, create_graph, grad_of_caller, {}, {});
  if (leaves_are_exchanged()) pass.place_exchanged_leaves(roots);
  seed_all(pass, roots, seeds);
  pass.run();
}

namespace {

// What is to be differentiated again says so, also where it depends on nothing.
Tensor differentiable(const Tensor& gradient) {
  if (!gradient.defined() || !gradient.stop_gradient()) return gradient;
  Tensor own = gradient.detach();
  own.impl()->stop_gradient = false;
  return own;
}

}  // namespace

Tensors grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
             std::span<const Tensor> seeds, bool retain_graph, bool create_graph, bool allow_unused,
             std::span<const Tensor> no_grad_vars) {
  profile::Scope scope("backward", profile::Kind::backward);
  const bool grad_of_caller = op::thread_state.grad_enabled;
  op::GradMode mode(create_graph);
  op::AutocastOff as_called;
  std::vector<Capture> captures;
  for (const Tensor& t : inputs) captures.push_back({edge_to(t), {}});
  std::vector<Edge> blocked;
  for (const Tensor& t : no_grad_vars)
    if (Edge e = edge_to(t); e.node) blocked.push_back(e);
  Pass pass(retain_graph, create_graph, grad_of_caller, captures, blocked);
  pass.limit_to_captures(outputs);
  seed_all(pass, outputs, seeds);
  pass.run();
  Tensors results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ARGOSY_CHECK(captures[i].result.defined() || allow_unused, invalid_argument)
        << "[grad] input " << i << ' ' << inputs[i]
        << " is not reached from the outputs. Do this: pass allow_unused=True, or check that it "
           "has stop_gradient=False and was used.";
    results.push_back(create_graph ? differentiable(captures[i].result) : captures[i].result);
  }
  return results;
}

}  // namespace argosy::autograd
