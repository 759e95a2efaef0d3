// Implementation classes behind the public API: objects of client/ and the database that they run
// on, which is destroyed after them.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "client/scan.h"
#include "client/table.h"
#include "client/transaction.h"
#include "embed/database_core.h"
#include "moraine/database.h"

namespace moraine {

struct Database::Impl {
  explicit Impl(std::shared_ptr<embed::DatabaseCore> its_core) : core(std::move(its_core)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { core->end_waits(); }

  const std::shared_ptr<embed::DatabaseCore> core;
};

struct Table::Impl {
  std::shared_ptr<embed::DatabaseCore> core;
  client::Table table;
};

struct Scan::Impl {
  Impl(std::shared_ptr<embed::DatabaseCore> its_core, client::NewScan its_scan)
      : core(std::move(its_core)), scan(std::move(its_scan)) {}

  std::shared_ptr<embed::DatabaseCore> core;
  client::Scan scan;
};

struct Topic::Impl {
  Impl(std::shared_ptr<embed::DatabaseCore> its_core, TopicPtr its_info)
      : core(std::move(its_core)), info(std::move(its_info)) {}
  static Topic make(std::shared_ptr<embed::DatabaseCore> core, TopicPtr info);

  const std::shared_ptr<embed::DatabaseCore> core;
  const TopicPtr info;
  mutable std::atomic<std::uint32_t> turn{0};  // Of the next message without a key.
};

struct Transaction::Impl {
  std::shared_ptr<embed::DatabaseCore> core;
  client::Transaction transaction;
};

}  // namespace moraine
