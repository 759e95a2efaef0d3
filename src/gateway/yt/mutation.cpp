#include "gateway/yt/mutation.h"

namespace moraine::yt {

Task<YtResult<bool>> begin_mutation(Call& call) {
  YT_CO_TRY(const client::TreeScope scope, call.scope());
  if (!scope.mutation || call.tree() == nullptr) co_return false;
  YT_CO_TRY(std::optional<YsonNode> known, co_await call.tree()->begin_mutation(*scope.mutation));
  if (!known) co_return false;
  if (!known->is_entity()) call.result = std::move(*known);
  co_return true;
}

Task<YtResult<void>> end_mutation(Call& call) {
  YT_CO_TRY(const client::TreeScope scope, call.scope());
  if (!scope.mutation || call.tree() == nullptr) co_return YtResult<void>();
  YsonNode result = call.result ? *call.result : YsonNode();
  YT_CO_TRY_VOID(co_await call.tree()->end_mutation(*scope.mutation, std::move(result)));
  co_return YtResult<void>();
}

}  // namespace moraine::yt
