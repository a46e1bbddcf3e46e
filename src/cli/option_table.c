// SPDX-License-Identifier: Apache-2.0
//
// Every verb and every option, once.
#include "cli/arguments.h"

#include "report/check.h"
#include "view/blame.h"
#include "view/groups.h"

#define N(array) (sizeof(array) / sizeof *(array))
#define AT(field) offsetof(struct tide_arguments, field)
#define VERB(name) (1u << TIDE_VERB_##name)

enum {
  PAGES = VERB(VIEW) | VERB(HTML),
  READING = VERB(REPORT) | VERB(TREE) | VERB(INFO) | PAGES | VERB(EXPORT) | VERB(SYMBOLIZE),
  TABLES = VERB(REPORT) | VERB(DIFF),
  VIEWING = TABLES | VERB(TREE) | VERB(EXPORT), // through names, with a question and filters
  WRITING = VERB(RUN) | VERB(ATTACH) | VERB(TOP) | VERB(MERGE) | VERB(FETCH) | VERB(HTML) |
            VERB(EXPORT) | VERB(SYMBOLIZE) | VERB(CHECK),
  RECORDING = VERB(RUN) | VERB(ATTACH),
  ASKING = READING | VIEWING | VERB(MERGE) | VERB(FETCH) | VERB(EXPLAIN) |
           VERB(CHECK), // perhaps over HTTP
  SHOWING = VERB(TOP) | VERB(RUN) | VERB(ATTACH) | TABLES | VERB(TREE) | VERB(INFO) | VERB(MAPS) |
            VERB(EXPLAIN) | VERB(CHECK),
  ALL = (1u << TIDE_VERBS_N) - 1,
};

