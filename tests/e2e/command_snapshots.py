# SPDX-License-Identifier: Apache-2.0
"""How far snapshots are apart, of real runs: growing steadily, a burst and then nothing, nothing
and then a burst, short ones."""
import counts
from ground import expect, test

# Blocks from some thousand stacks, kept: part by part over the run, all at its beginning, or late.
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *kept[20000];
static int n_kept;
__attribute__((noipa)) static void *at(unsigned path, int depth)
{
  void *p;
  if (!depth) p = malloc(64);
  else if (path & 1) p = at(path >> 1, depth - 1);
  else p = at(path >> 1, depth - 1);
  __asm__ volatile("" : "+r"(p));
  return p;
}
static void burst(int n) { while (n--) { kept[n_kept] = at(n_kept & 4095, 12); n_kept++; } }
int main(int argc, char **argv)
{
  int ms = atoi(argv[2]);
  if (!strcmp(argv[1], "steady")) for (int i = 0; i < ms / 4; i++) { burst(40); usleep(4000); }
  else if (!strcmp(argv[1], "early")) { burst(8000); usleep(ms * 1000); }
  else { burst(10); usleep(ms * 500); burst(8000); usleep(ms * 500); }
  return argc == 0;
}
"""
# The least that is promised of a slow machine that has other things to do: looks themselves may
# come late, and dear ones seldom.
SHARE, LOOKS = 0.1, 3


def widest(times, begin, end):
    times = [begin, *times, end]
    return max(b - a for a, b in zip(times, times[1:]))


@test
def snapshots_are_close_together(ground):
    prog = ground.build("prog", PROGRAM)
    for shape, ms in (("steady", 400), ("early", 400), ("late", 400), ("steady", 100)):
        path = ground.scratch / f"{shape}{ms}.tide"
        ground.record("-q", "-o", path, "--", prog, shape, str(ms))
        image = counts.tide_decode.decode(path.read_bytes())["images"][0]
        start, end = image["start_ns"], image["end_ns"]
        times = [moment["time_ns"] for moment in image["snapshots"]]
        gap = widest(times, start, end)
        looks = widest([tick["time_ns"] for tick in image["ticks"]], start, end)
        said = ground.report(path)["timeline"]["widest_gap_ns"]
        expect(said == gap, f"{shape}: {said} ns are told, and it is {gap}")
        most = SHARE * (end - start) + LOOKS * looks
        expect(gap <= most, f"{shape}: {len(times)} snapshots, {gap / 1e6:.1f} ms apart in "
                            f"{(end - start) / 1e6:.0f} ms, looks {looks / 1e6:.1f} ms")
        text = ground.run(ground.tidemark, "info", path).stdout
        expect("at most" in text.split("timeline")[1].split("\n")[0], f"{shape}: {text}")
        wrong = counts.check(path)
        expect(not wrong, f"{shape}: {wrong}")
