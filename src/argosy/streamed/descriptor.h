#pragma once

#include <vector>

#include "argosy/streamed/ledger.h"
#include "argosy/streamed/mirror.h"
#include "argosy/tensor/tensor.h"

namespace argosy::streamed {

// A tensor as a queue holds it: addresses and shapes, and no Tensor, whose memory would live until
// the queue is done with it, however early the host let go of it.
class Descriptor {
 public:
  Descriptor(const Tensor& t, const Mirror& mirror);  // t may be undefined
  // Of an operand on the host: a copy, since the caller may change it.
  static Descriptor of_host(const Tensor& t);

  bool defined() const { return defined_; }
  bool has_data() const { return alias_ != nullptr; }
  Layout layout() const { return layout_; }
  void add_uses(bool writes, std::vector<Use>& uses) const;
  // On a queue's thread: on the CPU, over the alias.
  Tensor tensor() const;

 private:
  Descriptor() = default;

  bool defined_ = false;
  DType dtype_ = DType::float32;
  Layout layout_ = Layout::strided;
  const char* face_ = nullptr;
  char* alias_ = nullptr;  // null: a description
  Shape shape_, strides_;
  std::vector<Descriptor> parts_;
  Tensor copy_;  // of what is on the host
};

}  // namespace argosy::streamed
