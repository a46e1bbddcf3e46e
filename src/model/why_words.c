// SPDX-License-Identifier: Apache-2.0
//
// The words of TIDE_WHY_LIST. A %s stands for the detail.
#include "model/capture.h"

#include "base/alloc.h"

#include <string.h>

// What the agent would record, whatever a preloaded library does not see.
#define OR_AGENT                                                                                   \
  "let the agent record it, which takes its symbols and the right to trace (tidemark help run), "  \
  "or "

static const struct {
  const char *brief, *what, *way_out;
} WORDS[TIDE_WHY_N] = {
    [TIDE_WHY_UNKNOWN] = {"not seen by the recorder", "ran without the recorder", NULL},
    [TIDE_WHY_STATIC] = {"static", "is statically linked, so the recorder cannot be preloaded",
                         OR_AGENT
                         "link it dynamically, without -static (Rust: a *-linux-gnu target "
                         "without crt-static)"},
    [TIDE_WHY_MUSL] = {"musl", "uses musl, and the preloaded recorder needs glibc",
                       OR_AGENT "build it for a *-linux-gnu target"},
    [TIDE_WHY_OTHER_LOADER] = {"another loader",
                               "is started by %s, and the preloaded recorder needs glibc's "
                               "loader",
                               OR_AGENT "build it for glibc"},
    [TIDE_WHY_PRIVILEGED] = {"setuid or the like",
                             "is setuid, setgid or has file capabilities, so the loader ignores "
                             "the recorder",
                             "record a copy without them, or run tidemark as root, or as the user "
                             "it would become"},
    [TIDE_WHY_BITS_32] = {"32-bit", "is a 32-bit program", "build it for 64 bits"},
    [TIDE_WHY_OTHER_MACHINE] = {"another processor", "is for another processor than this one",
                                "record it where it is at home"},
    [TIDE_WHY_SANITIZER] = {"sanitizer",
                            "runs with %s, which must be loaded first and replaces the "
                            "allocator",
                            "record it without, neither built in nor preloaded"},
    [TIDE_WHY_OWN_ALLOCATOR] = {"%s linked in",
                                "has %s linked in, which the preloaded recorder cannot see into",
                                OR_AGENT
                                "link the allocator as a shared library, or build without it "
                                "for the recording"},
    [TIDE_WHY_TOO_LONG] = {"arguments too long",
                           "got arguments and an environment that leave no room for two variables",
                           "give it a shorter command line"},
    [TIDE_WHY_NO_LIBRARY] = {"chroot or sandbox",
                             "ran where the recorder's library is not to be seen (a chroot or a "
                             "sandbox)",
                             "make the directory of libtidemark.so visible there"},
    [TIDE_WHY_NO_ENVIRONMENT] = {"environment cleared",
                                 "was started by an unrecorded program without the recorder's "
                                 "variables",
                                 "let LD_PRELOAD and TIDEMARK_OPTIONS pass, or record it alone"},
    [TIDE_WHY_NO_STORE] = {"no store left",
                           "came to the recorder, and no memory or descriptor was left for it",
                           "raise ulimit -n and ulimit -f"},
    [TIDE_WHY_NO_ANSWER] = {"no answer in time",
                            "asked the recorder's supervisor, which was stopped or overloaded, and "
                            "went on without",
                            NULL},
    [TIDE_WHY_NAMESPACE] = {"user namespace",
                            "ran in a user namespace that knows neither root nor the user who "
                            "records, so it could not tell whose the recorder is",
                            "map one of them into it (unshare --map-root-user, bwrap --uid 0)"},
    [TIDE_WHY_OUTSIDE] =
        {"not known to be of the run",
         "came with the run's variables, and nothing showed that it was of the "
         "run: a daemon that left its parents, or started elsewhere",
         "let the run wait for its daemons, which then stay its own (tidemark help run)"},
    [TIDE_WHY_LOADED_LATER] = {"loaded %s later",
                               "loaded %s while it ran; if that has an allocator, its blocks were "
                               "not seen",
                               "load it before tidemark attaches, or link it, or run the program "
                               "with it in LD_PRELOAD"},
    [TIDE_WHY_UNSEEN_MEMORY] = {"unseen memory",
                                "has much of its memory from elsewhere than the allocators and the "
                                "mmap that were seen",
                                NULL},
    [TIDE_WHY_PAGES_ONLY] = {"pages alone",
                             "has no allocator that is known by its symbols or its code: its "
                             "blocks are not seen, only the pages that it maps",
                             "use %s"},
    [TIDE_WHY_INLINED] = {"allocator inlined",
                          "has a Rust allocator of its own, whose functions the compiler may have "
                          "inlined, and what happens there is not seen; it mapped %s of pages by "
                          "itself",
                          "record a build without optimization, which has them as calls, or one "
                          "without its #[global_allocator]"},
    [TIDE_WHY_UNHOOKED] = {"functions not hooked",
                           "has an allocator none of whose functions could be hooked (%s): its "
                           "blocks are not seen",
                           "build that allocator otherwise: without -pg or other code at the "
                           "beginning of functions, with -fpatchable-function-entry=8; or use "
                           "libc's for the recording"},
    [TIDE_WHY_UNTOLD] =
        {"allocator not told",
         "is a Rust program whose file does not tell whether it has an allocator of "
         "its own, of which nothing would be seen, and it %s",
         "record a build with its symbols and debug info, which tell (strip = "
         "\"none\", debug = \"line-tables-only\")"},
    [TIDE_WHY_LEFT_BEHIND] = {"left behind",
                              "had allocated nothing when the recording ended, and went on",
                              "let the run wait for what its command leaves behind (tidemark help "
                              "run)"},
};

