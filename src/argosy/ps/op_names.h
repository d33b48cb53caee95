#pragma once

// The ops that the split puts into Programs, by their names. What it must know of others, their
// descriptions say (op::OpDef).
namespace argosy::ps::made {

inline constexpr char kPullRows[] = "ps_pull_rows";
inline constexpr char kPrefetchRows[] = "ps_prefetch_rows";
inline constexpr char kPushRows[] = "ps_push_rows";
inline constexpr char kPullDense[] = "ps_pull_dense";
inline constexpr char kPushDense[] = "ps_push_dense";
inline constexpr char kEndStep[] = "ps_end_step";

inline constexpr char kRowsGradient[] = "embedding_rows_grad";
inline constexpr char kAddRows[] = "add_rows";
inline constexpr char kAdd[] = "add";
inline constexpr char kMultiply[] = "multiply";
inline constexpr char kDivide[] = "divide";
inline constexpr char kScale[] = "scale";
inline constexpr char kSign[] = "sign";
inline constexpr char kSqrt[] = "sqrt";

}  // namespace argosy::ps::made
