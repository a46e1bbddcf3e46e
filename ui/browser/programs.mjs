// SPDX-License-Identifier: Apache-2.0
//
// What is recorded for the tests: a program with a peak in the middle, leaks, churn, threads,
// recursion and several sizes; the same grown; names that try to be markup.

export const PHASES = `
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define KEEP __attribute__((noipa))
static void *volatile held[4096];
static void *volatile sink;
KEEP static void fill_cache(int i) { held[i] = calloc(1, 40000); }
KEEP static void build_index(int i) { held[i] = malloc(12000 + i); }
KEEP static void leak_a_little(void) { sink = malloc(777); }
KEEP static void churn(void) { for (int i = 0; i < 50; i++) { sink = malloc(64); free(sink); } }
KEEP static void recurse(int n) { if (n) recurse(n - 1); else held[4000] = malloc(3333); }
KEEP static void *worker(void *n)
{
  for (int i = 0; i < 100; i++) { held[2000 + i] = malloc(500); usleep(300); }
  return n;
}
int main(int argc, char **argv)
{
  int more = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  for (int i = 0; i < 100; i++) { fill_cache(i); churn(); usleep(2000); }
  for (int i = 100; i < 150; i++) { build_index(i); usleep(1000); }
  recurse(6);
  for (int i = 0; i < 100; i++) { free(held[i]); usleep(1000); }
  for (int i = 0; i < 20 + more; i++) { leak_a_little(); usleep(3000); }
  for (int i = 200; i < 230 + more; i++) { build_index(i); usleep(1000); }
  pthread_join(thread, NULL);
  for (int i = 0; i < 40; i++) free(held[2000 + i]); // another thread's
  if (more) free(held[4000]);
  return 0;
}
`;

// Thirty calls deep, and many places at the end of them.
const LEAVES = Array.from({ length: 9 }, (_, i) => `leaf_with_a_name_of_some_length_${i}`);
const CHAIN = Array.from({ length: 30 }, (_, i) => `call_${i}`);
export const DEEP_CALLS = `
#include <stdlib.h>
#include <unistd.h>
#define KEEP __attribute__((noipa))
static void *volatile held[4096];
${LEAVES.map((name, k) =>
  `KEEP static void ${name}(int i) { held[${k} * 300 + i] = malloc(${1000 + 100 * k}); }`,
).join("\n")}
KEEP static void call_30(int i) { ${LEAVES.map((name) => `${name}(i);`).join(" ")} }
${CHAIN.map((name, k) => `KEEP static void ${name}(int i) { call_${k + 1}(i); }`)
  .reverse()
  .join("\n")}
int main(void) { for (int i = 0; i < 200; i++) { call_0(i); usleep(1000); } return 0; }
`;

// Of most blocks one in eight survives. It stands still before that until there is a file "free",
// and after it until there is a file "end".
export const FRAGMENTED = `
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define KEEP __attribute__((noipa))
enum { N = 24000 };
static char *held[N];
static void stand(const char *file)
{
  for (int i = 0; i < 10000 && access(file, F_OK); i++) usleep(10000);
}
KEEP static char *session(void) { return memset(malloc(1000), 1, 1000); }
KEEP static char *request(void) { return memset(malloc(1000), 2, 1000); }
int main(void)
{
  char *capacity = malloc(20 << 20);
  capacity[0] = 1;
  for (int i = 0; i < N; i++) held[i] = i % 8 ? request() : session();
  stand("free");
  for (int i = 0; i < N; i++) if (i % 8) free(held[i]);
  stand("end");
  return 0;
}
`;

// Goes on until it is told to end.
export const ENDLESS = `
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[1000000];
__attribute__((noipa)) static void grow(int i) { kept[i] = malloc(5000); }
int main(void) { for (int i = 0; access("stop", F_OK); i++) { grow(i); usleep(5000); } return 4; }
`;

export const LONG_NAME = "long_".repeat(20000) + "end";

export const HOSTILE = [
  "<script>window.hacked=1</script>",
  "<img/src=x/onerror=window.hacked=2>",
  "\"'onmouseover='window.hacked=3'",
  "</script><script>window.hacked=4</script>",
  "javascript:window.hacked=5",
  "{{constructor.constructor('window.hacked=6')()}}",
  "${window.hacked=7}",
  "__proto__",
  "constructor",
  "\u202ereversed\u202c",
  "bell\u0007escape\u001b[31mred",
  "&lt;b&gt;&amp;",
  "<!--TIDEMARK-DATA-->",
  LONG_NAME,
];

// A file of DHAT, which takes any name there is; stacks of names, the innermost first.
export function dhatFile(stacks, cmd) {
  const names = [...new Set(stacks.flatMap(({ names }) => names))];
  const points = stacks.map(({ names: own, bytes, isKept }) => {
    const of = { tb: bytes, tbk: 1, tl: 5, mb: bytes, mbk: 1, gb: bytes, gbk: 1, eb: 0, ebk: 0 };
    if (isKept) Object.assign(of, { eb: bytes, ebk: 1 });
    return { ...of, fs: own.map((name) => names.indexOf(name) + 1) };
  });
  const table = names.map((name, i) => `0x${(i + 16).toString(16)}: ${name} (a.c:${i + 1})`);
  return JSON.stringify({
    dhatFileVersion: 2,
    mode: "heap",
    verb: "Allocated",
    bklt: true,
    bkacc: false,
    tu: "instrs",
    Mtu: "Minstr",
    tuth: 500,
    cmd,
    pid: 7,
    tg: 50,
    te: 100,
    pps: points,
    ftbl: ["[root]", ...table],
  });
}

export function hostileFile() {
  const stacks = HOSTILE.map((name, i) => ({ names: [name, "main"], bytes: 1000 + i }));
  return dhatFile(stacks, "<script>window.hacked=8</script>");
}

// Templates that differ in their arguments alone, one of them very long; and a deep stack.
export const LONG_ARGUMENT = "std::pair<std::basic_string<char>, std::unique_ptr<Node>>";
export const SIBLINGS = ["A", "B", LONG_ARGUMENT].map(
  (type) => `registry::Registry<${type}, std::allocator<${type}>>::add(int, ${type} const&)`,
);
export const DEEP = Array.from({ length: 80 }, (_, i) => `level_${i}`);

export function templatesFile() {
  const stacks = SIBLINGS.map((name, i) => ({ names: [name, "main"], bytes: 3000 + 100 * i }));
  return dhatFile([...stacks, { names: [...DEEP, "main"], bytes: 9000 }], "templates");
}

// So many functions that never freed what they allocated.
export function placesFile(n) {
  const stacks = Array.from({ length: n }, (_, i) =>
    ({ names: [`keep_${i}`, "main"], bytes: 3000 + i, isKept: true }));
  return dhatFile(stacks, "places");
}

// Memory that the program maps itself, twice as much each time.
export const GROWING = `
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noipa)) char *doubled(char *at, size_t n)
{
  return at ? mremap(at, n, 2 * n, MREMAP_MAYMOVE)
            : mmap(0, 2 * n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(void)
{
  char *at = 0;
  for (size_t n = 65536; n < 1 << 25; n *= 2, usleep(30000)) at = doubled(at, n);
  return at == MAP_FAILED;
}
`;
