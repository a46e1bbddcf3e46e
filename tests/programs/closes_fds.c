// SPDX-License-Identifier: Apache-2.0
//
// A program that closes descriptors 3 to 63 and opens files of its own in their place: its files
// hold what it wrote and nothing else, and recording goes on.
//
// truth: site ^grab: allocations=2000, bytes=2000*100, frees=1000
// truth: total: allocations=2000
#include "site.h"
#include <fcntl.h>
#include <sys/stat.h>

static void *kept[2000];

SITE static void grab(int i)
{
  kept[i] = malloc(100);
}

int main(void)
{
  int fd[20];
  grab(0);
  for (int i = 3; i < 64; i++)
    close(i);
  for (int i = 0; i < 20; i++) {
    char name[] = "closes_fds.0.out";
    name[11] = (char)('a' + i);
    fd[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    MUST(fd[i] == 3 + i && unlink(name) == 0 && write(fd[i], "mine", 4) == 4);
  }
  for (int i = 1; i < 2000; i++)
    grab(i);
  for (int i = 0; i < 1000; i++)
    free(kept[i]);
  for (int i = 0; i < 20; i++) {
    struct stat facts;
    char text[5] = "";
    MUST(fstat(fd[i], &facts) == 0 && facts.st_size == 4);
    MUST(pread(fd[i], text, 4, 0) == 4 && !memcmp(text, "mine", 4));
  }
  say("20 files untouched\n");
  return 0;
}
