// SPDX-License-Identifier: Apache-2.0
//
// How the preload library starts the recorder, and what it tells it: of the image, of forks, of the
// calling thread and its end.
#include "preload/environment.h"
#include "preload/exec_image.h"
#include "preload/hook.h"
#include "preload/loader.h"
#include "record/door.h"
#include "record/host.h"
#include "record/record.h"
#include "rt/maps.h"
#include "rt/sys.h"
#include "rt/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>

static struct tide_environment environment;
struct tide_start_texts tide_start_texts TIDE_BULKY;
static struct tide_options *const options = &tide_start_texts.options;
static char *const program = tide_start_texts.program;

// A supervisor that refuses knows why, and one that has ended is nothing new to a fork child.
static void say_outcome(enum tide_door_outcome outcome, bool forked)
{
  static const char *const why[] = {
      [TIDE_DOOR_OUTSIDE] = "it is not of the run that its supervisor watches: ",
      [TIDE_DOOR_NOBODY] = "its supervisor cannot be reached: ",
      [TIDE_DOOR_SILENT] = "its supervisor does not answer: ",
      [TIDE_DOOR_STRANGER] = "neither its own user nor root answers in its supervisor's place: ",
      [TIDE_DOOR_NO_ROOM] = "there is no address space for its store: ",
      [TIDE_DOOR_UNSAFE] = "its supervisor gave no store that is sealed and large enough: ",
  };
  char text[256];
  struct tide_line line = TIDE_LINE(text);
  if (outcome == TIDE_DOOR_SERVED || outcome == TIDE_DOOR_REFUSED ||
      (outcome == TIDE_DOOR_NOBODY && forked))
    return;
  tide_line_add(&line, "this process is not recorded: ");
  tide_line_add(&line, why[outcome]);
  tide_boot_say(text, program);
}

static void *store_at_door(bool forked, uint64_t bytes)
{
  struct tide_door_hello hello = {.magic = TIDE_DOOR_MAGIC,
                                  .version = TIDE_DOOR_VERSION,
                                  .pid = tide_sys_pid(),
                                  .flags = forked ? TIDE_DOOR_FORKED : 0,
                                  .store_bytes = bytes,
                                  .parent_pid = (uint32_t)TIDE_SYS(SYS_getppid, 0)};
  enum tide_door_outcome outcome;
  void *store = tide_door_store(options->door, &hello, &outcome);
  say_outcome(outcome, forked);
  return store;
}

static void *store_in_file(bool forked, uint64_t bytes)
{
  char name[1200];
  void *store = tide_door_file(options->output, program, bytes, name, sizeof name);
  if (!store && !forked)
    tide_boot_say("this process is not recorded: cannot make the store file ", name);
  return store;
}

static void *get_store(bool forked, uint64_t bytes)
{
  return options->door[0] ? store_at_door(forked, bytes) : store_in_file(forked, bytes);
}

// Of a program that the loader was given ("ld-linux-x86-64.so.2 PROGRAM") the kernel's is the
// loader. False: it is not so, or cannot be told.
static bool read_loaded_path(void)
{
  struct tide_maps maps;
  struct tide_maps_line line = {0};
  struct tide_line to = TIDE_LINE(tide_start_texts.program);
  bool is_here = false;
  if (environment.loader || !environment.headers || !tide_maps_open(&maps))
    return false;
  while (!is_here && tide_maps_next_line(&maps, &line))
    is_here = environment.headers - line.lo < line.hi - line.lo && line.path[0] == '/';
  tide_maps_close(&maps);
  if (is_here)
    tide_line_add(&to, line.path);
  return is_here;
}

static void read_program_path(void)
{
  if (read_loaded_path())
    return;
  long n = TIDE_SYS(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program,
                    sizeof tide_start_texts.program - 1);
  struct tide_line line = TIDE_LINE(tide_start_texts.program);
  if (tide_sys_failed(n))
    tide_line_add(&line, environment.argc ? environment.argv[0] : "?");
  else
    program[n] = 0;
}

// A fork child may have gone elsewhere: its file belongs beside its parent's.
static void make_output_absolute(void)
{
  char given[sizeof options->output];
  struct tide_line copy = TIDE_LINE(given), line = TIDE_LINE(options->output);
  tide_line_add(&copy, options->output[0] ? options->output : "tidemark.%n.%p.store");
  long n = TIDE_SYS(SYS_getcwd, options->output, sizeof options->output);
  if (given[0] != '/' && !tide_sys_failed(n) && n > 0) {
    line.n = (size_t)n - 1;
    tide_line_add(&line, "/");
  }
  tide_line_add(&line, given);
}

// Memcheck and its sisters put their own malloc in the place of every other, hooks included:
// nothing would be seen, and a mapping as large as the store takes them half a minute. Such a tool
// preloads a library of its own beside valgrind's core.
static bool allocator_is_valgrinds(void)
{
  const char *p = environment.preload;
  while ((p = tide_text_find(p, "vgpreload_"))) {
    p += sizeof "vgpreload_" - 1;
    if (!tide_text_starts(p, "core"))
      return true;
  }
  return false;
}

