# SPDX-License-Identifier: Apache-2.0
"""A reader of what the page is given (docs/page-data.md), and of the one-file report."""
import base64
import json
import re
import struct
import zlib

TYPES = {"u8": "B", "u16": "H", "u32": "I", "i8": "b", "i16": "h", "i32": "i", "f64": "d"}
DATA = re.compile(r'<script type="application/octet-stream" id="tidemark-data-(\d)">'
                  r"([A-Za-z0-9+/=]*)</script>")
SOURCES = re.compile(r'<script type="application/octet-stream" id="tidemark-sources-0">'
                     r"([A-Za-z0-9+/=]*)</script>")
JOINT = '</script>\n<script type="application/octet-stream">' # between the pieces of one
FACTS = re.compile(r'<script type="application/json" id="tidemark-facts">([^<]*)</script>')


class Block:
    """Facts and columns of one image."""

    def __init__(self, data):
        if data[:8] != b"TidePage":
            raise ValueError("not the page's data")
        (n_facts,) = struct.unpack_from("<I", data, 8)
        self.facts = json.loads(data[12:12 + n_facts])
        self.columns = {
            name: struct.unpack_from(f"<{column['count']}{TYPES[column['type']]}", data,
                                     column["offset"])
            for name, column in self.facts["columns"].items()}

    def text(self, i):
        ends, start = self.columns["text_end"], 0
        if i:
            start = ends[i - 1]
        return bytes(self.columns["text"][start:ends[i]]).decode()

    def functions(self):
        return {self.text(i) for i in self.columns["frame_function"]}

    def total(self, name, kinds=(0, 2)):
        """The sum of a column of rows over sites of some kinds; heap and lost make its totals."""
        column, kind = self.columns["row_" + name], self.columns["site_kind"]
        return int(sum(value for value, site in zip(column, self.columns["row_site"])
                       if kind[site] in kinds))


def blocks(html):
    """The data in a one-file report."""
    return [Block(zlib.decompress(base64.b64decode(text)))
            for _, text in DATA.findall(html.replace(JOINT, ""))]


def sources(html):
    """Of the first capture, by path: its note, and its lines by number; None: there are none."""
    found = SOURCES.search(html.replace(JOINT, ""))
    if not found:
        return None
    files = json.loads(zlib.decompress(base64.b64decode(found.group(1))))["files"]
    return {file["path"]: (file["note"],
                           {part["line"] + i: line for part in file["parts"]
                            for i, line in enumerate(part["text"].split("\n"))})
            for file in files}


def offer(html):
    return json.loads(FACTS.search(html).group(1))
