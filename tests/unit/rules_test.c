// SPDX-License-Identifier: Apache-2.0
//
// Rules: paths of names, whose a frame is (frame_names.txt holds real names of every compiler),
// files of the user's, what is blamed where all is folded, and that the documentation lists the
// built-in rules as they are. TIDE_GOLDEN_WRITE=1 writes that list anew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "view/paths.h"
#include "view/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof *(array))

static char *read_whole(const char *name)
{
  TIDE_CLEANUP_FREE char *path = tide_sprintf("%s/%s", TIDE_UNIT_DIR, name);
  struct tide_buf text = {0};
  char part[4096];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
    tide_buf_append(&text, part, n);
  fclose(file);
  tide_buf_u8(&text, 0);
  return (char *)text.data;
}

static void expect_paths(const char *function, const char *expected)
{
  struct tide_paths paths = {0};
  struct tide_buf joined = {0};
  tide_function_paths(function, &paths);
  for (size_t i = 0; i < paths.n; i++)
    tide_buf_printf(&joined, "%s%s", i ? " | " : "", tide_paths_at(&paths, i));
  assert_string_equal(tide_buf_cstr(&joined), expected);
  tide_buf_done(&joined);
  tide_paths_done(&paths);
}

static void paths_of_cxx_names(void **state)
{
  expect_paths("main", "main");
  expect_paths("xmalloc.part.0", "xmalloc");
  expect_paths("operator new[](unsigned long)", "operator new[]");
  expect_paths("std::vector<int, std::allocator<int> > app::rows<int>(long)", "app::rows");
  expect_paths("void std::vector<int>::_M_realloc_insert<int>(int&&)",
               "std::vector::_M_realloc_insert");
  expect_paths("(anonymous namespace)::fill(int)", "(anonymous namespace)::fill");
  expect_paths("app::(anonymous namespace)::fill(int) [clone .cold]",
               "app::(anonymous namespace)::fill");
  expect_paths("std::ostream& app::operator<< <int>(std::ostream&, int)", "app::operator<<");
  expect_paths("std::string std::operator+<char>(std::string const&, char)", "std::operator+");
  expect_paths("app::Row::operator std::vector<int>() const", "app::Row::operator std::vector");
  expect_paths("app::Row::operator->() const", "app::Row::operator->");
  expect_paths("std::function<void (int)>::operator()(int) const", "std::function::operator()");
  expect_paths("decltype ({parm#1}+{parm#1}) app::sum<double>(double)", "app::sum");
  expect_paths("decltype(auto) app::pick<int>(int)", "app::pick");
  expect_paths("std::enable_if<((4)>(2)), void>::type app::wide<int>(int)", "app::wide");
  expect_paths("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()");
  expect_paths("non-virtual thunk to app::Derived::clone() const", "app::Derived::clone");
  expect_paths("std::string::_M_create[abi:cxx11](unsigned long)", "std::string::_M_create");
}

static void paths_of_rust_names(void **state)
{
  expect_paths("app::main::{closure#0}", "app::main::{closure#0}");
  expect_paths("alloc::slice::<impl [T]>::to_vec", "alloc::slice::to_vec");
  expect_paths("<app::Row as core::fmt::Display>::fmt", "app::Row::fmt | core::fmt::Display::fmt");
  expect_paths("<T as core::convert::Into<U>>::into", "core::convert::Into::into");
  expect_paths("<i32 as core::fmt::Display>::fmt", "core::fmt::Display::fmt");
  expect_paths("<&mut [app::Row] as app::Measure>::bytes", "app::Measure::bytes");
  expect_paths("<(u32,u32) as app::Measure>::bytes", "app::Measure::bytes");
  expect_paths("<fn(u8) -> bool as app::Measure>::bytes", "app::Measure::bytes");
  expect_paths("<[u8]>::to_vec::<alloc::alloc::Global>", "core::to_vec");
  expect_paths("<dyn app::Measure>::twice", "app::Measure::twice");
  expect_paths("<dyn for<'a> app::Visit<'a> + core::marker::Send>::go", "app::Visit::go");
  expect_paths("<<A as app::B>::C as core::ops::Add>::add", "app::B::C | core::ops::Add::add");
  expect_paths("core::ops::function::FnOnce::call_once{{vtable.shim}}",
               "core::ops::function::FnOnce::call_once{{vtable.shim}}");
}

