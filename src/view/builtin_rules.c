// SPDX-License-Identifier: Apache-2.0
//
// The built-in rules. Within a layer: crates, functions, traits, then files, then modules. A later
// rule goes before an earlier one, so an entry point of an allocator stays one although its module
// is the C library.
//
// Kept coarse on purpose: a rule that folds too much blames a caller one step further out, a rule
// that folds too little blames a container. Neither loses a byte.
#include "view/rules.h"

#define FUNCTION(layer, pattern)                                                                   \
  {                                                                                                \
    TIDE_LAYER_##layer, TIDE_RULE_FUNCTION, pattern                                                \
  }
#define CRATE(layer, pattern)                                                                      \
  {                                                                                                \
    TIDE_LAYER_##layer, TIDE_RULE_CRATE, pattern                                                   \
  }
#define TRAIT(layer, pattern)                                                                      \
  {                                                                                                \
    TIDE_LAYER_##layer, TIDE_RULE_TRAIT, pattern                                                   \
  }
#define SOURCE(layer, pattern)                                                                     \
  {                                                                                                \
    TIDE_LAYER_##layer, TIDE_RULE_FILE, pattern                                                    \
  }
#define MODULE(layer, pattern)                                                                     \
  {                                                                                                \
    TIDE_LAYER_##layer, TIDE_RULE_MODULE, pattern                                                  \
  }

