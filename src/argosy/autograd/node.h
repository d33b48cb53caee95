#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "argosy/op/op.h"
#include "argosy/tensor/tensor.h"

// The tape of eager mode: nodes made by dispatch, walked by the engine (autograd/engine.h).
namespace argosy::autograd {

class Node;

struct Edge {
  Ref<Node> node;  // null: no gradient wanted on this way
  uint32_t index = 0;
};

// Sees the finished gradient of one output of a node; a defined result replaces it.
struct Hook {
  uint32_t index;
  uint64_t id;
  std::function<Tensor(const Tensor&)> fn;
};

// Threads: built by the thread that runs the op; a backward pass over it may run on another, but
// one at a time. Hooks are guarded by whoever may run Python (the GIL).
class ARGOSY_API Node : public RefCounted {
 public:
  Node();
  virtual const char* name() const = 0;
  // dys: one for each output, undefined where unused. needs: one for each edge.
  // Returns one gradient for each edge, undefined where there is none.
  virtual Tensors backward(std::span<const Tensor> dys, const bool* needs) = 0;
  // Whether what backward() computes for one edge is of no use for another: asked for some edges at
  // a time it does no more than asked for all at once.
  virtual bool computes_apart() const { return false; }
  // Whether backward_rows() computes what backward() does for an edge.
  virtual bool computes_rows(size_t) const { return false; }
  // Rows [begin, end), of the first dimension, of the gradient for one edge.
  virtual Tensor backward_rows(std::span<const Tensor>, size_t, int64_t, int64_t) { return {}; }
  virtual void release_saved() {}
  virtual bool released() const { return false; }

  InlineVector<Edge, 3> edges;
  std::vector<Hook> hooks;
  uint32_t outputs = 1;
  // Rises in the order of creation, so a node's consumers always have a higher one.
  uint64_t order;

  uint64_t add_hook(uint32_t index, std::function<Tensor(const Tensor&)> fn);
  bool remove_hook(uint64_t id);

 protected:
  ~Node() override;
  // Long chains must not recurse: freeing is queued.
  void drop() override;

 private:
  Node* next_waiting_ = nullptr;  // of the queue, once nobody refers to this node
};

// End of the tape at a leaf: adds what arrives into `grad`. The leaf's record shares it, and lives
// on its own if the leaf dies first.
class ARGOSY_API Accumulate final : public Node {
 public:
  ~Accumulate() override;
  const char* name() const override { return "accumulate"; }
  Tensors backward(std::span<const Tensor> dys, const bool*) override;
  Tensor grad;
  // `grad` stands for zeros, which are written only if somebody reads them before the next
  // gradient arrives and takes their place.
  bool cleared = false;
  void clear(bool to_zero);
  void write_zeros();
  // `grad` came from outside: the next gradient is not added into its memory.
  bool given = false;
  // Whether nobody has written it since it was set to zeros, so that another may take its place.
  bool is_zeros() const { return zeros && grad.version() == zeros_version_; }
  bool zeros = false;
  std::vector<std::function<void()>> after;  // run when a gradient has been added

  // Run after those in `after`. A leaf that has one runs as soon as its last consumer of the pass
  // has, not after all other nodes, so that its gradient can be exchanged while others are
  // computed.
  uint64_t add_exchange(std::function<void()> fn);
  bool remove_exchange(uint64_t id);
  bool exchanged() const { return !exchanges_.empty(); }
  // An exchange that takes some rows of the gradient while others are computed, where one node
  // makes all of it: part(k) is called when `grad` has its rows below ends[k], and those after
  // ends[k - 1] may be exchanged. The last end is the gradient's number of rows. Exchanges, which
  // follow in any case, find out whether it was.
  struct Parts {
    std::vector<int64_t> ends;
    std::function<void(size_t)> part;
  };
  Parts parts;
  bool takes_parts() const;
  // Whose rows compute_rows(begin, end) gives.
  void backward_in_parts(const std::function<Tensor(int64_t, int64_t)>& compute_rows);
  // While another thread works on the bytes of `grad`: waits for it. Whoever reads or replaces
  // `grad` calls settle() before.
  std::function<void()> under_way;
  void settle() {
    if (under_way) [[unlikely]]
      std::exchange(under_way, nullptr)();
  }

 private:
  struct Exchange {
    uint64_t id;
    std::function<void()> fn;
  };
  void tell();  // that a gradient has been added
  bool is_held() const;
  uint32_t zeros_version_ = 0;
  std::vector<Exchange> exchanges_;
};

// Whether there is any leaf with an exchange, of any thread.
ARGOSY_API bool leaves_are_exchanged();

struct Record final : GradRecord {
  Ref<Accumulate> slot;
  bool retains = false;  // a non-leaf whose gradient is kept
};

// The slot of a tensor, made at first use.
ARGOSY_API Accumulate& slot(const Tensor& t);
ARGOSY_API Tensor grad_of(const Tensor& t);  // undefined if there is none
ARGOSY_API void set_grad(const Tensor& t, Tensor grad);
// Makes the gradient zero, or drops it.
ARGOSY_API void clear_grad(const Tensor& t, bool to_zero);
ARGOSY_API bool is_leaf(const Tensor& t);
// Where the gradient of t goes; null if it needs none.
ARGOSY_API Edge edge_to(const Tensor& t);
// Keeps the gradient of a non-leaf.
ARGOSY_API void retain_grad(const Tensor& t);
ARGOSY_API uint64_t add_hook(const Tensor& t, std::function<Tensor(const Tensor&)> fn);
ARGOSY_API bool remove_hook(const Tensor& t, uint64_t id);

// Makes `out` output `index` of `node`.
ARGOSY_API void tie(const Tensor& out, Ref<Node> node, uint32_t index);

// Adds two gradients of one value; either may be row-sparse. With `own`, a may be overwritten.
ARGOSY_API Tensor add_grads(const Tensor& a, const Tensor& b, bool own);

}  // namespace argosy::autograd
