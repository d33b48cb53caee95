#include "argosy/op/define.h"

// Operations that own blocks of a Program. They have no kernels: executors run them.
namespace argosy::ops {
namespace {

using op::NoAttrs;

ARGOSY_OP(if, NoAttrs)
    .doc(
        "Runs one of two blocks. Operands: pred, a bool of one element, then what the blocks get "
        "as "
        "arguments. Results: what the block yields.")
    .input("pred", kBool)
    .list_input("operands")
    .list_output("out")
    .structural()
    .done();

ARGOSY_OP(while, NoAttrs)
    .doc(
        "Runs its second block as long as the first yields true. Operands: the loop-carried "
        "values, "
        "one for each result, then what stays the same; both blocks get all as arguments, the "
        "second yields the next carried values.")
    .list_input("operands")
    .list_output("out")
    .structural()
    .done();

}  // namespace
}  // namespace argosy::ops
