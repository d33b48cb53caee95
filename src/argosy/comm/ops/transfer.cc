#include "argosy/comm/ops/calls.h"
#include "argosy/comm/ops/exchange.h"

// What is no collective: messages between two ranks, which have no gradient, and barriers.
namespace argosy::comm {
namespace {

using op::InferContext;
using op::KernelFrame;

struct PeerAttrs {
  int64_t peer = 0;
  int64_t group = 0;
};
ARGOSY_ATTRS(PeerAttrs, peer, group)

void send_to_infer(InferContext&, const PeerAttrs&) {}
void send_to_run(KernelFrame& f, const PeerAttrs& a) {
  Groups::current().find(a.group, f.name())->send(f.in[0], static_cast<int>(a.peer));
}

ARGOSY_OP(send_to, PeerAttrs)
    .doc("Sends x to rank `peer` of a group, which receives it by recv_from.")
    .input("x")
    .infer(send_to_infer)
    .kernel("group", send_to_run)
    .strided()
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool send_to_described =
    describe_exchange("send_to", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<PeerAttrs>(attrs);
      return exchange(Kind::send, a.group, in.list(0), Reduce::none, a.peer);
    });

void recv_from_run(KernelFrame& f, const PeerAttrs& a) {
  Groups::current().find(a.group, f.name())->recv(f.out[0], static_cast<int>(a.peer));
}

ARGOSY_OP(recv_from, PeerAttrs)
    .doc("What rank `peer` of a group sends to this one, of the form of `like`.")
    .input("like")
    .index_output("out")
    .kernel("group", recv_from_run)
    .strided()
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool recv_from_described =
    describe_exchange("recv_from", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<PeerAttrs>(attrs);
      return exchange(Kind::recv, a.group, in.list(0), Reduce::none, a.peer);
    });

struct BarrierAttrs {
  int64_t group = 0;
};
ARGOSY_ATTRS(BarrierAttrs, group)

void barrier_infer(InferContext&, const BarrierAttrs&) {}
void barrier_run(KernelFrame& f, const BarrierAttrs& a) {
  Groups::current().find(a.group, f.name())->barrier();
}

ARGOSY_OP(barrier, BarrierAttrs)
    .doc("Waits until all ranks of a group are here.")
    .infer(barrier_infer)
    .kernel("group", barrier_run)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool barrier_described =
    describe_exchange("barrier", [](const op::Inputs&, const void* attrs) {
      return exchange(Kind::barrier, as<BarrierAttrs>(attrs).group, {});
    });

}  // namespace
}  // namespace argosy::comm
