// HeapGrowth: how much more memory operator new has given out since the object was made.
//
// Promise    Exact for C++ code of all threads, with any allocator. Memory from malloc() or mmap()
//            is not counted: large buffers of the block pool are among that, and are bounded.
// Threading  Any thread; one object at a time counts.
// Limits     While there is no object, an allocation costs one more test of a flag.
#pragma once

namespace moraine::bench {

class HeapGrowth {
 public:
  HeapGrowth();
  ~HeapGrowth();
  HeapGrowth(const HeapGrowth&) = delete;
  HeapGrowth& operator=(const HeapGrowth&) = delete;

  double bytes() const;
};

}  // namespace moraine::bench
