// Messages in a topic: written with numbers, so that a repeated write is stored once; read on from
// where the consumer has committed.
#include <chrono>
#include <cstdio>
#include <string>

#include "moraine/database.h"

using namespace moraine;

namespace {

// Writes three orders, each of them twice, as a program does that lost an answer.
Result<void> write_orders(Database& db, const Topic& orders) {
  std::uint64_t number = 0;
  for (const char* order : {"tea", "milk", "bread"}) {
    ++number;
    for (int attempt = 1; attempt <= 2; ++attempt) {
      const auto written = db.run(
          orders.write({{.key = "ann", .value = order}}, {.producer = "shop", .number = number}));
      if (!written) return std::unexpected(written.error());
    }
  }
  return {};
}

// Prints what "billing" has not seen yet, and returns how many messages that were.
Result<std::size_t> read_orders(Database& db, const Topic& orders) {
  const std::uint32_t partition = orders.partition_of("ann");
  const auto committed = db.run(orders.committed("billing", partition));
  if (!committed) return std::unexpected(committed.error());
  const std::uint64_t offset = *committed ? (*committed)->offset : 0;
  const auto found = db.run(orders.read(
      {.partition = partition, .offset = offset, .wait = std::chrono::milliseconds(100)}));
  if (!found) return std::unexpected(found.error());
  for (const Message& message : found->messages) {
    std::printf("%s\n", std::string(message.value.value_or("")).c_str());
  }
  const auto done = db.run(orders.commit("billing", partition, found->next_offset));
  if (!done) return std::unexpected(done.error());
  return found->messages.size();
}

Result<void> run(const char* folder) {
  auto db = Database::open(folder);
  if (!db) return std::unexpected(db.error());
  auto orders = db->run(db->create_topic("orders", {.partitions = 4}));
  if (!orders) return std::unexpected(orders.error());
  if (auto written = write_orders(*db, *orders); !written) return written;
  for (int round = 1; round <= 2; ++round) {
    const auto read = read_orders(*db, *orders);
    if (!read) return std::unexpected(read.error());
    std::printf("round %d: %zu orders\n", round, *read);
  }
  return db->run(db->remove_topic("orders"));
}

}  // namespace

int main(int count, char** arguments) {
  const auto done = run(count > 1 ? arguments[1] : "./data");
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return 1;
}
