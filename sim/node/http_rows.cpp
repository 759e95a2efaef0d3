#include "sim/node/http_rows.h"

#include <fmt/format.h>

namespace moraine::sim {
namespace {

constexpr std::uint64_t kVanishes = 12;  // Transfers for each one whose client vanishes.
constexpr int kNoTransaction = 11000;
constexpr int kRowConflict = 1700;

std::string number_of(const YsonNode& row, std::string_view column) {
  const YsonNode* const found = row.find(column);
  const auto* const number = found == nullptr ? nullptr : found->as<std::int64_t>();
  return number == nullptr ? "?" : std::to_string(*number);
}

std::optional<std::int64_t> number_in(const YsonNode& row, std::string_view column) {
  const YsonNode* const found = row.find(column);
  const auto* const number = found == nullptr ? nullptr : found->as<std::int64_t>();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::string text_of(std::int64_t key) {
  return std::string(Ledger::kLongBytes, static_cast<char>('a' + key % 26));
}

std::string sticky(const std::string& transaction) {
  return fmt::format("transaction_id=\"{}\";", transaction);
}

HttpRequest select(const std::string& query) {
  return {"select_rows", fmt::format("query=\"{}\";", query)};
}

// The row of the journal.
bool is_row_of(const Ledger::Transfer& transfer, const YsonNode& row) {
  return number_in(row, "from") == transfer.from && number_in(row, "to") == transfer.to &&
         number_in(row, "amount") == transfer.amount;
}

}  // namespace

HttpTeller::HttpTeller(HttpStage& stage, Ledger& ledger, std::size_t number)
    : stage_(stage),
      ledger_(ledger),
      number_(static_cast<std::int64_t>(number)),
      client_(stage, fmt::format("teller{}", number)) {}

Task<void> HttpTeller::run() {
  if (number_ == 0) co_await open_tables();
  while (stage_.keep_running()) {
    co_await stage_.think(client_.random());
    if (!ledger_.open) continue;
    switch (client_.random().below(16)) {
      case 0: co_await read_slowly(); break;
      case 1:
      case 2: co_await read_back(); break;
      case 3:
      case 4: co_await audit(); break;
      default: co_await transfer();
    }
  }
  client_.link().close();
}

Task<void> HttpTeller::open_tables() {
  constexpr const char* kKey = "{name=k;type=int64;sort_order=ascending}";
  const auto schema = [&](const std::string& values) {
    return fmt::format("[{};{}]", kKey, values);
  };
  if (!co_await make_table(Ledger::kBank, schema("{name=v;type=int64}"), "[[];[2];[4]]")) co_return;
  if (!co_await make_table(
          Ledger::kJournal,
          schema("{name=from;type=int64};{name=to;type=int64};{name=amount;type=int64}"),
          "[[];[1000001];[2000001]]")) {
    co_return;
  }
  if (!co_await make_table(Ledger::kLong, schema("{name=t;type=string}"), "[[];[50]]")) co_return;
  std::string accounts;
  for (std::int64_t k = 0; k < Ledger::kAccounts; ++k) {
    accounts += fmt::format("{{k={};v={}}};", k, Ledger::kBalance);
  }
  if (!co_await insert(Ledger::kBank, accounts)) co_return;
  std::string rows;
  for (std::int64_t k = 0; k < Ledger::kLongRows; ++k) {
    rows += fmt::format("{{k={};t={}}};", k, text_of(k));
  }
  ledger_.open = co_await insert(Ledger::kLong, rows);
}

Task<bool> HttpTeller::make_table(std::string path, std::string schema, std::string pivots) {
  const auto made = co_await client_.must_change(
      TreeCommand::kMake,
      {"create", fmt::format("type=table;attributes={{dynamic=%true;schema={};pivot_keys={}}};{}",
                             schema, pivots, path_is(path))});
  if (!made) co_return false;
  const auto mounted =
      co_await client_.must_change(TreeCommand::kMake, {"mount_table", path_is(path)});
  co_return mounted.has_value();
}

Task<bool> HttpTeller::insert(std::string path, std::string rows) {
  while (stage_.keep_running()) {
    if (client_.link().open(client_.random())) {
      const auto answer = co_await client_.link().ask({"insert_rows", path_is(path), rows});
      stage_.count(TreeCommand::kWriteRows, answer);
      if (answer && answer->ok()) co_return true;
      client_.link().close();
    }
    co_await stage_.think(client_.random());
  }
  co_return false;
}

Task<std::optional<std::string>> HttpTeller::begin() {
  if (!client_.link().open(client_.random())) co_return std::nullopt;
  const auto begun =
      co_await client_.link().ask({"start_transaction", "type=tablet;timeout=20000;"});
  if (!begun || !begun->ok()) {
    if (begun && !begun->newest) client_.link().close();
    co_return std::nullopt;
  }
  co_return begun->id();
}

Task<std::optional<std::pair<std::int64_t, std::int64_t>>> HttpTeller::balances(
    std::string transaction, Ledger::Transfer moved) {
  const auto answer =
      co_await client_.link().ask({"lookup_rows", path_is(Ledger::kBank) + sticky(transaction),
                                   fmt::format("{{k={}}};{{k={}}}", moved.from, moved.to)});
  stage_.count(TreeCommand::kLookup, answer);
  if (!answer || !answer->ok()) co_return std::nullopt;
  const YsonList rows = answer->rows();
  if (rows.size() != 2 || !number_in(rows[0], "v") || !number_in(rows[1], "v")) {
    client_.fail("accounts are missing: " + answer->body);
    co_return std::nullopt;
  }
  co_return std::pair(*number_in(rows[0], "v"), *number_in(rows[1], "v"));
}

// Both requests are sent before the answer to the first.
Task<bool> HttpTeller::write(std::string transaction, std::int64_t number, Ledger::Transfer moved,
                             std::pair<std::int64_t, std::int64_t> before) {
  HttpLink& link = client_.link();
  const bool sent = co_await link.send(
      {"insert_rows", path_is(Ledger::kBank) + sticky(transaction),
       fmt::format("{{k={};v={}}};{{k={};v={}}}", moved.from, before.first - moved.amount, moved.to,
                   before.second + moved.amount)});
  if (!sent) co_return false;
  const bool sent_too =
      co_await link.send({"insert_rows", path_is(Ledger::kJournal) + sticky(transaction),
                          fmt::format("{{k={};from={};to={};amount={}}}", number, moved.from,
                                      moved.to, moved.amount)});
  if (!sent_too) co_return false;
  for (int i = 0; i < 2; ++i) {
    const auto answer = co_await link.receive();
    stage_.count(TreeCommand::kWriteRows, answer);
    if (!answer) co_return false;
    if (answer->ok()) continue;
    // The other answer is of no use.
    link.close();
    co_return false;
  }
  co_return true;
}

Task<Ledger::Fate> HttpTeller::commit(std::string transaction) {
  HttpLink& link = client_.link();
  const HttpRequest request{"commit_transaction", sticky(transaction)};
  if (client_.random().one_in(kVanishes)) {
    const bool sent = co_await link.send(request);
    if (sent && client_.random().one_in(2)) co_await stage_.think(client_.random());
    link.close();
    co_return Ledger::Fate::kUnknown;
  }
  const auto answer = co_await link.ask(request);
  stage_.count(TreeCommand::kCommitRows, answer);
  if (answer && answer->ok()) co_return Ledger::Fate::kCommitted;
  const bool refused = answer && (answer->code == kRowConflict || answer->code == kNoTransaction);
  co_return refused ? Ledger::Fate::kRefused : Ledger::Fate::kUnknown;
}

Task<void> HttpTeller::transfer() {
  SeededRandom& random = client_.random();
  Ledger::Transfer moved;
  moved.from = static_cast<std::int64_t>(random.below(Ledger::kAccounts));
  moved.to = static_cast<std::int64_t>(random.below(Ledger::kAccounts - 1));
  if (moved.to >= moved.from) ++moved.to;
  moved.amount = 1 + static_cast<std::int64_t>(random.below(9));
  const std::int64_t number = number_ * 1'000'000 + ++transfers_;
  const auto transaction = co_await begin();
  if (!transaction) co_return;
  const auto before = co_await balances(*transaction, moved);
  if (!before) co_return;
  moved.fate = Ledger::Fate::kRefused;
  ledger_.transfers[number] = moved;
  if (!co_await write(*transaction, number, moved, *before)) co_return;
  if (random.one_in(kVanishes)) co_return client_.link().close();  // Before its commit.
  ledger_.transfers[number].fate = Ledger::Fate::kUnknown;
  ledger_.transfers[number].fate = co_await commit(*transaction);
}

// A transfer whose fate is known, by its row in the journal.
Task<void> HttpTeller::read_back() {
  if (transfers_ == 0) co_return;
  const std::int64_t number =
      number_ * 1'000'000 + 1 +
      static_cast<std::int64_t>(client_.random().below(static_cast<std::uint64_t>(transfers_)));
  const auto found = ledger_.transfers.find(number);
  if (found == ledger_.transfers.end() || !client_.link().open(client_.random())) co_return;
  const Ledger::Transfer known = found->second;
  const auto answer = co_await client_.link().ask(
      {"lookup_rows", path_is(Ledger::kJournal), fmt::format("{{k={}}}", number)});
  stage_.count(TreeCommand::kLookup, answer);
  if (!answer || !answer->ok() || !answer->newest) co_return client_.link().close();
  ++stage_.history.tally.trees_checked;
  const YsonList rows = answer->rows();
  const bool there = rows.size() == 1 && is_row_of(known, rows[0]);
  if (!rows.empty() && !there) client_.fail("a row that nobody wrote: " + answer->body);
  if (known.fate == Ledger::Fate::kCommitted && !there) {
    client_.fail(fmt::format("transfer {} was committed and is not in the journal", number));
  }
  if (known.fate == Ledger::Fate::kRefused && there) {
    client_.fail(fmt::format("transfer {} was not committed and is in the journal", number));
  }
}

// All accounts at one moment, now or of another server in the past.
Task<void> HttpTeller::audit() {
  if (!client_.link().open(client_.random())) co_return;
  const auto answer = co_await client_.link().ask(
      select(fmt::format("sum(v) as s, sum(1) as n from [{}] group by 1 as one", Ledger::kBank)));
  stage_.count(TreeCommand::kSelect, answer);
  if (!answer || !answer->ok()) co_return client_.link().close();
  ++stage_.history.tally.trees_checked;
  const YsonList rows = answer->rows();
  const bool right = rows.size() == 1 && number_in(rows[0], "n") == Ledger::kAccounts &&
                     number_in(rows[0], "s") == Ledger::kAccounts * Ledger::kBalance;
  if (!right) client_.fail("the accounts have another sum: " + answer->body);
}

// A long answer that is read in small parts, sometimes not to its end. Others are served meanwhile.
Task<void> HttpTeller::read_slowly() {
  SeededRandom& random = client_.random();
  HttpLink link(stage_.world, stage_.machines, stage_.history, fmt::format("slow{}", number_));
  if (!link.open(random)) co_return;
  if (!co_await link.send(
          select(fmt::format("k, t from [{}] order by k limit 1000", Ledger::kLong)))) {
    co_return;
  }
  if (random.one_in(4)) {
    co_await stage_.think(random);
    co_return link.close();
  }
  HttpLink::Pace pace;
  pace.bytes = std::size_t{8} << 10 << random.below(3);
  pace.pause = Duration(1ms) * (1 + random.below(30));
  const auto answer = co_await link.receive(pace);
  stage_.count(TreeCommand::kSelect, answer);
  if (!answer || !answer->ok()) co_return;
  ++stage_.history.tally.trees_checked;
  const YsonList rows = answer->rows();
  bool right = rows.size() == static_cast<std::size_t>(Ledger::kLongRows);
  for (std::int64_t k = 0; right && k < Ledger::kLongRows; ++k) {
    const YsonNode& row = rows[static_cast<std::size_t>(k)];
    const YsonNode* const text = row.find("t");
    right = number_in(row, "k") == k && text != nullptr && *text == YsonNode(text_of(k));
  }
  if (!right) client_.fail(fmt::format("a long answer of {} rows is not whole", rows.size()));
}

Task<bool> HttpTeller::check(HttpStage& stage, const Ledger& ledger, HttpLink& link) {
  if (!ledger.open) co_return true;
  const auto journal = co_await link.ask(select(fmt::format("* from [{}]", Ledger::kJournal)));
  const auto bank = co_await link.ask(select(fmt::format("* from [{}]", Ledger::kBank)));
  if (!journal || !journal->ok() || !bank || !bank->ok()) co_return false;
  std::map<std::int64_t, std::int64_t> balances;
  for (std::int64_t k = 0; k < Ledger::kAccounts; ++k) balances[k] = Ledger::kBalance;
  std::map<std::int64_t, YsonNode> found;
  for (YsonNode& row : journal->rows()) {
    const auto key = number_in(row, "k");
    if (key) found[*key] = std::move(row);
  }
  for (const auto& [number, transfer] : ledger.transfers) {
    const auto row = found.find(number);
    const bool there = row != found.end();
    ++stage.history.tally.trees_checked;
    if (there && !is_row_of(transfer, row->second)) {
      stage.history.fail(fmt::format("after all faults transfer {} has another row", number));
    }
    const bool wrong =
        there ? transfer.fate == Ledger::Fate::kRefused : transfer.fate == Ledger::Fate::kCommitted;
    if (wrong) {
      stage.history.fail(fmt::format("after all faults transfer {} is {}in the journal", number,
                                     there ? "" : "not "));
    }
    if (!there) continue;
    balances[transfer.from] -= transfer.amount;
    balances[transfer.to] += transfer.amount;
    found.erase(row);
  }
  if (!found.empty()) stage.history.fail("the journal has a row that nobody wrote");
  const YsonList accounts = bank->rows();
  for (const YsonNode& row : accounts) {
    const auto key = number_in(row, "k");
    if (key && balances.contains(*key) && number_in(row, "v") == balances[*key]) continue;
    stage.history.fail(fmt::format("account {} has {}, not {} as by the journal",
                                   number_of(row, "k"), number_of(row, "v"),
                                   key ? balances[*key] : 0));
  }
  co_return accounts.size() == static_cast<std::size_t>(Ledger::kAccounts);
}

}  // namespace moraine::sim
