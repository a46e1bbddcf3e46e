// SPDX-License-Identifier: Apache-2.0
//
// Chains of calls in C++, each ending in one allocation of a size of its own. The comments beside
// the calls are the truth; chains.py explains them.
//
// chain: member 1101, virtual 1102, closure 1103, captured 1104, hidden 1105, vector 1106
// chain: function 1107, construct 1108, destruct 1109, operator 1110, convert 1111, local 1112
// chain: landing 1113, thread 1114, global 1115, second 1116, varied 1117, inline_space 1118
// chain: static_member 1119, shared 1124, shared_too 1125, across 1126, long_name 1121
// chain: nested_lambda 1122, generic 1123, wide_name 1127, space_lambda 1128
#include "chain.hpp"

#include <functional>
#include <thread>
#include <utility>
#include <vector>

void *volatile sink;
volatile int zero;

namespace depot
{
template <typename T> struct Shelf {
  T *room;
  INLINE void put(size_t n)
  {
    room = (T *)malloc(n); // inlined member.0: depot::Shelf<long>::put
    sink = room;
  }
  ALONE void fill(size_t n)
  {
    put(n); // frame member.1: depot::Shelf<long>::fill
    zero = zero + 1;
  }
  static ALONE void stock(size_t n)
  {
    sink = malloc(n); // frame static_member.0: depot::Shelf<char>::stock
  }
};

struct Base {
  virtual ~Base() = default;
  virtual void go(size_t n) = 0;
};

struct First {
  virtual ~First() = default;
  int first = 1;
};

struct Second {
  virtual ~Second() = default;
  virtual void aside(size_t n) = 0;
  int second = 2;
};

// A call through the second base goes through a thunk, which jumps.
struct Both : First, Second {
  ALONE void aside(size_t n) override
  {
    sink = malloc(n); // frame second.0: depot::Both::aside
  }
};

template <int N> struct Derived : Base {
  ALONE void go(size_t n) override
  {
    sink = malloc(n); // frame virtual.0: depot::Derived<3>::go
  }
};

inline namespace v2
{
ALONE void versioned(size_t n)
{
  sink = malloc(n); // frame inline_space.0: depot::v2::versioned
}
} // namespace v2

namespace
{
struct Hidden {
  INLINE void deep(size_t n)
  {
    sink = malloc(n); // inlined hidden.0: depot::(anonymous namespace)::Hidden::deep
  }
  ALONE void go(size_t n)
  {
    deep(n); // frame hidden.1: depot::(anonymous namespace)::Hidden::go
    zero = zero + 1;
  }
};
} // namespace

struct Guard {
  explicit ALONE Guard(size_t n)
  {
    sink = malloc(n); // frame construct.0: depot::Guard::Guard
  }
  ALONE ~Guard()
  {
    sink = malloc(1109); // frame destruct.0: depot::Guard::~Guard
  }
  ALONE Guard &operator+=(size_t n)
  {
    sink = malloc(n); // frame operator.0: depot::Guard::operator+=
    return *this;
  }
  ALONE operator bool()
  {
    sink = malloc(1111); // frame convert.0: depot::Guard::operator bool
    return true;
  }
};

template <typename... Rest> ALONE void varied(size_t n, Rest...)
{
  sink = malloc(n); // frame varied.0: depot::varied<int, depot::Shelf<int*> >
}

template <typename Call> ALONE void call_it(Call call)
{
  // frame captured.1: depot::call_it<hold_captured::{lambda}>
  call(1104);
  zero = zero + 1;
}
} // namespace depot

ALONE void hold_member()
{
  depot::Shelf<long> shelf;
  shelf.fill(1101);                // frame member.2: hold_member
  depot::Shelf<char>::stock(1119); // frame static_member.1: hold_member
  zero = zero + 1;
}

ALONE void hold_virtual(depot::Base &base, depot::Second &second)
{
  base.go(1102);      // frame virtual.1: hold_virtual
  second.aside(1116); // frame second.1: hold_virtual
  zero = zero + 1;
}

ALONE void hold_closure()
{
  auto take = [](size_t n) __attribute__((always_inline))
  {
    sink = malloc(n); // inlined closure.0: hold_closure::{lambda}::operator()
  };
  take(1103); // frame closure.1: hold_closure
}

ALONE void hold_captured()
{
  int offset = zero;
  auto take = [offset](size_t n) __attribute__((noinline))
  {
    n += (size_t)(offset - zero);
    sink = malloc(n); // frame captured.0: hold_captured::{lambda}::operator()
  };
  depot::call_it(take); // frame captured.2: hold_captured
  zero = zero + 1;
}

namespace depot
{
ALONE void hold_space_lambda()
{
  auto take = [](size_t n) __attribute__((always_inline))
  {
    sink = malloc(n); // inlined space_lambda.0: depot::hold_space_lambda::{lambda}::operator()
  };
  take(1128); // frame space_lambda.1: depot::hold_space_lambda
}
} // namespace depot

