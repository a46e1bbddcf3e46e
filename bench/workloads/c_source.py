# SPDX-License-Identifier: Apache-2.0
"""A C file for the compiler to chew on: c_source.py FUNCTIONS > file.i"""
import random
import sys


def expression(rng, depth):
    if depth == 0:
        return rng.choice(["a", "b", "c", "s->x", "s->v[i & 7]", str(rng.randrange(1000))])
    operator = rng.choice(["+", "-", "*", "^", "&", "|"])
    return f"({expression(rng, depth - 1)} {operator} {expression(rng, depth - 1)})"


def main():
    rng = random.Random(1)
    n_functions = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    print("struct s { int x; int v[8]; struct s *next; };")
    print("extern int use(int, const char *);")
    for k in range(n_functions):
        print(f"static int f{k}(struct s *s, int a, int b) {{\n  int c = {k}, i;")
        print(f"  for (i = 0; i < (a & 15); i++) {{ c += {expression(rng, 3)};")
        print(f"    if (({expression(rng, 2)}) > b) s = s->next ? s->next : s; }}")
        print(f"  switch (c & 3) {{ case 0: c = {expression(rng, 3)}; break;")
        print(f"    case 1: c = use(c, \"text {k}\"); break; default: c ^= {k}; }}")
        if k > 1:
            print(f"  c += f{rng.randrange(k)}(s, b, c) + f{rng.randrange(k)}(s, c, a);")
        print("  return c;\n}")
    print(f"int entry(struct s *s) {{ return f{n_functions - 1}(s, 3, 4); }}")


if __name__ == "__main__":
    main()