// Names come from files that may be damaged: whoever is blamed, it is nobody's code. What begins as
// an implementation of something unnamed is taken for core's.
static void paths_of_no_names(void **state)
{
  static const char *const of_nobody[] = {"", "::", " "};
  static const char *const of_core[] = {
      "<", "<>", "< as >::", "<<<<<<<<", "<a as", "<&", "<'", "<for<",
  };
  static const char *const themselves[] = {
      ">", "((((", "operator", "operator<", "{", "{{{", "decltype(",
  };
  for (size_t i = 0; i < N(of_nobody); i++)
    expect_paths(of_nobody[i], "");
  for (size_t i = 0; i < N(of_core); i++)
    expect_paths(of_core[i], "core");
  for (size_t i = 0; i < N(themselves); i++)
    expect_paths(themselves[i], themselves[i]);
  expect_paths("operator ", "operator");
  expect_paths("a<b", "a");
  expect_paths("<a::b as c::d", "a::b | c::d");
  TIDE_CLEANUP_FREE char *deep = tide_alloc(100001);
  memset(deep, '<', 100000);
  expect_paths(deep, "core");
}

// Each line of frame_names.txt: verdict, compiler, function and perhaps file.
static void judges_real_names(void **state)
{
  TIDE_CLEANUP_FREE char *text = read_whole("frame_names.txt");
  size_t n_names = 0, n_wrong = 0;
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n"));) {
    if (!*line || *line == '#')
      continue;
    const char *verdict = strsep(&line, "\t"), *compiler = strsep(&line, "\t");
    const char *function = strsep(&line, "\t"), *file = strsep(&line, "\t");
    assert_non_null(function);
    bool folded = tide_rules_judge(NULL, function, file, "/opt/program") != TIDE_LAYER_USER;
    n_names++;
    if (folded == (strcmp(verdict, "fold") == 0))
      continue;
    print_message("%s: should %s: %s\n", compiler, verdict, function);
    n_wrong++;
  }
  assert_int_equal(n_wrong, 0);
  assert_true(n_names >= 200);
}