ALONE void hold_nested_lambda()
{
  auto outer = [](size_t n) __attribute__((always_inline))
  {
    auto inner = [](size_t m) __attribute__((always_inline))
    {
      // inlined nested_lambda.0: hold_nested_lambda::{lambda}::operator()::{lambda}::operator()
      sink = malloc(m);
    };
    inner(n); // inlined nested_lambda.1: hold_nested_lambda::{lambda}::operator()
  };
  outer(1122); // frame nested_lambda.2: hold_nested_lambda
}

ALONE void hold_generic()
{
  auto take = [](auto n) __attribute__((noinline))
  {
    sink = malloc((size_t)n); // frame generic.0: hold_generic::{lambda}::operator()<int>
  };
  take(1123); // frame generic.1: hold_generic
  zero = zero + 1;
}

ALONE void hold_hidden()
{
  depot::Hidden hidden;
  hidden.go(1105); // frame hidden.2: hold_hidden
  zero = zero + 1;
}

ALONE void hold_vector()
{
  std::vector<char> vector;
  vector.reserve(1106); // frame vector.0: hold_vector
  sink = vector.data();
}

ALONE void called_back(size_t n)
{
  sink = malloc(n); // frame function.0: called_back
}

ALONE void hold_function()
{
  std::function<void(size_t)> function = called_back;
  function(1107); // frame function.1: hold_function
  zero = zero + 1;
}

ALONE void hold_guard()
{
  {
    depot::Guard guard(1108); // frame construct.1: hold_guard
    guard += 1110;            // frame operator.1: hold_guard
    zero = zero + guard;      // frame convert.1: hold_guard
  }                           // frame destruct.1: hold_guard
  zero = zero + 1;
}

ALONE void hold_shared()
{
  depot::Shared().deep(1124); // frame shared.2: hold_shared
  zero = zero + 1;
}

ALONE void hold_across()
{
  depot::across(1126); // frame across.1: hold_across
  zero = zero + 1;
}

ALONE void hold_local()
{
  struct Local {
    ALONE void go(size_t n)
    {
      sink = malloc(n); // frame local.0: hold_local::Local::go
    }
  };
  Local().go(1112); // frame local.1: hold_local
  zero = zero + 1;
}

ALONE void throws()
{
  throw zero + 1;
}

INLINE void *rescue(size_t n)
{
  return malloc(n); // inlined landing.0: rescue
}

ALONE void hold_landing()
{
  try {
    throws();
  } catch (int) {
    sink = rescue(1113); // frame landing.1: hold_landing
  }
}

ALONE void in_thread(size_t n)
{
  sink = malloc(n); // frame thread.0: in_thread
}

ALONE int before_main()
{
  sink = malloc(1115); // frame global.0: before_main
  return zero;
}

// What calls this has a name of the compiler's own.
// either global.1: __static_initialization_and_destruction_0 at gcc
// either global.1: __cxx_global_var_init at clang
volatile int at_start = before_main();

// Each level doubles the name: it has more than 10,000 characters.
template <typename A, typename B> struct Pair {
};
template <int N> struct Doubled {
  using type = Pair<typename Doubled<N - 1>::type, typename Doubled<N - 1>::type>;
};
template <> struct Doubled<0> {
  using type = Pair<int, char>;
};
template <typename T> ALONE void hold_long_name(size_t n)
{
  sink = malloc(n); // frame long_name.0: hold_long_name<...>
}

// A list too long for a demangler's patience: the mangled name has thousands of characters too.
template <typename A, typename B> ALONE void hold_wide_name(A, B, size_t n)
{
  sink = malloc(n); // frame wide_name.0: hold_wide_name<...>
}

ALONE void hold_wide_name()
{
  auto few = std::make_index_sequence<900>();
  auto many = std::make_integer_sequence<long long, 900>();
  hold_wide_name(few, many, 1127); // frame wide_name.1: hold_wide_name
  zero = zero + 1;
}

int main()
{
  depot::Derived<3> derived;
  depot::Both both;
  hold_member();               // frame member.3, static_member.2: main
  hold_virtual(derived, both); // frame virtual.2, second.2: main
  hold_closure();              // frame closure.2: main
  hold_captured();             // frame captured.3: main
  hold_nested_lambda();        // frame nested_lambda.3: main
  depot::hold_space_lambda();  // frame space_lambda.2: main
  hold_generic();              // frame generic.2: main
  hold_hidden();               // frame hidden.3: main
  hold_vector();               // frame vector.1: main
  hold_function();             // frame function.2: main
  hold_guard();                // frame construct.2, operator.2, convert.2, destruct.2: main
  hold_shared();               // frame shared.3: main
  depot::hold_elsewhere();     // frame shared_too.3: main
  hold_across();               // frame across.2: main
  hold_local();                // frame local.2: main
  hold_landing();              // frame landing.2: main
  std::thread(in_thread, 1114).join();
  depot::versioned(1118);                        // frame inline_space.1: main
  depot::varied(1117, 1, depot::Shelf<int *>()); // frame varied.1: main
  hold_long_name<Doubled<9>::type>(1121);        // frame long_name.1: main
  hold_wide_name();                              // frame wide_name.2: main
  return 0;
}
