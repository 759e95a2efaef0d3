// Functions that SQLite lacks, for queries that are compared with it. Internal to sqlite.h.
#pragma once

struct sqlite3;

namespace moraine::sim {

// i_add, i_sub, i_mul, i_neg, i_sum     of int64, wrapping around
// u_add, u_sub, u_mul, u_div, u_mod, u_and, u_or, u_xor, u_shl, u_shr, u_not, u_neg, u_sum, u_avg
// u_text, u_to_i, i_to_u, u_to_d, d_to_u                       of uint64 with its bit flipped
// bit_count(x, is_uint64), regexp_full(pattern, text), farm_hash(types, ...): a letter per type
// argmin(x, by), argmax(x, by)
// All but farm_hash are null for a null argument.
void register_functions(sqlite3* database);

}  // namespace moraine::sim
