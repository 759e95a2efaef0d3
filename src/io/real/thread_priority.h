// What the scheduler is told of a thread.
#pragma once

namespace moraine {

// From now on the calling thread gives way to ordinary ones that wake on its processor, at once
// rather than after its turn, and has a small share while they are busy. A hint: where the kernel
// refuses it nothing changes.
void give_way();

}  // namespace moraine