// The library itself, from its first byte to its last: the linker knows.
static void note_own_object(void)
{
  extern const char __ehdr_start[] __attribute__((visibility("hidden")));
  extern const char _end[] __attribute__((visibility("hidden")));
  uint64_t start = (uint64_t)__ehdr_start & ~(tide_sys_page_bytes - 1);
  tide_sys_note((void *)start, tide_sys_whole_pages((uint64_t)_end - start));
}

static bool is_to_be_recorded(void)
{
  tide_environment_read(&environment);
  tide_options_parse(environment.options, options);
  tide_exec_target_init(options->follow ? options->door : "");
  if (tide_sandbox_inherited(options->filters)) {
    tide_boot_say("this process is not recorded: a seccomp filter was put on it before it began: ",
                  environment.argc ? environment.argv[0] : "?");
    tide_sys_keep_still();
    return false;
  }
  if (!options->door[0])
    make_output_absolute();
  if (options->unknown[0])
    tide_boot_say("TIDEMARK_OPTIONS has a key that is not known and is ignored: ",
                  options->unknown);
  read_program_path();
  if (allocator_is_valgrinds()) {
    tide_boot_say("this process is not recorded: valgrind stands in for its allocator: ", program);
    return false;
  }
  return true;
}

// Where the program itself defines malloc, that comes before ours for everybody. So does libc's
// where we are linked and it was named first: then no function of ours is called but those that the
// program asks for (around.c). NULL: it is not so.
static const char *who_comes_before(bool own_malloc)
{
  if (tide_defined_before(&tide_real, "gnu_get_libc_version"))
    return "malloc and free of C code: libc comes before libtidemark.so among what it needs";
  return own_malloc && tide_around_is_used() ? "malloc and free of C code: the program's own"
                                             : NULL;
}

static bool describe_image(struct tide_host_image *ret_image)
{
  int saved = errno;
  tide_real_resolve();
  bool ok = is_to_be_recorded(), own_malloc = ok && tide_defined_before(&tide_real, "malloc");
  if (ok) {
    tide_loader_set_program(environment.headers, environment.n_headers);
    tide_exec_env_init(environment.preload, environment.options, options->follow);
    note_own_object();
    *ret_image = (struct tide_host_image){
        .program = program,
        .argv = environment.argv,
        .argc = environment.argc,
        .allocator = own_malloc ? program : tide_real.allocator,
        .refused = who_comes_before(own_malloc),
        .blocks_are_apart = !tide_real.chained,
        .vdso = environment.vdso,
        .stack_top = environment.stack_top,
        .stack_origin = environment.stack_origin,
        .depth = options->depth,
        .sample_bits = options->sample_bits,
        .starts_paused = options->paused,
        .sample_seed = options->sample_seed,
        .is_supervised = options->door[0],
        .follows_forks = options->follow,
    };
  }
  errno = saved;
  return ok;
}

__thread struct tide_seat tide_self __attribute__((tls_model("initial-exec")));
static __thread uint32_t exit_rounds __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static bool have_key;

// A thread's end is told by a pthread key's destructor, which asks to be called again until the
// last round, because other destructors free memory, too.
static void thread_ends(void *arg)
{
  struct tide_thread *t = arg;
  if (t != tide_self.thread || t->self != t)
    return; // a fork child, or somebody else's value
  if (++exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
    pthread_setspecific(exit_key, t);
  else
    tide_thread_end(&tide_self);
}

// The main thread never runs key destructors at exit, and must not be told of its end early.
static void thread_began(struct tide_thread *t, uint32_t tid)
{
  exit_rounds = 0;
  if (have_key && tid != tide_sys_pid())
    pthread_setspecific(exit_key, t);
}

// libc knows it: a thread's clock is named after it.
static uint32_t thread_id(void)
{
  clockid_t clock;
  return pthread_getcpuclockid(pthread_self(), &clock) ? 0 : (uint32_t) ~(clock >> 3);
}

static void before_fork(void)
{
  tide_boot_before_fork(&tide_self);
}

static void after_fork(void)
{
  tide_boot_after_fork(&tide_self);
}

static void in_fork_child(void)
{
  tide_boot_in_fork_child(&tide_self);
}

static void process_started(void)
{
  int saved = errno;
  have_key = !pthread_key_create(&exit_key, thread_ends);
  pthread_atfork(before_fork, after_fork, tide_store.inherited ? in_fork_child : NULL);
  errno = saved;
}

const struct tide_host tide_host = {
    .start = describe_image,
    .store = get_store,
    .started = process_started,
    .object_at = tide_loader_object_at,
    .each_object = tide_loader_each_object,
    .thread_began = thread_began,
    .thread_id = thread_id,
    .is_at_work = tide_real_resolving,
    .owns_block = tide_real_pool_holds,
};

__attribute__((constructor)) static void boot_at_latest(void)
{
  tide_boot(&tide_self);
}

// A process that ends otherwise does not tell.
__attribute__((destructor)) static void note_end(void)
{
  tide_boot_note_end();
}
