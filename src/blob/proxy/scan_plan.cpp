#include "blob/proxy/scan_plan.h"

namespace moraine::blob {

void ScanPlan::next(std::vector<ReadAsk>& asks) {
  for (std::uint32_t slot = 0; slot < geometry_.slots(); ++slot) {
    if (contains(asked_, slot)) continue;
    asks.push_back({static_cast<std::uint8_t>(slot), 0, 0, 0});
    asked_ |= disk_bit(slot);
    in_flight_ |= disk_bit(slot);
  }
}

void ScanPlan::answered(const ReadAsk& ask, std::span<const PartAnswer> answers,
                        AnswerOrigin origin) {
  const DiskSet slot = disk_bit(ask.slot);
  in_flight_ &= ~slot;
  answered_ |= slot;
  bool definite = !answers.empty();
  for (const PartAnswer& answer : answers) {
    add_ingress(ask.slot, answer.ingress);
    if (answer.status == Status::kNoData) continue;
    const bool possible = answer.part >= 1 && answer.part <= geometry_.parts() &&
                          geometry_.allowed(ask.slot, answer.part);
    if (answer.status != Status::kOk || !possible) {
      definite = false;
      continue;
    }
    layout_.add(ask.slot, answer.part);
    seen_.push_back({{ask.slot, static_cast<std::uint8_t>(answer.part)}, origin});
  }
  if (definite) definite_ |= slot;
  settle();
}

void ScanPlan::failed(const ReadAsk& ask) {
  in_flight_ &= ~disk_bit(ask.slot);
  settle();
}

void ScanPlan::late(std::uint32_t slot) {
  late_ |= disk_bit(slot);
  settle();
}

void ScanPlan::settle() {
  if (done()) return;
  const bool enough =
      goal_ == Goal::kConfirmed ? confirmed(geometry_, layout_) : restorable(geometry_, layout_);
  if (enough) {
    outcome_ = Outcome::kEnough;
    return;
  }
  const DiskSet again = to_ask_again(definite_);
  asked_ &= ~again;
  definite_ &= ~again;
  // What was never confirmed may still be restorable: wait for the disks that are not late.
  if (((in_flight_ & ~late_) | again) != 0) return;
  const Verdict verdict = judge(geometry_, layout_, all_slots() & ~up_to_date(definite_));
  if (verdict == Verdict::kAbsent) {
    outcome_ = Outcome::kAbsent;
  } else if (verdict == Verdict::kReadable) {
    outcome_ = Outcome::kRestorable;
  } else if (in_flight_ == 0) {
    outcome_ = Outcome::kUnknown;
  }
}

}  // namespace moraine::blob
