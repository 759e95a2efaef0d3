// GroupBlobReader: bytes of blobs by their ids, from the groups of a tablet.
//
// Promise    Blobs of the tablet and of the `others` that it knows are read from the group of their
//            channel and generation. Blobs of unknown tablets are searched in every group of the
//            channel.
// Threading  The tablet's executor.
// Errors     kNotFound: provably absent. kUnavailable. Each names the blob.
#pragma once

#include "io/world.h"
#include "table/chunk/chunk_reader.h"
#include "tablet/groups.h"
#include "tablet/tablet_info.h"

namespace moraine::table {

class GroupBlobReader final : public BlobReader {
 public:
  // All must outlive the reader.
  GroupBlobReader(Executor& executor, BlobGroups& groups, const TabletInfo& info,
                  const std::vector<TabletInfo>& others, Duration timeout)
      : executor_(executor), groups_(groups), info_(info), others_(others), timeout_(timeout) {}

  Task<Result<Slice>> read(BlobId id, std::uint32_t offset, std::uint32_t size) override;
  void locate(const BlobId& id, OnPlace found) override;

 private:
  // Null: unknown.
  const TabletInfo* info_of(TabletId tablet) const;
  Task<Result<Slice>> read_from(GroupId group, BlobId id, std::uint32_t offset, std::uint32_t size);

  Executor& executor_;
  BlobGroups& groups_;
  const TabletInfo& info_;
  const std::vector<TabletInfo>& others_;
  const Duration timeout_;
};

}  // namespace moraine::table
