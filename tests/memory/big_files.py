# SPDX-License-Identifier: Apache-2.0
"""Files of other tools, as large as asked and of few stacks, written a piece at a time.

Each function gives pieces of bytes that together are at least n_bytes long.
"""
import itertools

FRAMES = 400  # distinct frames of a file


def repeat(piece, n_bytes):
    """piece again and again, in pieces of about a megabyte."""
    block = piece * max(1, (1 << 20) // len(piece))
    return itertools.repeat(block, n_bytes // len(block) + 1)


def massif(n_bytes):
    """Snapshots with a tree of all frames each."""
    yield b"desc: big\ncmd: ./big\ntime_unit: i\n"
    nodes = [b"n%d: %d (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
             % (FRAMES, 64 * FRAMES)]
    nodes += [b" n0: 64 0x%X: function_%d (big.c:%d)\n" % (0x400000 + i, i, i)
              for i in range(FRAMES)]
    tree = b"".join(nodes)
    for i in range(n_bytes // len(tree) + 1):
        yield (b"#-----------\nsnapshot=%d\n#-----------\ntime=%d\nmem_heap_B=%d\n"
               b"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n" % (i, i, 64 * FRAMES)
               + tree)


def heaptrack(n_bytes):
    """A block from every stack, given back, and again."""
    yield b"v 10500 3\nX ./big\nI 1000 1000\n"
    for i in range(FRAMES):
        name = b"function_%d" % i
        yield b"s %x %s\n" % (len(name), name)
        yield b"i %x 0 %x\nt %x 0\na 40 %x\n" % (0x400000 + i, i + 1, i + 1, i + 1)
    events = b"".join(b"+ %x\n- %x\n" % (i, i) for i in range(FRAMES))
    for i, block in enumerate(repeat(events, n_bytes)):
        yield b"c %x\n" % (i + 1) + block


def dhat(n_bytes):
    """Deep stacks that differ in their innermost frame; every point is another."""
    yield (b'{"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":false,'
           b'"tu":"instrs","Mtu":"Minstr","tuth":500,"cmd":"./big","pid":1,"tg":1,"te":2,"pps":[')
    shared = b",".join(b"%d" % (1 + i % FRAMES) for i in range(2000))
    size = len(shared) + 80
    for i in range(n_bytes // size + 1):
        yield (b'%s{"tb":64,"tbk":1,"tl":1,"mb":64,"mbk":1,"gb":64,"gbk":1,"eb":0,"ebk":0,'
               b'"fs":[%d,%d,%s]}\n'
               % (b"," if i else b"", 1 + i % FRAMES, 1 + i // FRAMES % FRAMES, shared))
    yield b'],"ftbl":["[root]"'
    for i in range(FRAMES):
        yield b',"0x%X: function_%d (big.c:%d)"\n' % (0x400000 + 16 * i, i, i + 1)
    yield b"]}"


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    inner = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(inner)) + inner


def pprof(n_bytes):
    """Samples first and strings last, as Go writes them; the same stacks under many labels."""
    yield message(1, number(1, 1), number(2, 2)) + message(1, number(1, 3), number(2, 4))
    samples = b"".join(
        message(2, message(1, varint(i + 1), varint(1)), message(2, varint(1), varint(64)),
                message(3, number(1, 5), number(3, i)))
        for i in range(FRAMES))
    yield from repeat(samples, n_bytes)
    yield message(3, number(1, 1), number(2, 0x400000), number(3, 0x500000), number(5, 6))
    for i in range(FRAMES):
        yield message(4, number(1, i + 1), number(2, 1), number(3, 0x400000 + 16 * i),
                      message(4, number(1, i + 1), number(2, i + 1)))
        yield message(5, number(1, i + 1), number(2, 7 + i))
    for text in (b"", b"inuse_objects", b"count", b"inuse_space", b"bytes", b"label", b"/bin/big"):
        yield message(6, text)
    for i in range(FRAMES):
        yield message(6, b"function_%d" % i)


def folded(n_bytes):
    lines = b"".join(b"main;middle_%d;function_%d 64\n" % (i % 7, i) for i in range(FRAMES))
    return repeat(lines, n_bytes)


def gperftools(n_bytes):
    yield b"heap profile:      1:       64 [     1:       64] @ heapprofile\n"
    lines = b"".join(b"     1:       64 [     1:       64] @ 0x%08x 0x00400010\n" % (0x400100 + i)
                     for i in range(FRAMES))
    yield from repeat(lines, n_bytes)
    yield b"\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 0 /bin/big\n"


ALL = {"massif": massif, "heaptrack": heaptrack, "DHAT": dhat, "pprof": pprof, "folded": folded,
       "gperftools": gperftools}
