// Implementation classes behind the public API: objects of client/ and the database that they run
// on, which is destroyed after them.
#pragma once

#include <memory>
#include <utility>

#include "client/scan.h"
#include "client/table.h"
#include "client/transaction.h"
#include "embed/database_core.h"
#include "moraine/database.h"

namespace moraine {

struct Database::Impl {
  std::shared_ptr<embed::DatabaseCore> core;
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

struct Transaction::Impl {
  std::shared_ptr<embed::DatabaseCore> core;
  client::Transaction transaction;
};

}  // namespace moraine