static void judges_by_file_and_module(void **state)
{
  static const struct {
    const char *function, *file, *module;
    enum tide_layer layer;
  } cases[] = {
      {"malloc", NULL, "/lib/libc.so.6", TIDE_LAYER_ALLOCATOR},
      {NULL, NULL, "/lib/libc.so.6", TIDE_LAYER_C},
      {NULL, NULL, "prog", TIDE_LAYER_USER},
      {NULL, NULL, "", TIDE_LAYER_LIBRARY}, // a JIT's
      {"malloc", NULL, "prog", TIDE_LAYER_ALLOCATOR},
      {"je_arena_new", NULL, "libjemalloc.so.2", TIDE_LAYER_ALLOCATOR},
      // Linked in, as the crate does whose dumps have its innermost frames.
      {"prof_backtrace_impl", "/b/tikv-jemalloc-sys-36c8/out/build/src/prof_sys.c", "prog",
       TIDE_LAYER_ALLOCATOR},
      {"prof_alloc_prep", "/src/include/jemalloc/internal/prof_inlines.h", "prog",
       TIDE_LAYER_ALLOCATOR},
      {"_rjem_je_prof_backtrace", NULL, "prog", TIDE_LAYER_ALLOCATOR},
      {"prof_backtrace_impl", "/src/prof_sys.c", "prog", TIDE_LAYER_USER},
      {"<dhat::Alloc as core::alloc::global::GlobalAlloc>::realloc", NULL, "prog",
       TIDE_LAYER_ALLOCATOR},
      {"<app::Counting as core::alloc::global::GlobalAlloc>::alloc", NULL, "prog",
       TIDE_LAYER_ALLOCATOR},
      {"app::Counting::alloc", NULL, "prog", TIDE_LAYER_USER},
      {"dhat::ad_hoc_event", NULL, "prog", TIDE_LAYER_ALLOCATOR},
      {"memcpy", NULL, "/usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so", TIDE_LAYER_ALLOCATOR},
      {"Vector::grow()", "/usr/include/c++/12/bits/stl_vector.h", "prog", TIDE_LAYER_CONTAINER},
      {"grow", "/home/me/include/c/grow.h", "prog", TIDE_LAYER_USER},
      {"f", NULL, "/home/libc.so/prog", TIDE_LAYER_USER},
      {"__libc_start_main", NULL, "/lib/libc.so.6", TIDE_LAYER_START},
      {"start_thread", NULL, "/lib/libc.so.6", TIDE_LAYER_START},
      {"_dl_init", NULL, "/lib64/ld-linux-x86-64.so.2", TIDE_LAYER_START},
      {"std::thread::spawn", NULL, "prog", TIDE_LAYER_RUNTIME},
      {"alloc::vec::Vec<T>::push", "/rustc/59/library/alloc/src/vec/mod.rs", "prog",
       TIDE_LAYER_CONTAINER},
      {"tokio::runtime::task::raw::poll", NULL, "prog", TIDE_LAYER_FRAMEWORK},
      {"tokio::run(int)", NULL, "prog", TIDE_LAYER_USER}, // a namespace of C++
      {"core::Engine::start()", NULL, "prog", TIDE_LAYER_USER},
  };
  for (size_t i = 0; i < N(cases); i++) {
    enum tide_layer layer =
        tide_rules_judge(NULL, cases[i].function, cases[i].file, cases[i].module);
    if (layer != cases[i].layer)
      fail_msg("%s in %s: layer %d", cases[i].function, cases[i].module, layer);
  }
}

