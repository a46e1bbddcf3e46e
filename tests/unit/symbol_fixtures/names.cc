// SPDX-License-Identifier: Apache-2.0
//
// C++ names: templates, methods, operators, lambdas, anonymous namespaces, inlined and not.
#define INLINE __attribute__((always_inline)) inline
#define ALONE __attribute__((noinline))

extern "C" void mark(const char *tag);
volatile int sink;

namespace outer
{
template <class T> struct Box {
  T value;
  explicit ALONE Box(T v) : value(v)
  {
    mark("constructor"); // at constructor
    sink++;
  }
  INLINE void put(T v)
  {
    value = v;
    mark("template"); // at put
    sink++;
  }
  ALONE bool operator<(const Box &other) const
  {
    mark("operator"); // at operator
    return value < other.value;
  }
};

ALONE void fill(Box<long> &box)
{
  box.put(3); // at fill
  sink++;
}
} // namespace outer

namespace
{
struct Hidden {
  ALONE void go()
  {
    mark("anonymous"); // at go
    sink++;
  }
};
} // namespace

int main()
{
  outer::Box<long> box(1);
  outer::fill(box);
  sink = box < box;
  Hidden hidden;
  hidden.go();
  return 0;
}
