// Scheduling priority of threads.
#pragma once

namespace moraine {

// From now on ordinary threads that wake on the calling thread's processor preempt it at once, and
// it gets a small share while they are busy. A hint: nothing changes where the kernel refuses it.
void lower_thread_priority();

}  // namespace moraine