// By where sources and modules lie; without a file, by crate.
static void tells_own_code_from_libraries(void **state)
{
  static const struct {
    const char *function, *file, *module;
    enum tide_layer layer;
  } cases[] = {
      {"serde_json::de::from_str",
       "/root/.cargo/registry/src/index.example-19/serde_json-1.0/de.rs", "/app/leaky",
       TIDE_LAYER_LIBRARY},
      {"theirs::f", "/home/me/.cargo/git/checkouts/theirs-0123/89ab/src/lib.rs", "/app/leaky",
       TIDE_LAYER_LIBRARY},
      {"leaky::decode", "src/main.rs", "/app/leaky", TIDE_LAYER_USER},
      {"leaky::decode", "/usr/src/leaky/src/main.rs", "/usr/bin/leaky", TIDE_LAYER_USER},
      {"serde_json::de::from_str", "/home/me/json/src/de.rs", "/app/leaky", TIDE_LAYER_USER},
      {"serde_json::de::from_str", NULL, "/app/leaky", TIDE_LAYER_LIBRARY},
      {"serde_json::de::from_str(int)", NULL, "/app/leaky", TIDE_LAYER_USER}, // C++
      {"serde_json::de::from_str", NULL, "/app/serde-json", TIDE_LAYER_USER}, // the program's
      {"regex::new", NULL, "/app/deps/regex-0123456789abcdef", TIDE_LAYER_USER},
      {"regex::new", NULL, "/app/deps/regex-demo", TIDE_LAYER_LIBRARY},
      {"<leaky::Row as serde::ser::Serialize>::serialize", NULL, "/app/leaky", TIDE_LAYER_USER},
      {"<alloc::vec::Vec<T> as serde::de::Deserialize>::deserialize", NULL, "/app/leaky",
       TIDE_LAYER_LIBRARY},
      {"leaky::decode", NULL, "/usr/bin/leaky", TIDE_LAYER_USER},
      {"boost::pool<int>::grow()", "/usr/include/boost/pool.hpp", "/app/a", TIDE_LAYER_LIBRARY},
      {"parse", "vendor/parse.c", "/app/a", TIDE_LAYER_LIBRARY},
      {"parse", "../subprojects/json/parse.c", "/app/a", TIDE_LAYER_LIBRARY},
      {"parse", "/home/me/vendors/parse.c", "/app/a", TIDE_LAYER_USER},
      {"f", "/go/pkg/mod/example.org/x@v1/f.go", "/app/a", TIDE_LAYER_LIBRARY},
      {"f", NULL, "/app/libours.so", TIDE_LAYER_USER},
      {"f", NULL, "/usr/lib/x86_64-linux-gnu/libtheirs.so.1", TIDE_LAYER_LIBRARY},
      {"f", "/build/theirs-1/f.c", "/usr/lib/x86_64-linux-gnu/libtheirs.so.1", TIDE_LAYER_LIBRARY},
      {"lookupKey", NULL, "/usr/bin/redis-server", TIDE_LAYER_LIBRARY},
      {"lookupKey", "src/db.c", "/usr/bin/redis-server", TIDE_LAYER_USER},
      {"PyList_New", NULL, "/home/me/.pyenv/bin/python3.12", TIDE_LAYER_LIBRARY},
      {"f", NULL, "/home/me/venv/lib/python3.12/site-packages/x.so", TIDE_LAYER_LIBRARY},
      {"f", NULL, "/opt/ours/bin/nodes", TIDE_LAYER_USER},
      {"LazyCompile:~render /app/page.js:3", NULL, "", TIDE_LAYER_USER}, // from a perf map
      {NULL, NULL, "", TIDE_LAYER_LIBRARY},
  };
  for (size_t i = 0; i < N(cases); i++) {
    enum tide_layer layer =
        tide_rules_judge(NULL, cases[i].function, cases[i].file, cases[i].module);
    if (layer != cases[i].layer)
      fail_msg("%s of %s in %s: layer %d", cases[i].function, cases[i].file, cases[i].module,
               layer);
  }
}

// And nothing that is only called like them.
static void knows_wrappers_of_allocators(void **state)
{
  static const char *const wrappers[] = {
      "os::malloc(unsigned long, MEMFLAGS, NativeCallStack const&)",
      "x264_malloc",
      "av_malloc",
      "av_mallocz",
      "__zend_malloc",
      "_emalloc_56",
      "AcquireAlignedMemory",
      "vips_tracked_malloc",
      "default_malloc",
      "zalloc",
      "xmalloc",
      "g_malloc0_n",
      "Rf_allocVector3",
      "stgMallocBytes",
      "caml_alloc_shr",
      "caml_alloc_for_heap",
      "erts_alcu_alloc_thr_pref",
      "erts_sys_alloc",
      "CHeapObj<(MEMFLAGS)7>::operator new(unsigned long)",
      "Arena::grow(unsigned long, AllocFailStrategy::AllocFailEnum)",
      "v8::internal::Malloced::operator new(unsigned long)",
      "QArrayData::allocate(QArrayData**, long long, long long, long long, int)",
      "sqlite3DbMallocRawNN",
      "MemoryContextAllocZero",
      "ngx_palloc_large",
  };
  static const char *const others[] = {
      "my_av_malloc_user", "allocate",    "os::mallocator::run()",
      "x264_encoder_open", "zallocate",   "Arena::grown()",
      "palloca",           "app::palloc", "default_mallocs",
      "caml_main",         "stgRun",      "chunk",
      "emalloc_all",       "g_mallow",    "l_allocs",
  };
  for (size_t i = 0; i < N(wrappers); i++)
    if (tide_rules_judge(NULL, wrappers[i], NULL, "/app/a") != TIDE_LAYER_ALLOCATOR)
      fail_msg("%s is not folded", wrappers[i]);
  for (size_t i = 0; i < N(others); i++)
    if (tide_rules_judge(NULL, others[i], NULL, "/app/a") != TIDE_LAYER_USER)
      fail_msg("%s is folded", others[i]);
}

