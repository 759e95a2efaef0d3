// Expected failures as values (moraine/result.h), and how they are passed on.
#pragma once

#include "moraine/result.h"

#define MORAINE_CAT_(a, b) a##b
#define MORAINE_CAT(a, b) MORAINE_CAT_(a, b)

// TRY(auto bytes, decode(input)): binds the value, or returns the error from the function.
#define TRY(lhs, expr) MORAINE_TRY_(MORAINE_CAT(result_, __LINE__), lhs, expr, return)
#define CO_TRY(lhs, expr) MORAINE_TRY_(MORAINE_CAT(result_, __LINE__), lhs, expr, co_return)
#define MORAINE_TRY_(tmp, lhs, expr, leave)                          \
  auto tmp = (expr);                                                 \
  if (!tmp) [[unlikely]]                                             \
    leave std::unexpected<::moraine::Error>(std::move(tmp).error()); \
  lhs = std::move(*tmp)

// The same for Result<void>.
#define TRY_VOID(expr) MORAINE_TRY_VOID_(MORAINE_CAT(result_, __LINE__), expr, return)
#define CO_TRY_VOID(expr) MORAINE_TRY_VOID_(MORAINE_CAT(result_, __LINE__), expr, co_return)
#define MORAINE_TRY_VOID_(tmp, expr, leave) \
  auto tmp = (expr);                        \
  if (!tmp) [[unlikely]]                    \
  leave std::unexpected<::moraine::Error>(std::move(tmp).error())
