#include "argosy/autograd/node.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/sparse/sparse.h"
#include "argosy/tensor/shared_bytes.h"

namespace argosy::autograd {
namespace {

std::atomic<uint64_t> next_order{1};
std::atomic<uint64_t> next_hook{1};
std::atomic<int64_t> exchanges{0};

struct Graveyard {
  Node* waiting = nullptr;  // a list by next_waiting_: freeing must not allocate
  bool digging = false;
};
thread_local Graveyard graveyard;

Record& record_of(const Tensor& t) {
  auto& record = t.impl()->record;
  if (!record) record = std::make_unique<Record>();
  return static_cast<Record&>(*record);
}

}  // namespace

Node::Node() : order(next_order.fetch_add(1, std::memory_order_relaxed)) {}
Node::~Node() = default;

void Node::drop() {
  Graveyard& g = graveyard;
  next_waiting_ = std::exchange(g.waiting, this);
  if (g.digging) return;
  g.digging = true;
  while (Node* node = g.waiting) {
    g.waiting = node->next_waiting_;
    delete node;
  }
  g.digging = false;
}

uint64_t Node::add_hook(uint32_t index, std::function<Tensor(const Tensor&)> fn) {
  uint64_t id = next_hook.fetch_add(1, std::memory_order_relaxed);
  hooks.push_back({index, id, std::move(fn)});
  return id;
}

bool Node::remove_hook(uint64_t id) {
  for (size_t i = 0; i < hooks.size(); ++i) {
    if (hooks[i].id != id) continue;
    hooks.erase(hooks.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

Accumulate::~Accumulate() {
  exchanges.fetch_sub(static_cast<int64_t>(exchanges_.size()), std::memory_order_relaxed);
}

uint64_t Accumulate::add_exchange(std::function<void()> fn) {
  const uint64_t id = next_hook.fetch_add(1, std::memory_order_relaxed);
  exchanges_.push_back({id, std::move(fn)});
  exchanges.fetch_add(1, std::memory_order_relaxed);
  return id;
}

bool Accumulate::remove_exchange(uint64_t id) {
  const size_t removed = std::erase_if(exchanges_, [id](const Exchange& e) { return e.id == id; });
  exchanges.fetch_sub(static_cast<int64_t>(removed), std::memory_order_relaxed);
  return removed != 0;
}

bool leaves_are_exchanged() {
  return exchanges.load(std::memory_order_relaxed) != 0;
}

Tensors Accumulate::backward(std::span<const Tensor> dys, const bool*) {
  const Tensor& dy = dys[0];
  if (!dy.defined()) return {};
  settle();
  SharedBytes seen_by_others(exchanged());
  bool keeps_graph = op::thread_state.grad_enabled && dy.requires_grad();
  if (grad.defined() && !cleared && !is_zeros()) {
    grad = add_grads(grad, dy, !keeps_graph && is_leaf(grad) && !given);
  } else if (keeps_graph) {
    grad = dy;
  } else {
    // Somebody else may hold the same memory (both operands of an add get one gradient).
    const Storage* storage = dy.impl()->storage.get();
    bool shared =
        dy.ref()->ref_count() > 1 || (storage && (storage->ref_count() > 1 || storage->shared()));
    bool dense = dy.layout() == Layout::strided && dy.has_data();
    if (dense && (shared || !dy.is_contiguous())) {
      grad = Tensor::empty(dy.shape(), dy.dtype(), dy.place());
      op::copy_into(grad, dy);
    } else {
      grad = dy.detach();
    }
  }
  if (is_leaf(grad)) grad.set_stop_gradient(false);  // what is computed from x.grad has a history
  cleared = given = zeros = false;
  tell();
  return {};
}

void Accumulate::tell() {
  for (auto& fn : after) fn();
  for (size_t i = 0; i < exchanges_.size(); ++i) {
    auto fn = exchanges_[i].fn;  // it may remove itself
    fn();
  }
}

// Hooks see a whole gradient, and what is there already would have to be added to each part.
bool Accumulate::takes_parts() const {
  return parts.part && hooks.empty() && (cleared || !grad.defined()) &&
         !op::thread_state.grad_enabled;
}

void Accumulate::backward_in_parts(const std::function<Tensor(int64_t, int64_t)>& compute_rows) {
  settle();
  const Parts taken = parts;  // who is called may change them
  Tensor whole;
  int64_t begin = 0;
  for (size_t k = 0; k < taken.ends.size(); begin = taken.ends[k++]) {
    const int64_t end = taken.ends[k];
    const Tensor rows = compute_rows(begin, end);
    if (!whole.defined()) {
      Shape shape = rows.shape();
      shape[0] = taken.ends.back();
      whole = Tensor::empty(shape, rows.dtype(), rows.place());
      grad = whole;
      grad.set_stop_gradient(false);
      cleared = given = zeros = false;
    }
    op::copy_into(ops::slice(whole.detach(), 0, begin, end), rows);
    taken.part(k);
  }
  tell();
}

// Whether somebody else sees the gradient or its memory.
bool Accumulate::is_held() const {
  const TensorImpl* t = grad.impl();
  return t->python || grad.ref()->ref_count() > 1 ||
         (t->storage && (t->storage->ref_count() > 1 || t->storage->shared()));
}

void Accumulate::clear(bool to_zero) {
  settle();
  cleared = to_zero && grad.defined() && grad.layout() == Layout::strided;
  if (!cleared) {
    grad = Tensor();
  } else if (exchanges_.empty() && !given && grad.has_data() && is_held()) {
    write_zeros();  // who holds it sees them at once
  }
}

void Accumulate::write_zeros() {
  cleared = false;
  zeros = true;
  op::GradMode off(false);
  if (!grad.has_data() || !is_leaf(grad) || given) {
    grad = ops::full_like(grad, 0);
    grad.set_stop_gradient(false);
    given = false;
    zeros_version_ = grad.version();
    return;
  }
  grad.prepare_write();
  if (grad.place().kind == DeviceKind::cpu && grad.is_contiguous())
    std::memset(grad.raw(), 0, grad.nbytes());
  else
    op::copy_into(grad, ops::constant(0, grad.dtype(), grad.place()));
  grad.wrote("clear_gradient");
  zeros_version_ = grad.version();
}

Accumulate& slot(const Tensor& t) {
  Record& r = record_of(t);
  if (!r.slot) {
    r.slot = make_ref<Accumulate>();
    r.slot->order = 0;  // after everything else, unless it has an exchange
  }
  return *r.slot;
}

Tensor grad_of(const Tensor& t) {
  auto* record = static_cast<Record*>(t.impl()->record.get());
  if (!record || !record->slot) return {};
  record->slot->settle();
  if (record->slot->cleared) record->slot->write_zeros();
  return record->slot->grad;
}

void set_grad(const Tensor& t, Tensor grad) {
  Accumulate& s = slot(t);
  s.settle();
  s.grad = std::move(grad);
  s.cleared = s.zeros = false;
  s.given = s.grad.defined();
}

void clear_grad(const Tensor& t, bool to_zero) {
  auto* record = static_cast<Record*>(t.impl()->record.get());
  if (record && record->slot) record->slot->clear(to_zero);
}

bool is_leaf(const Tensor& t) {
  return !t.impl()->grad_fn;
}

Edge edge_to(const Tensor& t) {
  if (!t.defined() || t.stop_gradient()) return {};
  if (RefCounted* fn = t.impl()->grad_fn.get())
    return {Ref<Node>::share(static_cast<Node*>(fn)), t.impl()->grad_index};
  return {Ref<Node>::share(&slot(t)), 0};
}

void tie(const Tensor& out, Ref<Node> node, uint32_t index) {
  TensorImpl* impl = out.impl();
  impl->stop_gradient = false;
  impl->grad_index = index;
  impl->grad_fn = Ref<RefCounted>::adopt(node.leak());
}

void retain_grad(const Tensor& t) {
  if (is_leaf(t)) return;
  Record& record = record_of(t);
  if (record.retains) return;
  record.retains = true;
  Ref<Accumulate> keep = Ref<Accumulate>::share(&slot(t));
  static_cast<Node*>(t.impl()->grad_fn.get())
      ->add_hook(t.impl()->grad_index, [keep](const Tensor& dy) {
        const Tensor dys[] = {dy};
        keep->backward(dys, nullptr);
        return Tensor();
      });
}

uint64_t add_hook(const Tensor& t, std::function<Tensor(const Tensor&)> fn) {
  Edge e = edge_to(t);
  ARGOSY_CHECK(e.node, runtime)
      << "Cannot register a hook on a tensor without gradient (stop_gradient=True): " << t
      << ". Do this: set stop_gradient=False first.";
  return e.node->add_hook(e.index, std::move(fn));
}

bool remove_hook(const Tensor& t, uint64_t id) {
  Edge e = edge_to(t);
  return e.node && e.node->remove_hook(id);
}

Tensor add_grads(const Tensor& a, const Tensor& b, bool own) {
  if (a.layout() == Layout::row_sparse && b.layout() == Layout::row_sparse)
    return ops::concat_rows(a, b);
  if (a.layout() == Layout::row_sparse) return ops::add(b, ops::rows_to_dense(a));
  if (b.layout() == Layout::row_sparse) return ops::add(a, ops::rows_to_dense(b));
  bool plain = !op::thread_state.grad_enabled || (!a.requires_grad() && !b.requires_grad());
  if (own && plain && a.dtype() == b.dtype() && a.shape() == b.shape() && !a.symbolic()) {
    op::GradMode off(false);
    return ops::add_(a, b);
  }
  return ops::add(a, b);
}

}  // namespace argosy::autograd