static void rules_of_the_users_say_whose(void **state)
{
  struct tide_rules *rules = tide_rules_new();
  struct tide_diag diag = {0};
  static const char text[] = "own module libours.so*\nlibrary crate tokio\nlibrary file */gen/*\n"
                             "own function gen_main\nown file */vendor/us/*\n";
  assert_int_equal(tide_rules_parse(rules, "x", text, &diag), TIDE_ERR_OK);
  assert_int_equal(tide_rules_judge(rules, "f", NULL, "/usr/lib/libours.so.2"), TIDE_LAYER_USER);
  assert_int_equal(tide_rules_judge(rules, "tokio::run", NULL, "/a"), TIDE_LAYER_LIBRARY);
  assert_int_equal(tide_rules_judge(rules, "f", "/src/gen/f.c", "/a"), TIDE_LAYER_LIBRARY);
  assert_int_equal(tide_rules_judge(rules, "gen_main", "/src/gen/f.c", "/a"), TIDE_LAYER_USER);
  assert_int_equal(tide_rules_judge(rules, "f", "/src/vendor/us/f.c", "/a"), TIDE_LAYER_USER);
  assert_int_equal(tide_rules_judge(rules, "f", "/src/vendor/f.c", "/a"), TIDE_LAYER_LIBRARY);
  // What is known of a module without its names: nothing, where a rule may be about a function.
  assert_true(tide_rules_module_is_library(NULL, "/usr/lib/libtheirs.so"));
  assert_true(tide_rules_module_is_library(NULL, "/lib/libc.so.6"));
  assert_false(tide_rules_module_is_library(NULL, "/usr/bin/redis-server"));
  assert_false(tide_rules_module_is_library(rules, "/usr/lib/libtheirs.so"));
  tide_rules_free(rules);
}

static enum tide_layer judge(const struct tide_rules *rules, const char *function, const char *file)
{
  return tide_rules_judge(rules, function, file, "/opt/lib/libplugin.so.1");
}

static void the_last_rule_decides(void **state)
{
  struct tide_diag diag = {0};
  struct tide_rules *rules = tide_rules_new();
  assert_int_equal(judge(rules, "tokio::sync::mpsc::channel", NULL), TIDE_LAYER_FRAMEWORK);
  assert_int_equal(tide_rules_parse(rules, "x",
                                    "# mine\n\n  \t\r\nfold function pool_*\r\n"
                                    "keep\tfunction  tokio::sync::mpsc::*  \n"
                                    "fold crate arena\nfold file */third_party/*\n"
                                    "fold file gen.c\nkeep function pool_user\n"
                                    "fold function operator delete",
                                    &diag),
                   TIDE_ERR_OK);
  assert_int_equal(judge(rules, "tokio::sync::mpsc::channel", NULL), TIDE_LAYER_USER);
  assert_int_equal(judge(rules, "tokio::sync::oneshot::channel", NULL), TIDE_LAYER_FRAMEWORK);
  assert_int_equal(judge(rules, "pool_take", NULL), TIDE_LAYER_CHOSEN);
  assert_int_equal(judge(rules, "pool_user", NULL), TIDE_LAYER_USER);
  assert_int_equal(judge(rules, "my_pool_take", NULL), TIDE_LAYER_USER);
  assert_int_equal(judge(rules, "arena::Arena<T>::alloc", NULL), TIDE_LAYER_CHOSEN);
  assert_int_equal(judge(rules, "arena2::f", NULL), TIDE_LAYER_USER);
  assert_int_equal(judge(rules, "f", "/src/third_party/f.c"), TIDE_LAYER_CHOSEN);
  assert_int_equal(judge(rules, "f", "/src/gen.c"), TIDE_LAYER_CHOSEN);
  assert_int_equal(judge(rules, "f", "/src/gen.c/f.c"), TIDE_LAYER_USER);
  assert_int_equal(judge(rules, "operator delete(void*)", NULL), TIDE_LAYER_CHOSEN);
  assert_int_equal(judge(rules, "<app::Row as core::fmt::Debug>::fmt", NULL), TIDE_LAYER_USER);
  assert_int_equal(tide_rules_parse(rules, "x", "fold trait *::Debug::fmt", &diag), TIDE_ERR_OK);
  assert_int_equal(judge(rules, "<app::Row as core::fmt::Debug>::fmt", NULL), TIDE_LAYER_CHOSEN);
  assert_int_equal(tide_rules_parse(rules, "x", "keep function app::Row::*", &diag), TIDE_ERR_OK);
  assert_int_equal(judge(rules, "<app::Row as core::fmt::Debug>::fmt", NULL), TIDE_LAYER_USER);
  assert_int_equal(tide_rules_parse(rules, "x", "fold module libplugin.so*", &diag), TIDE_ERR_OK);
  assert_int_equal(judge(rules, "f", NULL), TIDE_LAYER_CHOSEN);
  tide_rules_free(rules);
}