const struct tide_verb_row tide_verb_rows[TIDE_VERBS_N] = {
    [TIDE_VERB_RUN] =
        {"run", "[--] COMMAND [ARGUMENT...]", "run a command and record every allocation it makes",
         "The command's output, exit status and signals are its own: tidemark ends as it\n"
         "did. The report goes to standard error. Options end at the first word that is\n"
         "none, or at --. Exit status 125 is our own failure, 126 a command that cannot\n"
         "be executed, 127 one that is not found.\n",
         TIDE_OPERAND_COMMAND},
    [TIDE_VERB_ATTACH] =
        {"attach", "PID", "record a process that runs already, and let it go again",
         "Until Ctrl-C, the end of the process, or the time of --for. Whatever allocator\n"
         "it has is hooked where it is; nothing of the process is restarted, and when it\n"
         "is let go nothing is left in it. Blocks from before are not known; their frees\n"
         "are counted as such. Needs the right to trace it, as a debugger does.\n",
         TIDE_OPERAND_NONE},
    [TIDE_VERB_TOP] =
        {"top", "PID | FILE | -- COMMAND [ARGUMENT...]",
         "watch the memory of a program in the terminal while it runs",
         "A graph of the heap and of RSS, and the places in the code that hold most,\n"
         "each second; keys sort, filter, show who calls a place, pause, mark and dump\n"
         "(? lists them). A process that nobody records is attached to as 'tidemark\n"
         "attach' does, and let go by q; one that is recorded already is looked at. A\n"
         "command is recorded as 'tidemark run' does; what it would print on the\n"
         "terminal goes to a file beside the capture. FILE as for report.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_CTL] =
        {"ctl", "PID [on|off|reset|sample=N|mark NAME|dump FILE]",
         "tell a recording what to do while it goes on",
         "PID is a process that is recorded, by run, attach or a preloaded library; it\n"
         "concerns its whole recording. off: new blocks are not recorded until on; those\n"
         "that are known stay so, and their ends are counted. mark: the moment gets a\n"
         "name on the timeline. dump: a capture of now, written to FILE. reset: all that\n"
         "is counted counts from now on, and what lives is told as from before. Without\n"
         "a word: how it is. Nothing is called in the process, and nobody is stopped.\n",
         TIDE_OPERAND_NONE},
    [TIDE_VERB_DETACH] = {"detach", "PID", "let go of a process that tidemark is attached to",
                          "For one whose tidemark was killed; another that still records it ends\n"
                          "its recording.\n",
                          TIDE_OPERAND_NONE},
    [TIDE_VERB_DOCTOR] =
        {"doctor", "COMMAND | PID", "say what would be seen of a program or process, and why not",
         "Reads its files and /proc, and changes nothing. Exit status 0: every allocation\n"
         "would be seen; 1: a part; 2: nothing, or that cannot be told.\n",
         TIDE_OPERAND_COMMAND},
    [TIDE_VERB_MAPS] =
        {"maps", "PID|FILE", "say where the resident memory of a process is, or was",
         "One table that adds up to what the kernel counts as its RSS: blocks, what the\n"
         "allocator keeps, stacks, files, shared memory. Any process of yours will do;\n"
         "of one that is being recorded the places in its code are named, too. Nobody is\n"
         "stopped, and nothing is changed (but by --try-trim). Of a .tide capture it is\n"
         "the table of the moment at which most was in memory, of those looked at.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_REPORT] =
        {"report", "[FILE]", "say who held the memory of a recorded run",
         "FILE is a .tide capture, the .store a bare LD_PRELOAD left, or a file of\n"
         "heaptrack, DHAT, massif, gperftools, jemalloc or pprof, or folded stacks,\n"
         "packed or not; or the URL of a heap profile. Without one, the newest\n"
         "tidemark.* capture of the current directory is taken.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_TREE] = {"tree", "[FILE]", "show how the program came to allocate, as a call tree",
                        "From the outermost function down to the allocation, with what is below\n"
                        "0.5 % gathered. FILE as for report.\n",
                        TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_VIEW] =
        {"view", "[FILE [FILE]]", "show a capture, or two compared, as a page in the browser",
         "Serves the page on this machine alone, at an address with a secret part, which\n"
         "is printed and opened in the browser, until Ctrl-C. Two files are compared.\n"
         "The file of a run that goes on is followed. FILE as for report.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_SERVE] =
        {"serve", "STORE|DIR", "answer profilers over HTTP for programs that preload the library",
         "For programs that were started with the library in LD_PRELOAD and nothing else:\n"
         "STORE is the file that one writes, DIR a folder of them, where processes come\n"
         "and go. Answers what 'tidemark run --serve' does, until Ctrl-C: /debug/pprof/,\n"
         "/pprof/, /metrics and the page at /tidemark/, of processes that run. The files\n"
         "are only read; nothing is asked of the programs.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_DIFF] =
        {"diff", "BEFORE AFTER | --from TIME --to TIME [FILE]",
         "say what changed between two captures, or two moments of one",
         "Places are matched by function and source file, so that runs of two builds\n"
         "can be compared. With --exit-code the status is 0 when the total did not\n"
         "grow, 1 when it did, and 2 when that cannot be told. A URL with --seconds N\n"
         "is compared with itself so much later.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_CHECK] =
        {"check", "[FILE...] | -- COMMAND [ARGUMENT...]",
         "say whether a run kept its budgets, for tests and CI",
         "Exit status 0: all kept, 1: one is broken, 2: that cannot be told, as of a run\n"
         "with a process that was not recorded. A budget is of each process by itself.\n"
         "A command is recorded as by 'tidemark run'; one that fails passes its own\n"
         "status on. Without a budget the file tidemark.toml of the current directory\n"
         "has them. A broken one is told with the lines of code. FILE as for report.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_EXPLAIN] =
        {"explain", "[FILE [AFTER]|PID]",
         "say what is wrong with a program's use of memory, and where",
         "Findings, ranked: each with its numbers, what it would save, how sure it is,\n"
         "the line of code and what to do. Exit status 0 whether or not there are any.\n"
         "Of two files, what changed and which findings are new or gone. FILE as for\n"
         "report.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_MERGE] = {"merge", "FILE... -o OUT",
                         "add up the recordings of several runs or processes",
                         "Of each FILE the process that report shows is taken, or the one of\n"
                         "--process, or --all. Processes of the same program become one, stack by\n"
                         "stack; its peak is the sum of their own peaks, and so an upper bound.\n",
                         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_FETCH] =
        {"fetch", "URL... -o OUT", "fetch heap profiles of running services as captures",
         "From tidemark's --serve, Go's net/http/pprof, jemalloc's for Rust, gperftools.\n"
         "localhost:6060 is asked for /debug/pprof/heap. Several are added up as merge\n"
         "does, or a file each if OUT is a directory. report, diff and others take a URL\n"
         "in place of a file.\n",
         TIDE_OPERAND_NONE},
    [TIDE_VERB_INFO] = {"info", "[FILE]",
                        "print the facts of a capture: processes, modules, losses",
                        "FILE as for report.\n", TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_HTML] =
        {"html", "[FILE] [AFTER]", "write a page about a capture, or about two, to one file",
         "The page of 'tidemark view' with all its data in one HTML file, to be\n"
         "mailed or kept: it needs no tidemark and no network. Without -o it is named\n"
         "after the capture. Two files are compared. FILE as for report.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_EXPORT] = {"export", "--to FORMAT [FILE]",
                          "write a capture in another tool's format",
                          "Formats:\n"
#define EXPORT(word, function, suffix, room, summary) "  " word ": " summary "\n"
#include "export/exports.def"
#undef EXPORT
                          "FILE as for report. Writes to standard output without -o.\n",
                          TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_SYMBOLIZE] =
        {"symbolize", "[FILE]", "store the names in a capture, so that it can travel",
         "Looks up every address of every process and stores what it finds, so\n"
         "that the capture can be opened without its programs. Run again, it\n"
         "asks only for what is missing. FILE as for report.\n",
         TIDE_OPERAND_CAPTURE},
    [TIDE_VERB_HELP] = {"help", "[VERB]", "explain a verb", "", TIDE_OPERAND_VERB},
    [TIDE_VERB_VERSION] = {"version", "", "print the version", "", TIDE_OPERAND_NONE},
};

static const char *const color_words[] = {"auto", "always", "never"};
static const char *const units_words[] = {"iec", "si", "bytes"};
static const char *const tree_group_words[] = {"heap", [TIDE_TREE_PAGES] = "pages"};
static const char *const format_words[] = {
#define EXPORT(word, function, suffix, room, summary) word,
#include "export/exports.def"
#undef EXPORT
};

static const char *const check_format_words[] = {
#define X(name, word) word,
    TIDE_CHECK_FORMAT_LIST(X)
#undef X
};

static const char *const how_words[] = {"auto", "preload", "agent"};

const struct tide_option_row tide_option_rows[] = {
    {VERB(CHECK), 0, "max-peak", "SIZE", TIDE_OPTION_TEXT, AT(max[TIDE_LIMITED_PEAK]), NULL, 0,
     "at most SIZE of the heap live at once: 64MiB"},
    {VERB(CHECK), 0, "max-total", "SIZE", TIDE_OPTION_TEXT, AT(max[TIDE_LIMITED_TOTAL]), NULL, 0,
     "at most SIZE allocated in all"},
    {VERB(CHECK), 0, "max-allocs", "N", TIDE_OPTION_TEXT, AT(max[TIDE_LIMITED_ALLOCS]), NULL, 0,
     "at most N allocations"},
    {VERB(CHECK), 0, "max-leaked", "SIZE", TIDE_OPTION_TEXT, AT(max[TIDE_LIMITED_LEAKED]), NULL, 0,
     "at most SIZE never freed"},
    {VERB(CHECK), 0, "max-temp", "SIZE", TIDE_OPTION_TEXT, AT(max[TIDE_LIMITED_TEMP]), NULL, 0,
     "at most SIZE freed within one further allocation"},
    {VERB(CHECK), 0, "max-rss", "SIZE", TIDE_OPTION_TEXT, AT(max[TIDE_LIMITED_RSS]), NULL, 0,
     "at most SIZE in memory"},
    {VERB(CHECK), 0, "max-site", "SITE", TIDE_OPTION_LIST, AT(max_sites), NULL, 0,
     "RE=SIZE: so much at the peak through code like RE; again"},
    {VERB(CHECK), 0, "baseline", "FILE", TIDE_OPTION_TEXT, AT(baseline), NULL, 0,
     "the capture that growth is from"},
    {VERB(CHECK), 0, "max-growth", "SHARE", TIDE_OPTION_TEXT, AT(max_growth), NULL, 0,
     "each number of it grows by SHARE at most: 5%"},
    {VERB(CHECK), 0, "program", "NAME", TIDE_OPTION_TEXT, AT(program), NULL, 0,
     "these budgets are of processes of this executable"},
    {VERB(CHECK), 0, "budget", "FILE", TIDE_OPTION_TEXT, AT(budget), NULL, 0,
     "more budgets in FILE (default: tidemark.toml, alone)"},
    {VERB(CHECK), 0, "format", "FORMAT", TIDE_OPTION_CHOICE, AT(check_format), check_format_words,
     N(check_format_words), "text (default), json, github, junit or sarif"},
    {VERB(CHECK), 0, "result", "FILE", TIDE_OPTION_TEXT, AT(result), NULL, 0,
     "write the verdict to FILE, not to standard output"},
    {VERB(CHECK), 'q', "quiet", NULL, TIDE_OPTION_FLAG, AT(quiet), NULL, 0,
     "do not say where the capture was saved"},
    {WRITING, 'o', "output", "FILE", TIDE_OPTION_TEXT, AT(output), NULL, 0,
     "write to FILE (run: %p is the pid, %n the program)"},
    {WRITING, 'f', "force", NULL, TIDE_OPTION_FLAG, AT(force), NULL, 0,
     "overwrite FILE if it exists"},
    {(WRITING | SHOWING) & ~VERB(MAPS), 0, "redact-args", NULL, TIDE_OPTION_FLAG, AT(redact_args),
     NULL, 0, "leave out the arguments of command lines"},
    {VERB(ATTACH), 0, "for", "TIME", TIDE_OPTION_TEXT, AT(duration), NULL, 0,
     "let it go after TIME: 30s, 5m, 1h"},
    {VERB(RUN) | VERB(ATTACH) | VERB(TOP), 'q', "quiet", NULL, TIDE_OPTION_FLAG, AT(quiet), NULL, 0,
     "no report, only errors"},
    {VERB(RUN) | VERB(ATTACH) | VERB(TOP) | VERB(CHECK), 0, "depth", "N", TIDE_OPTION_NUMBER,
     AT(depth), NULL, 0, "keep at most N frames of a stack (default: all)"},
    {VERB(RUN) | VERB(ATTACH) | VERB(TOP) | VERB(CHECK), 0, "sample", "SIZE", TIDE_OPTION_EVERY,
     AT(sample), NULL, 0, "estimate from samples, one for SIZE bytes (512 KiB)"},
    {RECORDING, 0, "start-paused", NULL, TIDE_OPTION_FLAG, AT(start_paused), NULL, 0,
     "record nothing until 'tidemark ctl PID on'"},
    {VERB(CTL), 'f', "force", NULL, TIDE_OPTION_FLAG, AT(force), NULL, 0,
     "dump: overwrite FILE if it exists"},
    {VERB(CTL), 'q', "quiet", NULL, TIDE_OPTION_FLAG, AT(quiet), NULL, 0, "only errors"},
    {VERB(RUN) | VERB(TOP) | VERB(CHECK), 0, "no-follow", NULL, TIDE_OPTION_FLAG, AT(no_follow),
     NULL, 0, "do not record the processes the command starts"},
    {VERB(RUN) | VERB(TOP) | VERB(CHECK), 0, "how", "WAY", TIDE_OPTION_CHOICE, AT(how), how_words,
     N(how_words), "how it is recorded: auto (default), preload or agent"},
    {VERB(RUN) | VERB(CHECK), 0, "wait", NULL, TIDE_OPTION_FLAG, AT(wait), NULL, 0,
     "record processes the command leaves behind, to their end"},
    {VERB(RUN) | VERB(ATTACH), 0, "view", NULL, TIDE_OPTION_FLAG, AT(view), NULL, 0,
     "show the page in the browser while it runs"},
    {VERB(RUN) | VERB(ATTACH), 0, "serve", "ADDRESS", TIDE_OPTION_TEXT, AT(serve), NULL, 0,
     "answer profilers over HTTP: 127.0.0.1:6060, or a port"},
    {VERB(RUN) | VERB(ATTACH), 0, "token-file", "FILE", TIDE_OPTION_TEXT, AT(token_file), NULL, 0,
     "--serve: the token for others is the line in FILE"},
    {VERB(RUN) | VERB(ATTACH), 0, "dump-every", "STEP", TIDE_OPTION_LIST, AT(dump_every), NULL, 0,
     "dump to a file each 10s, 1GiB or growth=64MiB"},
    {VERB(RUN) | VERB(ATTACH), 0, "dump-on", "WHAT", TIDE_OPTION_LIST, AT(dump_on), NULL, 0,
     "dump on peak=SIZE, rss=SIZE, limit=90% or signal"},
    {VERB(RUN) | VERB(ATTACH), 0, "dump-keep", "BOUND", TIDE_OPTION_LIST, AT(dump_keep), NULL, 0,
     "keep the last 20 dumps, 1GiB of them at most"},
    {VERB(RUN) | VERB(ATTACH), 0, "push", "SERVER", TIDE_OPTION_LIST, AT(push), NULL, 0,
     "send profiles to pyroscope=URL, parca=URL or otlp=URL"},
    {VERB(RUN) | VERB(ATTACH), 0, "push-every", "TIME", TIDE_OPTION_SECONDS, AT(push_every_s), NULL,
     0, "--push: so often, as 30s or 5m (default 10s)"},
    {VERB(RUN) | VERB(ATTACH), 0, "push-label", "LABEL", TIDE_OPTION_LIST, AT(push_labels), NULL, 0,
     "--push: with a label, name=value; may be repeated"},
    {VERB(RUN) | VERB(ATTACH), 0, "push-token-file", "FILE", TIDE_OPTION_TEXT, AT(push_token_file),
     NULL, 0, "--push: the token is the line in FILE"},
    {VERB(RUN) | VERB(ATTACH), 0, "push-tenant", "NAME", TIDE_OPTION_TEXT, AT(push_tenant), NULL, 0,
     "--push: for this tenant (X-Scope-OrgID)"},
    {VERB(RUN) | VERB(ATTACH), 0, "push-debuginfo", NULL, TIDE_OPTION_FLAG, AT(push_debuginfo),
     NULL, 0, "--push parca=: upload files, which it has the names from"},
    {ASKING, 0, "token-file", "FILE", TIDE_OPTION_TEXT, AT(token_file), NULL, 0,
     "of a URL: the token is the line in FILE"},
    {ASKING, 0, "timeout", "TIME", TIDE_OPTION_SECONDS, AT(timeout_s), NULL, 0,
     "of a URL: wait so long for the answer (default 60s)"},
    {VERB(DIFF), 0, "seconds", "N", TIDE_OPTION_SECONDS, AT(seconds), NULL, 0,
     "of a URL: compare it with itself N seconds later"},
    {VERB(VIEW), 0, "port", "N", TIDE_OPTION_NUMBER, AT(port), NULL, 0,
     "serve on this port (default: any that is free)"},
    {VERB(SERVE), 0, "listen", "ADDRESS", TIDE_OPTION_TEXT, AT(serve), NULL, 0,
     "serve there: 127.0.0.1:6060 (default), or a port"},
    {VERB(SERVE), 0, "token-file", "FILE", TIDE_OPTION_TEXT, AT(token_file), NULL, 0,
     "the token for others is the line in FILE"},
    {VERB(SERVE), 'q', "quiet", NULL, TIDE_OPTION_FLAG, AT(quiet), NULL, 0, "only errors"},
    {VERB(VIEW), 0, "listen", "ADDRESS", TIDE_OPTION_TEXT, AT(listen), NULL, 0,
     "serve on this address (default 127.0.0.1)"},
    {VERB(VIEW) | VERB(RUN) | VERB(ATTACH), 0, "no-open", NULL, TIDE_OPTION_FLAG, AT(no_open), NULL,
     0, "start no browser, print the page's address only"},
    {VERB(VIEW), 0, "detach", NULL, TIDE_OPTION_FLAG, AT(detach), NULL, 0,
     "serve in the background until nobody looks any more"},
    {VERB(VIEW), 0, "editor", "LINK", TIDE_OPTION_TEXT, AT(editor), NULL, 0,
     "open source lines by a link: vscode://file%f:%l"},
    {VERB(EXPORT), 0, "to", "FORMAT", TIDE_OPTION_TEXT, AT(to), format_words, N(format_words),
     "the format to write"},
    {VERB(EXPORT), 0, "no-symbols", NULL, TIDE_OPTION_FLAG, AT(no_symbols), NULL, 0,
     "addresses and build ids instead of names"},
    {VERB(EXPORT), 0, "max-bytes", "SIZE", TIDE_OPTION_SIZE, AT(max_bytes), NULL, 0,
     "pprof: at most SIZE unpacked; small stacks as [other]"},
    {VERB(HTML), 0, "max-bytes", "SIZE", TIDE_OPTION_SIZE, AT(max_bytes), NULL, 0,
     "at most SIZE (default 15MiB); small stacks as [other]"},
    {VERB(HTML), 0, "sources", NULL, TIDE_OPTION_FLAG, AT(sources), NULL, 0,
     "source lines around the places, too (default: none)"},
    {VERB(EXPORT), 0, "max-stacks", "N", TIDE_OPTION_NUMBER, AT(max_stacks), NULL, 0,
     "pprof: at most N stacks; the others as [other]"},
    {VERB(EXPORT), 0, "fold", NULL, TIDE_OPTION_FLAG, AT(fold), NULL, 0,
     "fold runtime frames (default: whole stacks)"},
    {VIEWING | VERB(TOP), 's', "sort", "WHAT", TIDE_OPTION_CHOICE, AT(sort), tide_sort_words,
     TIDE_SORTS_N, "rank by peak, live, total, grown, leak, temp or count"},
    {VIEWING, 0, "by", "UNIT", TIDE_OPTION_CHOICE, AT(by), tide_by_words, TIDE_BYS_N,
     "measure in bytes or blocks (auto: what suits)"},
    {VIEWING, 0, "at", "TIME", TIDE_OPTION_TEXT, AT(at), NULL, 0,
     "look at a moment: 6.1s, 40%, peak, end"},
    {VERB(MAPS), 0, "try-trim", NULL, TIDE_OPTION_FLAG, AT(try_trim), NULL, 0,
     "call malloc_trim in the process: what it gives back"},
    {VERB(MAPS), 0, "at", "TIME", TIDE_OPTION_TEXT, AT(at), NULL, 0,
     "the look of a capture nearest to 6.1s, 40%, end"},
    {VIEWING, 0, "range", "RANGE", TIDE_OPTION_TEXT, AT(range), NULL, 0,
     "look at what grew in A..B, times as for --at"},
    {VERB(DIFF), 0, "from", "TIME", TIDE_OPTION_TEXT, AT(from), NULL, 0,
     "compare two moments of one run: this one (start)"},
    {VERB(DIFF), 0, "to", "TIME", TIDE_OPTION_TEXT, AT(until), NULL, 0,
     "and this one (end), times as for --at"},
    {VERB(DIFF), 0, "exit-code", NULL, TIDE_OPTION_FLAG, AT(exit_code), NULL, 0,
     "exit with 1 if the total has grown, 2 if in doubt"},
    {VERB(DIFF), 0, "threshold", "SIZE", TIDE_OPTION_TEXT, AT(threshold), NULL, 0,
     "let it grow by a size or share: 64KiB, 5%"},
    {VERB(REPORT), 'g', "group", "WHAT", TIDE_OPTION_CHOICE, AT(group), tide_group_words,
     TIDE_GROUPS_N, "one row per place, function, file, crate, pages, ..."},
    {VERB(DIFF), 'g', "group", "WHAT", TIDE_OPTION_CHOICE, AT(group), tide_group_words,
     TIDE_GROUP_SCOPE + 1, "one row per place (= function), file, crate, thread, ..."},
    {TABLES, 'n', "top", "N", TIDE_OPTION_NUMBER, AT(top), NULL, 0,
     "show N rows (default 10); --csv, --json: all"},
    {VERB(EXPLAIN), 'n', "top", "N", TIDE_OPTION_NUMBER, AT(top), NULL, 0,
     "show N findings (default 5); --json: all"},
    {VERB(MAPS), 'n', "top", "N", TIDE_OPTION_NUMBER, AT(top), NULL, 0,
     "show N rows of each list (default 10); --json: all"},
    {VERB(TREE), 'g', "group", "WHAT", TIDE_OPTION_CHOICE, AT(tree_group), tree_group_words,
     N(tree_group_words), "the heap, or pages: memory the program mapped itself"},
    {VERB(TREE), 0, "invert", NULL, TIDE_OPTION_FLAG, AT(invert), NULL, 0,
     "from the allocating function out to its callers"},
    {VERB(TREE), 0, "callers", "RE", TIDE_OPTION_TEXT, AT(callers), NULL, 0,
     "what leads to functions like RE"},
    {VERB(TREE), 0, "callees", "RE", TIDE_OPTION_TEXT, AT(callees), NULL, 0,
     "what functions like RE lead to"},
    {VERB(TREE), 0, "lines", NULL, TIDE_OPTION_FLAG, AT(lines), NULL, 0,
     "tell the lines of a function apart"},
    {VERB(TREE), 'n', "top", "N", TIDE_OPTION_NUMBER, AT(top), NULL, 0,
     "show N children of each function (default: all)"},
    {VERB(TREE), 0, "depth", "N", TIDE_OPTION_NUMBER, AT(depth), NULL, 0,
     "show N levels of functions (default: all)"},
    {VERB(TREE), 0, "min-share", "SHARE", TIDE_OPTION_TEXT, AT(min_share), NULL, 0,
     "gather what is below SHARE (default 0.5%)"},
    {VERB(TREE), 0, "min", "SIZE", TIDE_OPTION_SIZE, AT(min_bytes), NULL, 0,
     "gather what is below SIZE, such as 64KiB or 1.5M"},
    {VIEWING, 0, "events", NULL, TIDE_OPTION_FLAG, AT(events), NULL, 0,
     "ad hoc events by weight, in place of the heap"},
    {VIEWING, 0, "function", "RE", TIDE_OPTION_TEXT, AT(function), NULL, 0,
     "only stacks with a function like RE"},
    {VIEWING, 0, "file", "RE", TIDE_OPTION_TEXT, AT(file), NULL, 0,
     "only stacks through a source file like RE"},
    {VIEWING, 0, "module", "RE", TIDE_OPTION_TEXT, AT(module), NULL, 0,
     "only stacks through a program or library like RE"},
    {VIEWING, 0, "ignore", "RE", TIDE_OPTION_TEXT, AT(ignore), NULL, 0,
     "no stacks with a function like RE"},
    {VIEWING, 0, "focus", "RE", TIDE_OPTION_TEXT, AT(focus), NULL, 0,
     "only what functions like RE call, seen from them"},
    {VIEWING, 0, "hide", "RE", TIDE_OPTION_TEXT, AT(hide), NULL, 0,
     "leave out frames of functions like RE"},
    {VIEWING | VERB(EXPLAIN) | VERB(MERGE) | PAGES | VERB(MAPS) | VERB(TOP), 'p', "process", "PID",
     TIDE_OPTION_TEXT, AT(process), NULL, 0,
     "process by pid or #index (default: command or largest)"},
    {VERB(MERGE), 0, "all", NULL, TIDE_OPTION_FLAG, AT(all), NULL, 0,
     "take all processes of each file"},
    {VERB(REPORT), 0, "all", NULL, TIDE_OPTION_FLAG, AT(all), NULL, 0,
     "--json: stacks that weigh nothing under --sort, too"},
    {TABLES, 0, "min", "SIZE", TIDE_OPTION_SIZE, AT(min_bytes), NULL, 0,
     "only rows (diff: changes) of SIZE or more: 64KiB, 1.5M"},
    {VERB(REPORT), 0, "details", NULL, TIDE_OPTION_FLAG, AT(details), NULL, 0,
     "show sizes, lifetimes and resizes of each row"},
    {TABLES | VERB(TREE), 0, "suppressions", "FILE", TIDE_OPTION_TEXT, AT(suppressions), NULL, 0,
     "leave out leaks that LeakSanitizer would suppress"},
    {VERB(REPORT), 0, "stacks", "N", TIDE_OPTION_COUNT, AT(stacks), NULL, 0,
     "show the N largest stacks (1) of each row"},
    {VERB(REPORT) | VERB(TREE), 0, "all-frames", NULL, TIDE_OPTION_FLAG, AT(all_frames), NULL, 0,
     "show stacks whole, with the frames that rules fold"},
    {VERB(RUN) | VERB(ATTACH) | VERB(TOP) | TABLES | VERB(EXPLAIN) | VERB(CHECK) | PAGES, 0,
     "blame", "WHOM", TIDE_OPTION_CHOICE, AT(blame), tide_blamed_words, TIDE_BLAMED_N,
     "rows lead with own code, or with the library below"},
    {VERB(RUN) | VERB(ATTACH) | VERB(TOP) | VERB(SERVE) | VERB(MAPS) | VERB(EXPLAIN) | VIEWING |
         PAGES | VERB(CHECK),
     0, "rules", "FILE", TIDE_OPTION_TEXT, AT(rules), NULL, 0,
     "whose frames are, by the rules in FILE"},
    {READING | VIEWING | VERB(RUN) | VERB(ATTACH) | VERB(TOP) | VERB(SERVE) | VERB(DOCTOR) |
         VERB(MAPS) | VERB(EXPLAIN) | VERB(CHECK),
     0, "debug-dir", "DIR", TIDE_OPTION_PATHS, AT(debug_dirs), NULL, 0,
     "look for debug info in DIR too; may be repeated"},
    {((READING | VIEWING) & ~VERB(INFO)) | VERB(MAPS) | VERB(EXPLAIN) | VERB(CHECK), 0,
     "no-debuginfod", NULL, TIDE_OPTION_FLAG, AT(no_debuginfod), NULL, 0,
     "download no debug info, even if DEBUGINFOD_URLS is set"},
    {VIEWING | VERB(RUN) | VERB(ATTACH) | VERB(TOP) | VERB(SERVE) | VERB(MAPS) | VERB(EXPLAIN) |
         PAGES | VERB(SYMBOLIZE) | VERB(CHECK),
     0, "no-cache", NULL, TIDE_OPTION_FLAG, AT(no_cache), NULL, 0,
     "neither use nor fill the cache of names"},
    {TABLES | VERB(TREE) | VERB(INFO) | VERB(DOCTOR) | VERB(MAPS) | VERB(EXPLAIN) | VERB(CHECK), 0,
     "json", NULL, TIDE_OPTION_FLAG, AT(json), NULL, 0, "print JSON for programs"},
    {TABLES, 0, "csv", NULL, TIDE_OPTION_FLAG, AT(csv), NULL, 0,
     "print the table as CSV, every measure of every row"},
    {VERB(TREE), 0, "csv", NULL, TIDE_OPTION_FLAG, AT(csv), NULL, 0,
     "print CSV, a line per function of the tree"},
    {VERB(TREE), 0, "md", NULL, TIDE_OPTION_FLAG, AT(md), NULL, 0, "print the tree as Markdown"},
    {TABLES, 0, "md", NULL, TIDE_OPTION_FLAG, AT(md), NULL, 0, "print the table as Markdown"},
    {SHOWING, 0, "units", "HOW", TIDE_OPTION_CHOICE, AT(units), units_words, N(units_words),
     "sizes in iec (KiB), si (kB) or bytes"},
    {SHOWING, 0, "color", "WHEN", TIDE_OPTION_CHOICE, AT(color), color_words, N(color_words),
     "colours: auto, always or never"},
    {TABLES | VERB(TREE) | VERB(INFO) | VERB(MAPS) | VERB(EXPLAIN), 0, "no-pager", NULL,
     TIDE_OPTION_FLAG, AT(no_pager), NULL, 0, "write straight to the terminal, however long"},
    {ALL, 'h', "help", NULL, TIDE_OPTION_FLAG, AT(help), NULL, 0, "print this help"},
};
const size_t tide_option_rows_n = N(tide_option_rows);
