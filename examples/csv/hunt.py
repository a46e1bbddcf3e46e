# SPDX-License-Identifier: Apache-2.0
"""A table of strings, counted by hand: docs/case-studies/csv.md."""
import contextlib
import json
import pathlib
import re
import subprocess

LINES, COLUMNS = 12427, 7
BUFFER_BYTES = 8192    # BufReader's
STRING_BYTES = 24      # a String or Vec itself: pointer, capacity, length
OUTPUT_BYTES = 1024    # the buffer of standard output
MAPPED_BYTES = 128 << 10  # from here on malloc gives a block a mapping of its own
PAGE_BYTES = 4096
FILE = "example.csv"


def made_up():
    """The table: the same in every run."""
    lines, state = ["id,name,city,street,post code,balance,remark"], 1
    for row in range(1, LINES):
        fields = [str(100000 + row)]
        for least, spread in ((6, 17), (5, 12), (8, 18), (5, 1), (5, 6), (3, 23)):
            state = (state * 1103515245 + 12345) % (1 << 31)
            fields.append(chr(97 + (state >> 20) % 26) * (least + (state >> 8) % spread))
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


class Count:
    """What reader.rs does to the heap, from its source and the standard library's: how containers
    grow, and in which order things come and go."""

    def __init__(self):
        self.live = self.peak = self.bytes = 0
        self.births = self.resizes = self.temporary = 0
        self.resized_at_once = 0  # with no other allocation before

    def now(self):
        return self.births + self.resizes

    def keep(self, size):
        self.live += size
        self.peak = max(self.peak, self.live)

    def alloc(self, size):
        """A block, as long as it is not resized: its size and when it came."""
        if not size:
            return None
        self.births += 1
        self.bytes += size
        self.keep(size)
        return [size, self.now()]

    def free(self, block):
        """Temporary is what its thread freed within one further allocation."""
        if block:
            self.temporary += self.now() - block[1] <= 1
            self.keep(-block[0])

    def resize(self, block, size):
        self.resized_at_once += self.now() == block[1]
        self.resizes += 1
        self.bytes += size
        self.keep(size - block[0])
        block[:] = [size, self.now()]

    def line(self, start, end):
        """read_line() into an empty String, which grows with each piece of the reader's buffer."""
        block, length, at = None, 0, start
        while at < end:
            stop = min(end, at // BUFFER_BYTES * BUFFER_BYTES + BUFFER_BYTES)
            length += stop - at
            at = stop
            if not block:
                block = self.alloc(max(length, 8))
            elif length > block[0]:
                self.resize(block, max(2 * block[0], length))
        return block

    def push(self, block, length):
        """Room for one more item of a vector: four at first, then twice as many."""
        if not block:
            return self.alloc(4 * STRING_BYTES)
        if (length + 1) * STRING_BYTES > block[0]:
            self.resize(block, 2 * block[0])
        return block

    def split(self, fields):
        """collect() has an item before it makes room for it."""
        blocks, vector = [], None
        for at, field in enumerate(fields):
            blocks.append(self.alloc(len(field)))
            vector = self.push(vector, at)
        return [*blocks, vector]

    def read(self, text):
        """What stays, and how many rows the vector had room for, one after another."""
        kept, chain, rows, at = [], [], None, 0
        buffer = self.alloc(BUFFER_BYTES)
        for row, line in enumerate(text.splitlines(keepends=True), -1):
            held = self.line(at, at + len(line))
            at += len(line)
            kept += self.split(line.rstrip("\n").split(","))
            self.free(held)
            if row >= 0:
                rows = self.push(rows, row)
                chain += [rows[0]] if rows[0] not in chain[-1:] else []
        self.free(buffer)
        return [*kept, rows], [size // STRING_BYTES for size in chain]


def counted(text, words):
    """main(): its arguments, of which one is kept; the table; what it prints; and the end. Returns
    the count, the blocks that are there while it waits, and the vector's sizes."""
    count = Count()
    arguments = count.alloc(len(words) * STRING_BYTES)
    blocks = [count.alloc(len(word)) for word in words]
    count.free(blocks.pop(0))
    count.free(arguments)
    kept, chain = count.read(text)
    blocks += [*kept, count.alloc(OUTPUT_BYTES)]
    waiting = [size for size, _ in filter(None, blocks)]
    for block in blocks:
        count.free(block)
    return count, waiting, chain


def chunk(size):
    """What glibc's malloc takes for a block: 8 bytes more, in sixteens, 32 at least; with a mapping
    of its own 16 more, in pages."""
    if size >= MAPPED_BYTES:
        return -(-(size + 16) // PAGE_BYTES) * PAGE_BYTES
    return max(32, (size + 8 + 15) // 16 * 16)


# ---- what tidemark counts ----

NUMBERS = ("allocations", "resizes", "temporary", "bytes", "peak_bytes", "peak_blocks")


def sums(stage, capture):
    """(of the program's own code, of the rest: what the runtime did before main)."""
    report = stage.json("report", "--json", "--group", "place", "--sort", "total", "-n", "1000",
                        capture)
    own, rest = dict.fromkeys(NUMBERS, 0), dict.fromkeys(NUMBERS, 0)
    for group in report["groups"]:
        to = own if (group["file"] or "").endswith("reader.rs") else rest
        for key in NUMBERS:
            to[key] += group[key]
    return own, rest


@contextlib.contextmanager
def waiting_reader(stage, *prefix):
    """The pid of a reader that has the table and waits."""
    with subprocess.Popen([*prefix, "./reader", FILE], cwd=stage.scratch, env=stage.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        stage.expect("rows" in child.stdout.readline(), "it does not come to its end")
        found = [pid for path in pathlib.Path(f"/proc/{child.pid}/task").glob("*/children")
                 for pid in path.read_text().split()]
        yield found[0] if prefix else str(child.pid)
        child.stdin.close()


def mapping(pid, name):
    """Sizes in bytes of the mappings of that name, or without any."""
    text = pathlib.Path(f"/proc/{pid}/smaps").read_text()
    pattern = r"^[0-9a-f]+-[0-9a-f]+ rw-p \S+ \S+ \d+ *" + re.escape(name) + r"\nSize: +(\d+) kB"
    return [int(kib) << 10 for kib in re.findall(pattern, text, re.M)]


def where(stage, waiting):
    """The heap beside [heap] and the mappings of the process."""
    with waiting_reader(stage, "tidemark", "run", "-q", "-o", "waiting.tide") as pid:
        table = json.loads(stage.run("tidemark", "maps", "--json", pid))
        stage.quote("maps", "tidemark maps $(pgrep -n reader)", stage.run("tidemark", "maps", pid),
                    # What the libraries, the loader and the length of the environment make of it.
                    loose=(r"pid \d+", r"<?\d[\d.]* %",
                           r"(?m)^.*(free,|own|stack|data|file|anonymous|lends|in all).*\n"),
                    lines=slice(0, 17))
        heap, anonymous = mapping(pid, "[heap]"), mapping(pid, "")
    small = [size for size in waiting if size < MAPPED_BYTES]
    mapped = [size for size in waiting if size >= MAPPED_BYTES]
    stage.expect(heap == [table["arenas"][0]["size"]], f"[heap] has {heap}")
    stage.expect([chunk(size) for size in mapped] == [397312] and 397312 in anonymous,
                 f"the vector's mapping is not among {anonymous}")
    asked = table["heap"]["asked"]
    rounding = sum(map(chunk, small)) - sum(small) + 16 * len(mapped)
    return heap[0], asked, rounding, table["rows"]["rounding"]


def hunt(stage):
    text = made_up()
    (stage.scratch / FILE).write_text(text)
    stage.compile("rustc", "--edition=2021", "-O", "-g", "-o", str(stage.scratch / "reader"),
                  "reader.rs")
    count, waiting, chain = counted(text, ["./reader", FILE])
    stage.show("run", "tidemark", "run", "-o", "reader.tide", "./reader", FILE,
               loose=(r"in \d+ more places?",))
    own, rest = sums(stage, "reader.tide")
    by_hand = {"allocations": count.births + count.resizes, "resizes": count.resizes,
               "temporary": count.temporary, "bytes": count.bytes, "peak_bytes": count.peak}
    for key, value in by_hand.items():
        stage.expect(own[key] == value, f"{key}: by hand {value}, by tidemark {own[key]}")
    totals = stage.json("report", "--json", "-n", "1", "reader.tide")["totals"]
    stage.expect(totals["peak_bytes"] == count.peak + rest["peak_bytes"] and
                 totals["peak_bound_bytes"] == 0, "the peak is not exact")
    heap, asked, rounding, rounded = where(stage, waiting)
    stage.expect(asked == sum(waiting) + rest["peak_bytes"],
                 f"{asked} bytes asked for, by hand {sum(waiting)} and {rest['peak_bytes']}")
    left = rounded - rounding
    stage.expect(0 <= left < PAGE_BYTES, f"headers and rounding: {rounded}, by hand {rounding}")
    stage.expect(len(text.splitlines()) == LINES and chain[-1] == 16384, f"{chain}")
    tell(stage, locals())


def tell(stage, found):
    """The page's figures."""
    count, waiting, rest = found["count"], found["waiting"], found["rest"]
    stage.figure("lines", LINES)
    stage.figure("columns", COLUMNS)
    stage.figure("file", f"{-(-len(found['text']) // PAGE_BYTES) * PAGE_BYTES >> 10} kB")
    stage.figure("births", count.births)
    stage.figure("resizes", count.resizes)
    stage.figure("allocations", count.births + count.resizes)
    stage.figure("temporary", count.temporary)
    stage.figure("at-once", count.resized_at_once)
    stage.figure("peak", count.peak)
    stage.figure("rest", rest["peak_bytes"], within=1)
    stage.figure("bytes", count.bytes)
    stage.figure("chain", " → ".join(f"{n:,}" for n in found["chain"]))
    stage.figure("capacity", found["chain"][-1])
    stage.figure("rows.bytes", found["chain"][-1] * STRING_BYTES)
    stage.figure("rows.mapped", chunk(found["chain"][-1] * STRING_BYTES))
    stage.figure("rows.mapped.kib", f"{chunk(found['chain'][-1] * STRING_BYTES) >> 10} KiB")
    stage.figure("heap.kib", f"{found['heap'] >> 10:,} KiB", within=0.05)
    stage.figure("waiting", sum(waiting))
    stage.figure("waiting.blocks", len(waiting))
    stage.figure("rounding", found["rounding"])
    stage.figure("left", found["left"], within=8)
    stage.figure("ratio", f"{sum(waiting) / len(found['text']):.1f}")
    stage.html("reader.tide")
    stage.picture("reader.tide")


# ---- the same with other tools ----

def from_heaptrack(_, said):
    peak = re.search(r"peak heap memory consumption: (\S+)", said).group(1)
    calls = re.search(r"calls to allocation functions: (\d+)", said).group(1)
    brief = re.search(r"temporary memory allocations: (\d+)", said).group(1)
    return f"a peak of {peak}, {int(calls):,} calls, {int(brief):,} temporary, by `split_str`; " \
        "nothing of headers and mappings"


def from_massif(_, said):
    extra = re.findall(r"^ +\d+ +[\d,]+ +([\d,]+) +[\d,]+ +([\d,]+) +\d+$", said, re.M)
    most = max(extra, key=lambda pair: int(pair[0].replace(",", "")))
    return f"a peak of {most[0]} bytes with {most[1]} of the allocator's, as it reckons " \
        "them, and by whom"


def from_pmap(_, said):
    sizes = re.findall(r"^\w+ +(\d+) +\d+ +\d+ rw--- +\[ anon \]", said, re.M)
    return f"anonymous mappings of {', '.join(sizes[:4])} KiB; nobody's"


def from_strace(_, said):
    return f"{said.count('brk(')} calls of brk and {said.count('mremap(')} of mremap: how the " \
        "heap and the vector grew; nobody's"


def peers(stage):
    import peers as others
    return others.table(
        stage, ["./reader", FILE],
        (("tidemark", lambda *_: "peak, calls, temporaries and lines and, asked of the process "
          "while it waits, its pages with headers and rounding apart"),
         ("heaptrack", from_heaptrack), ("massif", from_massif), ("pmap", from_pmap),
         ("strace", from_strace)))
