#include "yson/event.h"

#include "base/invariant.h"

namespace moraine {

Result<bool> pump(YsonSource& source, YsonSink& sink) {
  YsonEvent event;
  for (;;) {
    switch (source.next(event)) {
      case YsonStep::kEvent:
        if (!sink.on(event)) return std::unexpected<Error>(sink.error());
        break;
      case YsonStep::kNeedInput: return false;
      case YsonStep::kEnd: return true;
      case YsonStep::kError: return std::unexpected<Error>(source.error());
    }
  }
}

Result<void> convert(std::string_view input, YsonSource& source, YsonSink& sink) {
  source.feed(input);
  source.finish();
  TRY(const bool ended, pump(source, sink));
  INVARIANT(ended, "a source asks for input after finish()");
  return {};
}

}  // namespace moraine
