#include "argosy/comm/ops/calls.h"

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
    .done();

void recv_from_run(KernelFrame& f, const PeerAttrs& a) {
  Groups::current().find(a.group, f.name())->recv(f.out[0], static_cast<int>(a.peer));
}

ARGOSY_OP(recv_from, PeerAttrs)
    .doc("What rank `peer` of a group sends to this one, of the form of `like`.")
    .input("like")
    .shape_only()
    .index_output("out")
    .kernel("group", recv_from_run)
    .strided()
    .effect(op::Effect::communicates)
    .done();

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
    .done();

}  // namespace
}  // namespace argosy::comm
