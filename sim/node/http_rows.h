// HTTP clients of rows: a bank, its journal, and a long table that is read slowly.
//
//   HttpTeller   moves money between accounts in transactions of rows, and writes each transfer
//                into the journal; reads what it wrote, and the sum of all accounts
//   Ledger       what the tellers did
//
// Promise    The accounts have one sum at every moment. A transfer that was acknowledged is in the
//            journal at once and for ever; one that was refused never is; and the balances are
//            those of the journal, so each transfer was applied once, as a whole.
// Threading  Events of the scenario.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/node/http_stage.h"

namespace moraine::sim {

struct Ledger {
  enum class Fate : std::uint8_t { kUnknown, kRefused, kCommitted };
  struct Transfer {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t amount = 0;
    Fate fate = Fate::kUnknown;
  };
  static constexpr std::int64_t kAccounts = 6;
  static constexpr std::int64_t kBalance = 100;
  static constexpr const char* kBank = "//tmp/bank";
  static constexpr const char* kJournal = "//tmp/journal";
  static constexpr const char* kLong = "//tmp/long";
  static constexpr std::int64_t kLongRows = 90;
  static constexpr std::size_t kLongBytes = 4'000;  // Of a row.

  std::map<std::int64_t, Transfer> transfers;  // By number.
  bool open = false;                           // The tables are there.
};

class HttpTeller {
 public:
  HttpTeller(HttpStage& stage, Ledger& ledger, std::size_t number);

  Task<void> run();
  // After all faults. False: no answer.
  static Task<bool> check(HttpStage& stage, const Ledger& ledger, HttpLink& link);

 private:
  Task<void> open_tables();
  Task<bool> make_table(std::string path, std::string schema, std::string pivots);
  // Tablets may not run yet. False: the scenario ends.
  Task<bool> insert(std::string path, std::string rows);
  Task<void> transfer();
  Task<std::optional<std::string>> begin();
  Task<std::optional<std::pair<std::int64_t, std::int64_t>>> balances(std::string transaction,
                                                                      Ledger::Transfer moved);
  Task<bool> write(std::string transaction, std::int64_t number, Ledger::Transfer moved,
                   std::pair<std::int64_t, std::int64_t> before);
  Task<Ledger::Fate> commit(std::string transaction);
  Task<void> read_back();
  Task<void> audit();
  Task<void> read_slowly();

  HttpStage& stage_;
  Ledger& ledger_;
  const std::int64_t number_;
  HttpClient client_;
  std::int64_t transfers_ = 0;
};

}  // namespace moraine::sim
