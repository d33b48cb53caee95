#pragma once

// The ops that passes of this room put into Programs, by their names.
namespace argosy::parallel::made {

inline constexpr char kStart[] = "all_reduce_start";
inline constexpr char kWait[] = "all_reduce_wait";
inline constexpr char kAverageRows[] = "average_rows";
inline constexpr char kCast[] = "cast";
inline constexpr char kSlice[] = "slice";
inline constexpr char kConcat[] = "concat";

}  // namespace argosy::parallel::made