const struct tide_rule tide_builtin_rules[] = {
    // Asynchronous runtimes, executors, thread pools, servers and what they are made of.
    CRATE(FRAMEWORK, "tokio"),
    CRATE(FRAMEWORK, "tokio_util"),
    CRATE(FRAMEWORK, "tokio_stream"),
    CRATE(FRAMEWORK, "mio"),
    CRATE(FRAMEWORK, "futures"),
    CRATE(FRAMEWORK, "futures_*"),
    CRATE(FRAMEWORK, "async_std"),
    CRATE(FRAMEWORK, "async_executor"),
    CRATE(FRAMEWORK, "async_global_executor"),
    CRATE(FRAMEWORK, "async_task"),
    CRATE(FRAMEWORK, "async_io"),
    CRATE(FRAMEWORK, "async_channel"),
    CRATE(FRAMEWORK, "async_lock"),
    CRATE(FRAMEWORK, "smol"),
    CRATE(FRAMEWORK, "blocking"),
    CRATE(FRAMEWORK, "polling"),
    CRATE(FRAMEWORK, "event_listener"),
    CRATE(FRAMEWORK, "hyper"),
    CRATE(FRAMEWORK, "hyper_util"),
    CRATE(FRAMEWORK, "h2"),
    CRATE(FRAMEWORK, "tower"),
    CRATE(FRAMEWORK, "tower_*"),
    CRATE(FRAMEWORK, "rayon"),
    CRATE(FRAMEWORK, "rayon_core"),
    CRATE(FRAMEWORK, "crossbeam"),
    CRATE(FRAMEWORK, "crossbeam_*"),
    CRATE(FRAMEWORK, "parking_lot"),
    CRATE(FRAMEWORK, "parking_lot_core"),
    // Runtimes of languages.
    CRATE(RUNTIME, "backtrace"),
    CRATE(RUNTIME, "addr2line"),
    CRATE(RUNTIME, "gimli"),
    CRATE(RUNTIME, "rustc_demangle"),
    CRATE(RUNTIME, "panic_unwind"),
    CRATE(RUNTIME, "panic_abort"),
    CRATE(RUNTIME, "compiler_builtins"),
    FUNCTION(RUNTIME, "std::*"),
    FUNCTION(RUNTIME, "__gthread_*"),
    FUNCTION(RUNTIME, "__cxa_*"),
    FUNCTION(RUNTIME, "__gxx_*"),
    FUNCTION(RUNTIME, "_Unwind_*"),
    FUNCTION(RUNTIME, "__rust_try"),
    FUNCTION(RUNTIME, "rust_begin_unwind"),
    FUNCTION(RUNTIME, "rust_panic*"),
    FUNCTION(RUNTIME, "__rust_begin_short_backtrace"),
    FUNCTION(RUNTIME, "__rust_end_short_backtrace"),
    SOURCE(RUNTIME, "/rustc/*"),
    SOURCE(RUNTIME, "*/lib/rustlib/src/*"),
    SOURCE(RUNTIME, "*/library/std/src/*"),
    SOURCE(RUNTIME, "/rust/deps/*"),
    SOURCE(RUNTIME, "*/libstdc++-v3/*"),
    SOURCE(RUNTIME, "*/libgcc/*"),
    MODULE(RUNTIME, "libstdc++.so*"),
    MODULE(RUNTIME, "libc++.so*"),
    MODULE(RUNTIME, "libc++abi.so*"),
    MODULE(RUNTIME, "libgcc_s.so*"),
    MODULE(RUNTIME, "libgcc_s-*"),
    MODULE(RUNTIME, "libstd-*.so"),
    // Containers, iterators, closures, formatting.
    CRATE(CONTAINER, "alloc"),
    CRATE(CONTAINER, "core"),
    CRATE(CONTAINER, "hashbrown"),
    CRATE(CONTAINER, "indexmap"),
    CRATE(CONTAINER, "smallvec"),
    CRATE(CONTAINER, "arrayvec"),
    CRATE(CONTAINER, "bytes"),
    CRATE(CONTAINER, "slab"),
    CRATE(CONTAINER, "either"),
    CRATE(CONTAINER, "itertools"),
    CRATE(CONTAINER, "once_cell"),
    CRATE(CONTAINER, "lazy_static"),
    FUNCTION(CONTAINER, "std::vec*"),
    FUNCTION(CONTAINER, "std::string::*"),
    FUNCTION(CONTAINER, "std::collections::*"),
    FUNCTION(CONTAINER, "std::_*"),
    FUNCTION(CONTAINER, "std::basic_string::*"),
    FUNCTION(CONTAINER, "std::deque::*"),
    FUNCTION(CONTAINER, "std::list::*"),
    FUNCTION(CONTAINER, "std::map::*"),
    FUNCTION(CONTAINER, "std::multimap::*"),
    FUNCTION(CONTAINER, "std::set::*"),
    FUNCTION(CONTAINER, "std::multiset::*"),
    FUNCTION(CONTAINER, "std::unordered_*"),
    FUNCTION(CONTAINER, "std::function::*"),
    FUNCTION(CONTAINER, "std::make_*"),
    FUNCTION(CONTAINER, "std::shared_ptr::*"),
    FUNCTION(CONTAINER, "__gnu_cxx::*"),
    TRAIT(CONTAINER, "alloc::string::ToString::*"),
    TRAIT(CONTAINER, "alloc::string::SpecToString::*"),
    TRAIT(CONTAINER, "alloc::borrow::ToOwned::*"),
    TRAIT(CONTAINER, "alloc::vec::spec_*"),
    TRAIT(CONTAINER, "*::ConvertVec*"),
    TRAIT(CONTAINER, "core::convert::Into::*"),
    TRAIT(CONTAINER, "core::convert::TryInto::*"),
    TRAIT(CONTAINER, "core::iter::traits::iterator::Iterator::collect*"),
    TRAIT(CONTAINER, "core::iter::traits::iterator::Iterator::count"),
    TRAIT(CONTAINER, "core::iter::traits::iterator::Iterator::for_each*"),
    TRAIT(CONTAINER, "core::iter::traits::iterator::Iterator::partition"),
    TRAIT(CONTAINER, "core::iter::traits::iterator::Iterator::product"),
    TRAIT(CONTAINER, "core::iter::traits::iterator::Iterator::sum"),
    TRAIT(CONTAINER, "core::iter::traits::iterator::Iterator::unzip"),
    SOURCE(CONTAINER, "*/include/c++/*"),
    SOURCE(CONTAINER, "*/include/*/c++/*"),
    SOURCE(CONTAINER, "*/library/alloc/src/*"),
    SOURCE(CONTAINER, "*/library/core/src/*"),
    // The C library.
    FUNCTION(C, "strdup"),
    FUNCTION(C, "__strdup"),
    FUNCTION(C, "strndup"),
    FUNCTION(C, "__strndup"),
    FUNCTION(C, "asprintf"),
    FUNCTION(C, "vasprintf"),
    MODULE(C, "libc.so*"),
    MODULE(C, "libc-*"),
    MODULE(C, "libpthread*"),
    MODULE(C, "libdl.so*"),
    MODULE(C, "librt.so*"),
    MODULE(C, "libm.so*"),
    MODULE(C, "*[vdso]"),
    // Starts of processes and threads, the loader.
    FUNCTION(START, "_start"),
    FUNCTION(START, "__libc_start_*"),
    FUNCTION(START, "__libc_csu_init"),
    FUNCTION(START, "call_init"),
    FUNCTION(START, "start_thread"),
    FUNCTION(START, "__clone*"),
    FUNCTION(START, "clone3"),
    FUNCTION(START, "_dl_*"),
    FUNCTION(START, "std::rt::*"),
    FUNCTION(START, "std::thread::*::_M_run"),
    FUNCTION(START, "std::thread::_Invoker::*"),
    FUNCTION(START, "execute_native_thread_routine"),
    FUNCTION(START, "std::sys::*::thread_start"),
    FUNCTION(START, "std::sys::backtrace::__rust_begin_short_backtrace"),
    MODULE(START, "ld-linux*"),
    MODULE(START, "ld-2.*"),
    // Allocators and their entry points, wherever they are linked.
    FUNCTION(ALLOCATOR, "malloc"),
    FUNCTION(ALLOCATOR, "__libc_malloc"),
    FUNCTION(ALLOCATOR, "calloc"),
    FUNCTION(ALLOCATOR, "__libc_calloc"),
    FUNCTION(ALLOCATOR, "realloc"),
    FUNCTION(ALLOCATOR, "__libc_realloc"),
    FUNCTION(ALLOCATOR, "reallocarray"),
    FUNCTION(ALLOCATOR, "memalign"),
    FUNCTION(ALLOCATOR, "aligned_alloc"),
    FUNCTION(ALLOCATOR, "posix_memalign"),
    FUNCTION(ALLOCATOR, "valloc"),
    FUNCTION(ALLOCATOR, "pvalloc"),
    FUNCTION(ALLOCATOR, "xmalloc"),
    FUNCTION(ALLOCATOR, "xcalloc"),
    FUNCTION(ALLOCATOR, "xrealloc"),
    FUNCTION(ALLOCATOR, "xstrdup"),
    FUNCTION(ALLOCATOR, "xstrndup"),
    FUNCTION(ALLOCATOR, "operator new"),
    FUNCTION(ALLOCATOR, "operator new[]"),
    FUNCTION(ALLOCATOR, "__rust_*alloc*"),
    FUNCTION(ALLOCATOR, "__rustc*"),
    FUNCTION(ALLOCATOR, "__rdl_*"),
    FUNCTION(ALLOCATOR, "__rg_*"),
    FUNCTION(ALLOCATOR, "alloc::alloc::*"),
    FUNCTION(ALLOCATOR, "std::alloc::*"),
    MODULE(ALLOCATOR, "libtidemark*"),
    MODULE(ALLOCATOR, "libjemalloc*"),
    MODULE(ALLOCATOR, "libmimalloc*"),
    MODULE(ALLOCATOR, "libtcmalloc*"),
};
const size_t tide_builtin_rules_n = sizeof tide_builtin_rules / sizeof *tide_builtin_rules;