static void expect_refused(const char *text, const char *sentence)
{
  struct tide_diag diag = {0};
  struct tide_rules *rules = tide_rules_new();
  TIDE_CLEANUP_FREE char *whole = tide_sprintf("fold function f\n%s\nfold function g\n", text);
  assert_int_equal(tide_rules_parse(rules, "my.rules", whole, &diag), TIDE_ERR_FORMAT);
  assert_string_equal(diag.text, sentence);
  assert_int_equal(judge(rules, "f", NULL), TIDE_LAYER_USER); // nothing was added
  tide_rules_free(rules);
}

static void says_which_line_is_wrong(void **state)
{
  expect_refused("hide function f",
                 "my.rules:2: a rule starts with own, library or fold, not \"hide\"");
  expect_refused("fold", "my.rules:2: fold what? function, crate, trait, file or module, not \"\"");
  expect_refused(
      "keep functions f",
      "my.rules:2: keep what? function, crate, trait, file or module, not \"functions\"");
  expect_refused("fold module", "my.rules:2: fold module needs a pattern");
  expect_refused("fold module  \t", "my.rules:2: fold module needs a pattern");
}

static void reads_files(void **state)
{
  char path[] = "/tmp/tide-rules-XXXXXX";
  struct tide_diag diag = {0};
  struct tide_rules *rules = tide_rules_new();
  int fd = mkstemp(path);
  assert_int_equal(write(fd, "fold function f", 15), 15);
  assert_int_equal(tide_rules_read(rules, path, &diag), TIDE_ERR_OK);
  assert_int_equal(judge(rules, "f", NULL), TIDE_LAYER_CHOSEN);
  assert_int_equal(write(fd, "\0", 1), 1);
  assert_int_equal(tide_rules_read(rules, path, &diag), TIDE_ERR_FORMAT);
  close(fd);
  unlink(path);
  assert_int_equal(tide_rules_read(rules, path, &diag), TIDE_ERR_SYSTEM);
  assert_non_null(strstr(diag.text, path));
  assert_int_equal(tide_rules_read(rules, "/", &diag), TIDE_ERR_SYSTEM);
  tide_rules_free(rules);
}

static void render_libraries(struct tide_buf *out, const char *heading,
                             const struct tide_name_rule *rules, size_t n)
{
  tide_buf_printf(out, "\n### %s\n\n", heading);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(rules[i].layer, TIDE_LAYER_LIBRARY);
    tide_buf_printf(out, "    library %-8s %s\n", tide_rule_kind_words[rules[i].kind],
                    rules[i].pattern);
  }
}

