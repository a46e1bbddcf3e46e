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
  INLINE void deep()
  {
    mark("within"); // at deep
    sink++;
  }
};
} // namespace

ALONE void use_hidden()
{
  Hidden hidden;
  hidden.deep(); // at use_hidden
  sink++;
}

ALONE void use_lambda()
{
  auto lambda = [](int n) __attribute__((always_inline)) {
    mark("lambda"); // at lambda
    sink = n;
  };
  lambda(sink); // at use_lambda
  sink++;
}

int main()
{
  use_hidden();
  use_lambda();
  outer::Box<long> box(1);
  outer::fill(box);
  sink = box < box;
  Hidden hidden;
  hidden.go();
  return 0;
}
