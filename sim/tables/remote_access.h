// RemoteAccess: tables that are served by several nodes, requested over the network from any of
// them.
#pragma once

#include "sim/tables/table_access.h"
#include "sim/tables/table_hosts.h"

namespace moraine::sim {

class RemoteAccess final : public TableAccess {
 public:
  RemoteAccess(SimWorld& world, TableHosts& hosts)
      : world_(world),
        hosts_(hosts),
        layout_(hosts.options().layout),
        random_(world.stream("table clients")) {}

  std::uint64_t place_of(const RowName& row) const override { return layout_.tablet_of(row).value; }
  bool has_extra(const RowName&) const override { return false; }
  Task<Answer<Timestamp>> timestamp() override;
  Task<Answer<std::vector<SeenRow>>> read(std::vector<RowName> rows, Timestamp at) override;
  Task<Answer<Timestamp>> commit(ModelTransaction transaction) override;
  Task<Answer<std::vector<FoundVersion>>> look(RowName row) override;

 private:
  // Runs a call on some node.
  template <class T>
  Task<Answer<T>> ask(std::function<Task<Result<T>>(TableHosts::Session&)> call);
  static Task<Result<std::vector<SeenRow>>> scan_on(TableHosts::Session& session, TabletId tablet,
                                                    std::vector<RowName> rows, Timestamp at);
  static Task<Result<std::vector<SeenRow>>> look_up_on(TableHosts::Session& session,
                                                       TabletId tablet, std::vector<RowName> rows,
                                                       Timestamp at);
  static Task<void> look_on_node(TableHosts::Hold running, RowName row,
                                 Reply<std::vector<FoundVersion>> reply);
  std::vector<Participant> participants_of(const ModelTransaction& transaction) const;

  SimWorld& world_;
  TableHosts& hosts_;
  const TableLayout& layout_;
  SeededRandom random_;  // Chooses the requesting node, and how it reads.
};

}  // namespace moraine::sim