// Allocators that profile themselves, and what of theirs tidemark reads.
static const struct {
  const char *allocator, *how;
} SELF[] = {
    {"jemalloc", "jemalloc profiles itself where built with --enable-prof: "
                 "MALLOC_CONF=prof:true,prof_final:true (Rust: _RJEM_MALLOC_CONF), then "
                 "'tidemark report FILE.heap'"},
    {"tcmalloc", "gperftools' tcmalloc profiles itself: HEAPPROFILE=NAME, then 'tidemark report "
                 "NAME.0001.heap'"},
    {"Go's runtime", "Go's runtime profiles itself: save /debug/pprof/heap or use runtime/pprof, "
                     "then 'tidemark report FILE'"},
};

static const char *self_profiling(const char *detail)
{
  for (size_t i = 0; detail && i < sizeof SELF / sizeof *SELF; i++)
    if (strcmp(detail, SELF[i].allocator) == 0)
      return SELF[i].how;
  return NULL;
}

static enum tide_why known(enum tide_why why)
{
  return (unsigned)why < TIDE_WHY_N ? why : TIDE_WHY_UNKNOWN;
}

static char *fill_in_detail(const char *text, enum tide_why why, const char *detail)
{
  const char *gap = strstr(text, "%s");
  const char *name = detail && *detail              ? detail
                     : why == TIDE_WHY_SANITIZER    ? "a sanitizer"
                     : why == TIDE_WHY_OTHER_LOADER ? "another loader"
                     : why == TIDE_WHY_LOADED_LATER ? "libraries"
                     : why == TIDE_WHY_PAGES_ONLY   ? "a build of it with symbols"
                     : why == TIDE_WHY_INLINED      ? "an unknown amount"
                     : why == TIDE_WHY_UNHOOKED     ? "of which nothing is known"
                     : why == TIDE_WHY_UNTOLD       ? "may have memory of its own"
                                                    : "an allocator of its own";
  if (!gap)
    return tide_strdup(text);
  return tide_sprintf("%.*s%s%s", (int)(gap - text), text, name, gap + 2);
}

bool tide_why_is_go(const char *detail)
{
  return detail && strcmp(detail, "Go's runtime") == 0;
}

char *tide_why_sentence(enum tide_why why, const char *detail)
{
  // Nor does the agent, in whatever way it came.
  if (why == TIDE_WHY_OWN_ALLOCATOR && tide_why_is_go(detail))
    return tide_strdup("has Go's runtime linked in, whose blocks no recorder of malloc sees");
  return fill_in_detail(WORDS[known(why)].what, known(why), detail);
}

char *tide_why_brief(enum tide_why why, const char *detail)
{
  return fill_in_detail(WORDS[known(why)].brief, known(why), detail);
}

char *tide_why_way_out(enum tide_why why, const char *detail)
{
  const char *way = WORDS[known(why)].way_out, *self = self_profiling(detail);
  if (tide_why_is_go(detail))
    way = NULL; // linked in whatever way, it is the one that allocates
  if (way && !self)
    return fill_in_detail(way, known(why), detail);
  if (way && self)
    return tide_sprintf("%s; %s", way, self);
  return way || self ? tide_strdup(way ? way : self) : NULL;
}

const char *tide_why_tag(enum tide_why why)
{
  static const char *const TAGS[] = {
#define X(name, number, word) [number] = word,
      TIDE_WHY_LIST(X)
#undef X
  };
  return TAGS[known(why)];
}

bool tide_why_is_partial(enum tide_why why)
{
  return why == TIDE_WHY_OWN_ALLOCATOR || why == TIDE_WHY_UNSEEN_MEMORY ||
         why == TIDE_WHY_LOADED_LATER || why == TIDE_WHY_PAGES_ONLY || why == TIDE_WHY_INLINED ||
         why == TIDE_WHY_UNHOOKED || why == TIDE_WHY_UNTOLD;
}
