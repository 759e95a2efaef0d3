// ServiceAccess: uses tables as a program on the node that serves them does.
#pragma once

#include "sim/tables/service_tables.h"

namespace moraine::sim {

class ServiceAccess final : public TableAccess {
 public:
  ServiceAccess(SimWorld& world, ServiceTables& host)
      : host_(host), random_(world.stream("table clients")) {}

  std::uint64_t place_of(const RowName& row) const override { return row.table; }
  bool has_extra(const RowName& row) const override;
  Task<Answer<Timestamp>> timestamp() override;
  Task<Answer<std::vector<SeenRow>>> read(std::vector<RowName> rows, Timestamp at) override;
  Task<Answer<Timestamp>> commit(ModelTransaction transaction) override;
  Task<Answer<std::vector<FoundVersion>>> look(RowName row) override;

 private:
  ServiceTables& host_;
  SeededRandom random_;
};

}  // namespace moraine::sim
