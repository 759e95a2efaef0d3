#include "table/tablet/transaction_id.h"

#include <fmt/format.h>

namespace moraine::table {

std::string to_string(const TransactionId& id) {
  std::string text;
  for (const std::uint8_t byte : id.bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace moraine::table