static void render_rules(struct tide_buf *out)
{
  static const char *const headings[] = {
      [TIDE_LAYER_ALLOCATOR] = "Allocators and their entry points",
      [TIDE_LAYER_START] = "Starts of processes and threads, the loader",
      [TIDE_LAYER_C] = "The C library",
      [TIDE_LAYER_CONTAINER] = "Containers, iterators, closures, formatting",
      [TIDE_LAYER_RUNTIME] = "Runtimes of languages",
      [TIDE_LAYER_FRAMEWORK] = "Asynchronous runtimes, thread pools, servers",
  };
  enum tide_layer layer = TIDE_LAYER_USER;
  for (size_t i = 0; i < tide_builtin_rules_n; i++) {
    const struct tide_name_rule *rule = &tide_builtin_rules[i];
    assert_true(layer == TIDE_LAYER_USER || rule->layer <= layer); // sections from the top down
    if (rule->layer != layer)
      tide_buf_printf(out, "\n### %s\n\n", headings[rule->layer]);
    layer = rule->layer;
    tide_buf_printf(out, "    fold %-8s %s\n", tide_rule_kind_words[rule->kind], rule->pattern);
  }
  render_libraries(out, "Libraries", tide_library_rules, tide_library_rules_n);
  render_libraries(out, "Libraries, where no source file is known", tide_fileless_rules,
                   tide_fileless_rules_n);
  tide_buf_text(out, "\n");
}

static void the_documentation_lists_the_rules(void **state)
{
  TIDE_CLEANUP_FREE char *text = read_whole("../../docs/runtime-frames.md");
  struct tide_buf rendered = {0};
  render_rules(&rendered);
  char *begin = strstr(text, "<!-- begin of the rules"), *end = strstr(text, "<!-- end of");
  assert_true(begin && end && begin < end);
  begin = strchr(begin, '\n') + 1;
  if (getenv("TIDE_GOLDEN_WRITE")) {
    FILE *file = fopen(TIDE_UNIT_DIR "/../../docs/runtime-frames.md", "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(begin - text), text, tide_buf_cstr(&rendered), end);
    fclose(file);
  } else {
    TIDE_CLEANUP_FREE char *listed = tide_strndup(begin, (size_t)(end - begin));
    assert_string_equal(listed, tide_buf_cstr(&rendered));
  }
  tide_buf_done(&rendered);
}

// What the documentation shows can be put into a file as it is.
static void the_list_is_made_of_rules(void **state)
{
  struct tide_rules *rules = tide_rules_new();
  struct tide_diag diag = {0};
  for (size_t i = 0; i < tide_builtin_rules_n; i++) {
    const struct tide_name_rule *rule = &tide_builtin_rules[i];
    TIDE_CLEANUP_FREE char *line =
        tide_sprintf("    fold %-8s %s\n", tide_rule_kind_words[rule->kind], rule->pattern);
    assert_int_equal(tide_rules_parse(rules, "x", line, &diag), TIDE_ERR_OK);
  }
  assert_int_equal(judge(rules, "operator new[](unsigned long)", NULL), TIDE_LAYER_CHOSEN);
  tide_rules_free(rules);
}

UNIT_TESTS(rules_test)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_of_cxx_names),
      cmocka_unit_test(paths_of_rust_names),
      cmocka_unit_test(paths_of_no_names),
      cmocka_unit_test(judges_real_names),
      cmocka_unit_test(judges_by_file_and_module),
      cmocka_unit_test(tells_own_code_from_libraries),
      cmocka_unit_test(rules_of_the_users_say_whose),
      cmocka_unit_test(knows_wrappers_of_allocators),
      cmocka_unit_test(the_last_rule_decides),
      cmocka_unit_test(says_which_line_is_wrong),
      cmocka_unit_test(reads_files),
      cmocka_unit_test(the_documentation_lists_the_rules),
      cmocka_unit_test(the_list_is_made_of_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
